"""What TensorFlow makes of the programs of `panto train` from the same first values and the same order of examples.

programs/NAME.npz: the variables' first values by name, "order" [steps, batch] where there are batches, and "losses",
those of the first steps (100 at most). tests/apps/test_programs.py gives each file to `panto train NAME --start`.

    build/venv/bin/python3 tests/reference/training/program_cases.py [NAME...]
"""

import gzip
import pathlib
import re
import sys

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from cases import save_arrays

v1 = tf.compat.v1
ROOT = pathlib.Path(__file__).resolve().parents[3]
STEPS = 100


def idx(name, skip):
    data = gzip.decompress((ROOT / "apps/data/mnist10k" / name).read_bytes())
    return np.frombuffer(data, np.uint8, offset=skip)


def digits():
    images = idx("train-images-idx3-ubyte.gz", 16).reshape(-1, 784).astype(np.float32) / 255
    return images, np.eye(10, dtype=np.float32)[idx("train-labels-idx1-ubyte.gz", 8)]


def train(variables, loss, train_op, feeds, steps=STEPS, loss_after=False):
    """The arrays of a program: its first values, then the losses of the steps, each before or after the update."""
    with v1.Session() as session:
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        arrays = {name: session.run(variable) for name, variable in variables.items()}
        losses = []
        for i in range(steps):
            if loss_after:
                session.run(train_op, feeds(i))
                losses.append(session.run(loss, feeds(i)))
            else:
                now, _ = session.run([loss, train_op], feeds(i))
                losses.append(now)
    return {**arrays, "losses": np.array(losses, np.float64)}


def linear_regression():
    source = (ROOT / "apps/programs/linear_regression.cc").read_text()
    lists = [[float(n.strip().removesuffix("f")) for n in text.split(",")]
             for text in re.findall(r"= tensor\(\s*\{([^{}]+)\}\)", source)]
    W, b = v1.Variable(0.3, dtype=tf.float32), v1.Variable(-0.3, dtype=tf.float32)
    x, y = v1.placeholder(tf.float32), v1.placeholder(tf.float32)
    loss = tf.reduce_sum(tf.square(W * x + b - y))
    step = v1.train.GradientDescentOptimizer(0.001).minimize(loss)
    return train({"W": W, "b": b}, loss, step, lambda i: {x: lists[0], y: lists[1]}, loss_after=True)


def logistic_regression():
    images, labels = (a[:1000] for a in digits())
    W, b = v1.Variable(tf.zeros([784, 10])), v1.Variable(tf.zeros([10]))
    logits = tf.matmul(tf.constant(images), W) + b
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    step = v1.train.GradientDescentOptimizer(0.01).minimize(loss)
    return train({"W": W, "b": b}, loss, step, lambda i: {}, loss_after=True)


def mnist_dnn():
    images, labels = digits()
    variables = {}

    def layer(y, inputs, units):
        k = len(variables) // 2
        W = variables[f"W{k}"] = v1.Variable(tf.random.normal([inputs, units], stddev=0.1, seed=1))
        b = variables[f"b{k}"] = v1.Variable(tf.zeros([units]))
        return tf.tanh(tf.matmul(y, W) + b)

    x, label = v1.placeholder(tf.float32, [None, 784]), v1.placeholder(tf.float32, [None, 10])
    loss = -tf.reduce_mean(label * tf.math.log(tf.nn.softmax(layer(layer(x, 784, 4), 4, 10))))
    step = v1.train.GradientDescentOptimizer(0.8).minimize(loss)
    order = np.random.default_rng(1).integers(0, len(images), [STEPS, 100]).astype(np.int16)
    arrays = train(variables, loss, step, lambda i: {x: images[order[i]], label: labels[order[i]]})
    return {**arrays, "order": order}


def rounded(shape, scale, seed):
    """A variable of TensorFlow's normal numbers, of few bits, that the files stay small."""
    return v1.Variable(tf.round(tf.random.normal(shape, stddev=scale, seed=seed) * 256) / 256)


def mnist_cnn():
    images, labels = digits()
    images = images.reshape(-1, 28, 28, 1)
    shapes = {"conv2d": [5, 5, 1, 16], "conv2d_1": [3, 3, 16, 32], "dense": [1568, 16], "dense_1": [16, 10]}
    kernels = {n: rounded(s, (2 / np.prod(s[:-1]))**0.5, k) for k, (n, s) in enumerate(shapes.items())}
    biases = {n: v1.Variable(tf.zeros(s[-1:])) for n, s in shapes.items()}
    x, label = v1.placeholder(tf.float32, [None, 28, 28, 1]), v1.placeholder(tf.float32, [None, 10])
    y = x
    for n in ["conv2d", "conv2d_1"]:
        y = tf.nn.relu(tf.nn.conv2d(y, kernels[n], 1, "SAME") + biases[n])
        y = tf.nn.max_pool2d(y, 2, 2, "VALID")
    y = tf.reshape(y, [-1, 1568])
    y = tf.nn.relu(tf.matmul(y, kernels["dense"]) + biases["dense"])
    logits = tf.matmul(y, kernels["dense_1"]) + biases["dense_1"]
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=label, logits=logits))
    step = v1.train.AdamOptimizer(0.002, epsilon=1e-7).minimize(loss)
    order = np.random.default_rng(1).integers(0, len(images), [40, 100]).astype(np.int16)
    variables = {f"{n}/kernel": v for n, v in kernels.items()} | {f"{n}/bias": v for n, v in biases.items()}
    return {**train(variables, loss, step, lambda i: {x: images[order[i]], label: labels[order[i]]}, 40), "order": order}


def lstm(inputs, state, kernel, recurrent, bias):
    """The outputs of all steps of inputs [batch, steps, features], and the state after them."""
    h, c = state
    outputs = []
    for t in range(inputs.shape[1]):
        i, f, g, o = tf.split(tf.matmul(inputs[:, t], kernel) + tf.matmul(h, recurrent) + bias, 4, 1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        outputs.append(h)
    return tf.stack(outputs, 1), (h, c)


def lstm_variables(inputs, units, seed):
    bias = v1.Variable(tf.concat([tf.zeros([units]), tf.ones([units]), tf.zeros([2 * units])], 0))
    return rounded([inputs, 4 * units], 0.2, seed), rounded([units, 4 * units], 0.2, seed + 1), bias


def character_lstm():
    text = (ROOT / "apps/data/kjv/genesis.txt").read_bytes()
    codes = np.searchsorted(np.unique(list(text)), list(text)).astype(np.int32)
    characters, units, length = codes.max() + 1, 48, 24
    table, head = rounded([characters, 32], 0.1, 1), rounded([units, characters], 0.1, 2)
    head_bias = v1.Variable(tf.zeros([characters]))
    kernel, recurrent, bias = lstm_variables(32, units, 3)
    x, target = v1.placeholder(tf.int32, [16, length]), v1.placeholder(tf.int32, [16, length])
    outputs, _ = lstm(tf.gather(table, x), (tf.zeros([16, units]),) * 2, kernel, recurrent, bias)
    logits = tf.tensordot(outputs, head, 1) + head_bias
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logits))
    step = v1.train.AdamOptimizer(0.01, epsilon=1e-7).minimize(loss)
    order = np.random.default_rng(1).integers(0, len(codes) - length, [STEPS, 16]).astype(np.int16)
    pieces = order[:, :, None].astype(int) + np.arange(length)
    variables = {"embedding/table": table, "lstm/kernel": kernel, "lstm/recurrent_kernel": recurrent, "lstm/bias": bias,
                 "dense/kernel": head, "dense/bias": head_bias}
    arrays = train(variables, loss, step, lambda i: {x: codes[pieces[i]], target: codes[pieces[i] + 1]})
    return {**arrays, "order": order}


def character_gpt():
    text = (ROOT / "apps/data/kjv/genesis.txt").read_bytes()
    codes = np.searchsorted(np.unique(list(text)), list(text)).astype(np.int32)
    characters, width, heads, length, batch = int(codes.max()) + 1, 32, 4, 24, 16
    variables = {}

    def variable(name, shape, value=None):
        count = sum(n.rsplit("/", 1)[0].rstrip("_0123456789") == name.rsplit("/", 1)[0] and
                    n.rsplit("/", 1)[1] == name.rsplit("/", 1)[1] for n in variables)
        unique = name if count == 0 else f"_{count}/".join(name.rsplit("/", 1))
        made = rounded(shape, 0.1, len(variables)) if value is None else v1.Variable(tf.fill(shape, value))
        variables[unique] = made
        return made

    def dense(y, name, units):
        kernel = variable(f"{name}/kernel", [int(y.shape[-1]), units])
        return tf.tensordot(y, kernel, 1) + variable(f"{name}/bias", [units], 0.0)

    def norm(y):
        mean, variance = tf.nn.moments(y, -1, keepdims=True)
        scale, offset = variable("layer_norm/scale", [width], 1.0), variable("layer_norm/offset", [width], 0.0)
        return (y - mean) / tf.sqrt(variance + 1e-5) * scale + offset

    def attend(y):
        def split(t):
            return tf.transpose(tf.reshape(t, [batch, length, heads, width // heads]), [0, 2, 1, 3])

        q, k, v = (split(dense(y, f"attention/{name}", width)) for name in ["query", "key", "value"])
        scores = tf.matmul(q, k, transpose_b=True) / (width // heads)**0.5
        earlier = tf.linalg.band_part(tf.ones([length, length]), -1, 0)
        shares = tf.nn.softmax(scores - (1 - earlier) * 1e9)
        together = tf.reshape(tf.transpose(tf.matmul(shares, v), [0, 2, 1, 3]), [batch, length, width])
        return dense(together, "attention/output", width)

    x, target = v1.placeholder(tf.int32, [batch, length]), v1.placeholder(tf.int32, [batch, length])
    y = tf.gather(variable("embedding/table", [characters, width]), x) + variable("embedding/table", [length, width])
    for _ in range(2):
        y = y + attend(norm(y))
        hidden = dense(norm(y), "dense", 4 * width)
        hidden = 0.5 * hidden * (1 + tf.tanh((2 / np.pi)**0.5 * (hidden + 0.044715 * hidden**3)))
        y = y + dense(hidden, "dense", width)
    logits = dense(norm(y), "dense", characters)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logits))
    # Whole: of rows TensorFlow takes the norm before it adds up those that occur several times.
    gradients = [tf.convert_to_tensor(g) for g in tf.gradients(loss, list(variables.values()))]
    gradients, _ = tf.clip_by_global_norm(gradients, 1)
    with tf.control_dependencies(gradients):  # all are of the values before
        with tf.control_dependencies([v.assign_sub(0.01 * 0.004 * v) for v in variables.values()]):
            step = v1.train.AdamOptimizer(0.01, epsilon=1e-7).apply_gradients(
                list(zip(gradients, variables.values())))
    order = np.random.default_rng(1).integers(0, len(codes) - length, [STEPS, batch]).astype(np.int16)
    pieces = order[:, :, None].astype(int) + np.arange(length)
    arrays = train(variables, loss, step, lambda i: {x: codes[pieces[i]], target: codes[pieces[i] + 1]})
    return {**arrays, "order": order}


def seq2seq():
    batch, length, units = 64, 3, 32
    variables = {"read/embedding/table": rounded([10, 16], 0.2, 1), "write/embedding/table": rounded([11, 16], 0.2, 2)}
    for k, side in enumerate(["read", "write"]):
        names = [f"{side}/lstm/{n}" for n in ["kernel", "recurrent_kernel", "bias"]]
        variables.update(zip(names, lstm_variables(16, units, 10 + 2 * k)))
    variables["write/dense/kernel"] = rounded([units, 10], 0.2, 3)
    variables["write/dense/bias"] = v1.Variable(tf.zeros([10]))
    source, fed, target = (v1.placeholder(tf.int32, [batch, length]) for _ in range(3))
    state = (tf.zeros([batch, units]),) * 2
    for side, numbers in [("read", source), ("write", fed)]:
        cell = [variables[f"{side}/lstm/{n}"] for n in ["kernel", "recurrent_kernel", "bias"]]
        outputs, state = lstm(tf.gather(variables[f"{side}/embedding/table"], numbers), state, *cell)
    logits = tf.tensordot(outputs, variables["write/dense/kernel"], 1) + variables["write/dense/bias"]
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logits))
    step = v1.train.AdamOptimizer(0.01, epsilon=1e-7).minimize(loss)
    order = np.random.default_rng(1).integers(0, 10, [STEPS + 1, batch * length]).astype(np.int8)

    def feeds(i):
        numbers = order[i].reshape(batch, length)
        backwards = numbers[:, ::-1]
        return {source: numbers, target: backwards, fed: np.concatenate([np.full([batch, 1], 10), backwards[:, :-1]], 1)}

    return {**train(variables, loss, step, feeds), "order": order}


def dense_variables(variables, name, inputs, units):
    kernel = variables[f"{name}/kernel"] = rounded([inputs, units], (2 / inputs)**0.5 / 2, len(variables))
    bias = variables[f"{name}/bias"] = v1.Variable(tf.zeros([units]))
    return lambda y: tf.matmul(y, kernel) + bias


def autoencoder():
    images, _ = digits()
    variables = {}
    x = v1.placeholder(tf.float32, [None, 784])
    y = tf.nn.relu(dense_variables(variables, "in", 784, 32)(x))
    y = dense_variables(variables, "code", 32, 16)(y)
    y = tf.nn.relu(dense_variables(variables, "out", 16, 32)(y))
    y = tf.sigmoid(dense_variables(variables, "pixels", 32, 784)(y))
    loss = tf.reduce_mean(tf.square(y - x))
    step = v1.train.AdamOptimizer(0.002, epsilon=1e-7).minimize(loss)
    order = np.random.default_rng(1).integers(0, len(images), [STEPS, 100]).astype(np.int16)
    return {**train(variables, loss, step, lambda i: {x: images[order[i]]}), "order": order}


def transfer():
    images, labels = digits()
    upper = labels[:, 5:].any(1)
    images, labels = images[upper].reshape(-1, 28, 28, 1), labels[upper][:, 5:]
    body = np.load(ROOT / "apps/data/transfer/body.npz")
    x, label = v1.placeholder(tf.float32, [None, 28, 28, 1]), v1.placeholder(tf.float32, [None, 5])
    y = x
    for n in ["conv2d", "conv2d_1"]:
        y = tf.nn.relu(tf.nn.conv2d(y, body[f"{n}/kernel"], 1, "VALID") + body[f"{n}/bias"])
        y = tf.nn.max_pool2d(y, 2, 2, "VALID")
    variables = {}
    y = tf.nn.relu(dense_variables(variables, "dense", 400, 32)(tf.reshape(y, [-1, 400])))
    logits = dense_variables(variables, "dense_1", 32, 5)(y)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=label, logits=logits))
    step = v1.train.AdamOptimizer(0.002, epsilon=1e-7).minimize(loss)
    order = np.random.default_rng(1).integers(0, len(images), [STEPS, 50]).astype(np.int16)
    return {**train(variables, loss, step, lambda i: {x: images[order[i]], label: labels[order[i]]}), "order": order}


def titanic():
    """The records of apps/programs/data/titanic.cc, feature by feature; keywords as a matrix that "" fills."""
    source = (ROOT / "apps/programs/data/titanic.cc").read_text()
    columns = {name: [] for name in ["class", "sex", "age", "years", "keywords", "survived"]}
    number = 0
    for group in re.findall(r'\{"(\w+)", "(\w+)", "(\w+)", (\d+), (\d+), "(\w+)"\}', source):
        travelled, sex, age, died, survived, decks = group
        for i in range(int(died) + int(survived)):
            child = age == "child"
            keywords = ["deck " + decks[number * 7 % 3]] + ["family"] * (child or number % 4 == 1)
            keywords += ["Cherbourg"] * (number % 5 == 2)
            years = 1 + number * 5 % 14 if child else 16 + number * 11 % 50
            values = [[travelled], [sex], [age], [np.float32(years)], (keywords + ["", ""])[:3],
                      [np.float32(i < int(survived))]]
            for column, value in zip(columns.values(), values):
                column.append(value)
            number += 1
    return {name: np.array(column) for name, column in columns.items()}


def people(columns):
    """The features of a batch of people as placeholders, and what feeds them."""
    fed = {name: v1.placeholder(tf.string if values.dtype.kind == "U" else tf.float32, [None, values.shape[1]])
           for name, values in columns.items()}
    order = np.random.default_rng(1).integers(0, len(columns["sex"]), [STEPS, 100]).astype(np.int16)
    return fed, order, lambda i: {fed[name]: values[order[i]] for name, values in columns.items()}


def on_grid():
    """Variables that columns make, by the names that the programs have; of few bits at first."""
    variables = {}

    def custom(getter, name, *arguments, **options):
        count = len(variables)
        scale = 0.2 if "embedding" in name else 0.0

        def values(shape, dtype=None, partition_info=None):
            return tf.round(tf.random.normal(shape, stddev=scale, seed=count + 1) * 256) / 256

        made = getter(name, *arguments, **{**options, "initializer": values})
        variables[name.replace("input_layer", "dense_features").replace("linear_model", "wide")] = made
        return made

    return variables, custom


def feature_dnn():
    columns = titanic()
    fed, order, feeds = people(columns)
    fc = v1.feature_column
    years = fc.numeric_column("years", normalizer_fn=lambda x: x / 80)
    wanted = [years, fc.bucketized_column(fc.numeric_column("years"), [5, 16, 25, 40]),
              fc.embedding_column(fc.categorical_column_with_hash_bucket("keywords", 100), 16),
              fc.indicator_column(fc.crossed_column(["class", "sex"], 64))]
    variables, getter = on_grid()
    with v1.variable_scope("", custom_getter=getter):
        y = fc.input_layer(fed, wanted)
    for k, units in enumerate([128, 64, 32, 1]):
        y = dense_variables(variables, "dense" if k == 0 else f"dense_{k}", int(y.shape[1]), units)(y)
        y = tf.nn.relu(y) if units > 1 else y
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=fed["survived"], logits=y))
    step = v1.train.AdagradOptimizer(0.05, initial_accumulator_value=0.1).minimize(loss)
    return {**train(variables, loss, step, feeds), "order": order}


def wide_deep():
    columns = titanic()
    fed, order, feeds = people(columns)
    fc = v1.feature_column
    travelled, sex, age = (fc.categorical_column_with_vocabulary_list(name, words) for name, words in [
        ("class", ["first", "second", "third", "crew"]), ("sex", ["male", "female"]), ("age", ["child", "adult"])])
    keywords = fc.categorical_column_with_hash_bucket("keywords", 50)
    variables, getter = on_grid()
    with v1.variable_scope("", custom_getter=getter):
        x = fc.input_layer(fed, [fc.embedding_column(travelled, 4), fc.embedding_column(keywords, 8),
                                 fc.indicator_column(sex), fc.indicator_column(age)])
    hidden = tf.nn.relu(dense_variables(variables, "hidden", 16, 16)(x))
    deep = dense_variables(variables, "head", 16, 1)(hidden)
    of_deep = list(variables.values())
    with v1.variable_scope("", custom_getter=getter):
        linear = fc.linear_model(fed, [travelled, sex, age, keywords,
                                       fc.crossed_column(["class", "sex", "age"], 64)])
    of_wide = [v for v in variables.values() if not any(v is d for d in of_deep)]
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=fed["survived"], logits=deep + linear))
    gradients = tf.gradients(loss, of_deep + of_wide)
    with tf.control_dependencies([tf.convert_to_tensor(g) for g in gradients]):
        step = tf.group(
            v1.train.AdagradOptimizer(0.1, initial_accumulator_value=0.1).apply_gradients(
                list(zip(gradients, of_deep))),
            v1.train.FtrlOptimizer(0.1, initial_accumulator_value=0.1).apply_gradients(
                list(zip(gradients[len(of_deep):], of_wide))))
    return {**train(variables, loss, step, feeds), "order": order}


def word2vec():
    text = (ROOT / "apps/data/kjv/genesis.txt").read_text()
    all_words = re.findall("[a-z]+", text.lower())
    counts = {}
    for word in all_words:
        counts[word] = counts.get(word, 0) + 1
    ranked = sorted(counts, key=lambda word: (-counts[word], word))[:500]
    places = {word: k for k, word in enumerate(ranked)}
    codes = np.array([places[word] for word in all_words if word in places], np.int32)
    features, sampled, window, batch = 32, 32, 3, 128
    variables = {"vectors": rounded([500, features], 0.03, 1), "weights": rounded([500, features], 0.18, 2),
                 "biases": v1.Variable(tf.zeros([500]))}
    centers, around = v1.placeholder(tf.int32, [batch]), v1.placeholder(tf.int64, [batch, 1])
    drawn = [v1.placeholder(tf.int64, [sampled]), v1.placeholder(tf.float32, [batch, 1]),
             v1.placeholder(tf.float32, [sampled])]
    loss = tf.reduce_mean(tf.nn.sampled_softmax_loss(
        variables["weights"], variables["biases"], around, tf.gather(variables["vectors"], centers), sampled, 500,
        sampled_values=drawn))
    step = v1.train.AdagradOptimizer(0.3, initial_accumulator_value=0.1).minimize(loss)
    random = np.random.default_rng(1)
    order = random.integers(window, len(codes) - window, [STEPS, batch]).astype(np.int32)
    away = (random.integers(1, window + 1, order.shape) * random.choice([-1, 1], order.shape)).astype(np.int32)
    candidates = tf.random.log_uniform_candidate_sampler(around, 1, sampled, True, 500, seed=3)
    draws = []
    with v1.Session() as session:
        for i in range(STEPS):
            draws.append(session.run(candidates, {around: codes[order[i] + away[i]][:, None]}))

    def feeds(i):
        return {centers: codes[order[i]], around: codes[order[i] + away[i]][:, None], **dict(zip(drawn, draws[i]))}

    names = ["drawn", "expected", "expected_drawn"]
    given = {name: np.stack([d[k] for d in draws]) for k, name in enumerate(names)}
    return {**train(variables, loss, step, feeds), "order": order, "away": away, **given}


PROGRAMS = [linear_regression, logistic_regression, mnist_dnn, mnist_cnn, character_lstm, character_gpt, seq2seq,
            autoencoder, transfer, feature_dnn, wide_deep, word2vec]


def main(names):
    v1.disable_v2_behavior()
    folder = pathlib.Path(__file__).resolve().parents[1] / "programs"
    folder.mkdir(exist_ok=True)
    for program in PROGRAMS:
        if names and program.__name__ not in names:
            continue
        with tf.Graph().as_default():
            save_arrays(folder / f"{program.__name__}.npz", program())


if __name__ == "__main__":
    main(sys.argv[1:])
