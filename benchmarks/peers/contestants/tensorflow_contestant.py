"""TensorFlow's contestant: eager calls and tf.function; with the argument `xla`, tf.function compiled by XLA."""
import contextlib
import functools
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import tensorflow as tf

import contestant


def host(result):
    """Without result.numpy(), which copies."""
    return [np.asarray(r) for r in result] if isinstance(result, (list, tuple)) else np.asarray(result)


def function(f, xla):
    return tf.function(f, autograph=False, jit_compile=xla or None)


def call_of(f, x, xla):
    """A call of the function of tensors x that gives one tensor, or a list. Of the compiled function itself:
    tf.function binds arguments and compares their types in Python at each call, which takes longer than small functions
    do (0.1 ms)."""
    concrete = function(f, xla).get_concrete_function(*x)
    one = not isinstance(concrete.structured_outputs, (list, tuple))
    call, inputs = concrete.inference_fn.call_flat, [*x, *concrete.captured_inputs]

    def run():
        results = call(*inputs)
        return results[0] if one else results
    run.keeps = concrete  # whoever calls what belongs to it
    return run


def conv(x, kernel, seed):
    """The convolution, and its gradients by x and the kernel, for the gradient `seed` by what it gave."""
    with tf.GradientTape() as tape:
        tape.watch((x, kernel))
        y = tf.nn.conv2d(x, kernel, 1, "SAME")
    return [y, *tape.gradient(y, (x, kernel), seed)]


def layer_norm(x, scale, offset):
    mean, variance = tf.nn.moments(x, -1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-5) * scale + offset


def loss_of(logits, labels):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))


def mlp(x, labels, *layers):
    for i in range(0, len(layers), 2):
        x = tf.nn.bias_add(x @ layers[i], layers[i + 1])
        x = tf.nn.relu(x) if i + 2 < len(layers) else x
    return loss_of(x, labels)


def cnn(x, labels, *p):
    """x [batch, height, width, channels]; two convolutions, each with a pool, and a dense layer."""
    for i in (0, 2):
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, p[i], 1, "SAME"), p[i + 1]))
        x = tf.nn.max_pool2d(x, 2, 2, "VALID")
    return loss_of(tf.nn.bias_add(tf.reshape(x, (x.shape[0], -1)) @ p[4], p[5]), labels)


def lstm(x, labels, kernel, bias, weights, offset):
    """x [steps, batch, inputs]; of the cell [inputs + state, 4 state], then of a dense layer on the last state."""
    h = c = tf.zeros((x.shape[1], kernel.shape[1] // 4))
    for now in tf.unstack(x):
        i, f, g, o = tf.split(tf.nn.bias_add(tf.concat([now, h], 1) @ kernel, bias), 4, 1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
    return loss_of(tf.nn.bias_add(h @ weights, offset), labels)


def block(x, p, mask=None):
    """x [tokens of 8 texts, width]; attention with four heads, then two dense layers, each after a layer norm. `mask` is
    added to what each token of a text says of each other."""
    tokens, width = x.shape
    projected = tf.nn.bias_add(layer_norm(x, p[0], p[1]) @ p[2], p[3])
    parts = tf.transpose(tf.reshape(projected, (8, tokens // 8, 3, 4, width // 4)), (2, 0, 3, 1, 4))
    q, k, v = tf.unstack(parts)
    scores = tf.matmul(q, k, transpose_b=True) * (width // 4) ** -0.5
    weights = tf.nn.softmax(scores if mask is None else scores + mask)
    mixed = tf.reshape(tf.transpose(weights @ v, (0, 2, 1, 3)), (tokens, width))
    x = x + tf.nn.bias_add(mixed @ p[4], p[5])
    h = tf.nn.gelu(tf.nn.bias_add(layer_norm(x, p[6], p[7]) @ p[8], p[9]))
    return x + tf.nn.bias_add(h @ p[10], p[11])


def transformer(x, labels, *p):
    return loss_of(block(x, p), labels)


def gpt2(tokens, labels, words, positions, *p):
    """Of GPT-2 (Radford and others 2019). Tokens of 8 texts, one after the other, and those that follow; a vector for each
    word and for each position, blocks of 12 parameters, and a layer norm. The words' vectors are also the last layer's
    weights."""
    length, width = positions.shape
    mask = np.triu(np.full((length, length), -1e9, np.float32), 1)
    x = tf.reshape(tf.reshape(tf.gather(words, tokens), (-1, length, width)) + positions, (-1, width))
    for at in range(0, len(p) - 2, 12):
        x = block(x, p[at:], mask)
    return loss_of(tf.matmul(layer_norm(x, *p[-2:]), words, transpose_b=True), labels)


def hessian_by_vector(x, w, u, v):
    """The matrix of second derivatives of sum(tanh(x w) u), by v."""
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(tf.tanh(x * w) * u)
        first = inner.gradient(y, x)
    return outer.gradient(first, x, v)


def update_of(p, a, b, time):
    """What the networks S, Q and T of L2HMC say of one half of a point."""
    h = tf.nn.relu(a @ p[0] + b @ p[1] + time @ p[2] + p[3])
    h = tf.nn.relu(tf.nn.bias_add(h @ p[4], p[5]))
    return (tf.tanh(tf.nn.bias_add(h @ p[6], p[7])) * tf.exp(p[8]), tf.nn.bias_add(h @ p[9], p[10]),
            tf.tanh(tf.nn.bias_add(h @ p[11], p[12])) * tf.exp(p[13]))


@functools.cache
def constants():
    """Of L2HMC: the distribution's precision, masks, and the times of ten steps."""
    angles = np.arange(10) * (2 * np.pi / 10)
    with tf.init_scope():
        return (tf.constant([[5.005, 4.995], [4.995, 5.005]]), [tf.constant([[1.0, 0.0]]), tf.constant([[0.0, 1.0]])],
                [tf.constant([[np.cos(a), np.sin(a)]], tf.float32) for a in angles])


def energy(x):
    """Of a Gaussian whose variances are 100 and 0.1, along the diagonals."""
    return 0.5 * tf.reduce_sum(x @ constants()[0] * x, 1)


def energy_gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = energy(x)
    return tape.gradient(y, x)


def hamiltonian(x, v):
    return energy(x) + 0.5 * tf.reduce_sum(v * v, 1)


def l2hmc(x, v, step, *p):
    """Positions and momenta [samples, 2], the logarithm of a step's length [1], parameters for positions and for momenta.
    Ten leapfrog steps forward of L2HMC (Levy, Hoffman and Sohl-Dickstein 2018); the loss of section 4, scaled."""
    _, masks, times = constants()
    first, before, log_jacobian, step = x, hamiltonian(x, v), 0.0, tf.exp(step)
    for i, time in enumerate(times):
        for half in range(2):
            if half == 1:
                for kept, moved in ((masks[i % 2], masks[1 - i % 2]), (masks[1 - i % 2], masks[i % 2])):
                    scale, translation, transformation = update_of(p[:14], v, kept * x, time)
                    scale = step * scale
                    moving = x * tf.exp(scale) + step * (tf.exp(step * transformation) * v + translation)
                    x = kept * x + moved * moving
                    log_jacobian += tf.reduce_sum(moved * scale, 1)
            slope = energy_gradient(x)
            scale, translation, transformation = update_of(p[14:], x, slope, time)
            scale = 0.5 * step * scale
            v = v * tf.exp(scale) - 0.5 * step * (tf.exp(step * transformation) * slope - translation)
            log_jacobian += tf.reduce_sum(scale, 1)
    accepted = tf.exp(tf.minimum(before - hamiltonian(x, v) + log_jacobian, 0.0))
    jump = tf.reduce_sum(tf.square(x - first), 1) * accepted + 1e-4
    return tf.reduce_mean(0.001 / jump - 0.1 * jump)


def resnet_of(parameters):
    """The network with running statistics, which are its state."""
    state = [(tf.Variable(tf.zeros_like(scale)), tf.Variable(tf.ones_like(scale))) for scale in parameters[1:-2:3]]
    return lambda x, labels, *p: loss_of(resnet(x, state, p, training=True), labels)


def resnet_for_inference(parameters, eager):
    """Of the images. Arrays become constants of a graph, where tensors would become its inputs."""
    constant = tf.constant if eager else np.asarray
    state = [(constant(np.zeros_like(scale)), constant(np.ones_like(scale))) for scale in parameters[1:-2:3]]
    parameters = [constant(p) for p in parameters]
    return lambda x: resnet(x, state, parameters, training=False)


def resnet(x, state, p, training):
    """A residual network of bottlenecks, with the step in the 3x3 convolution. p: for each convolution its kernel and its
    norm's scale and offset; at the end a dense layer's weights and bias. First comes a convolution with a pool, then
    bottlenecks of three convolutions, four where the number of channels changes. From there on, but for the first one,
    the images are halved."""
    at = 0

    def convolve(x, stride):
        nonlocal at
        kernel, scale, offset, (mean, variance) = *p[at:at + 3], state[at // 3]
        at += 3
        y, new_mean, new_variance = tf.compat.v1.nn.fused_batch_norm(
            tf.nn.conv2d(x, kernel, stride, "SAME"), scale, offset, mean, variance, 1e-3, is_training=training,
            exponential_avg_factor=0.01 if training else 1.0)
        if training:
            mean.assign(new_mean)
            variance.assign(new_variance)
        return y

    x = tf.nn.max_pool2d(tf.nn.relu(convolve(x, 2)), 3, 2, "SAME")
    while at < len(p) - 2:
        changes = p[at].shape[2] != p[at + 6].shape[3]
        stride = 2 if changes and at > 3 else 1
        y = convolve(tf.nn.relu(convolve(tf.nn.relu(convolve(x, 1)), stride)), 1)
        x = tf.nn.relu(y + (convolve(x, stride) if changes else x))
    return tf.nn.bias_add(tf.reduce_mean(x, (1, 2)) @ p[at], p[at + 1])


def fall(x):
    """Euler's method for x' = -sin(x), in a loop of the graph."""
    return tf.while_loop(lambda i, at: i < 100000, lambda i, at: (i + 1, at - 1e-4 * tf.sin(at)),
                         (tf.constant(0), x), maximum_iterations=100000)[1]


def batch_norm(training):
    """Of images, with scale, offset, mean and variance by channel."""
    def of(x, scale, offset, mean, variance):
        y, batch_mean, _ = tf.compat.v1.nn.fused_batch_norm(x, scale, offset, None if training else mean,
                                                            None if training else variance, 1e-3, is_training=training)
        return [y, batch_mean] if training else y
    return of


def quantized_matmul(x, y):
    product = tf.raw_ops.QuantizedMatMul(a=tf.bitcast(x, tf.quint8), b=tf.bitcast(y, tf.quint8), min_a=0.0, max_a=255.0,
                                         min_b=0.0, max_b=255.0)
    return tf.bitcast(product.out, tf.int32)


KERNELS = {
    "depthwise": lambda x, kernel: tf.nn.depthwise_conv2d(x, kernel, (1, 1, 1, 1), "SAME"),
    "grouped": lambda x, kernel: tf.nn.conv2d(x, kernel, 1, "SAME"),
    "conv3d": lambda x, kernel: tf.nn.conv3d(x, kernel, (1, 1, 1, 1, 1), "SAME"),
    "max_pool": lambda x: tf.nn.max_pool2d(x, 3, 2, "VALID"),
    "avg_pool": lambda x: tf.nn.avg_pool2d(x, 2, 2, "VALID"),
    "resize": lambda x: tf.image.resize(x, (2 * x.shape[1], 2 * x.shape[2])),
    "batch_norm": batch_norm(False),
    "batch_norm_training": batch_norm(True),
    "sort": tf.sort,
    "top_k": lambda x: list(tf.math.top_k(x, 100)),
    "cumsum": lambda x: tf.cumsum(x, -1),
    "gather": tf.gather,
    "scatter_add": lambda table, rows, updates: tf.tensor_scatter_nd_add(table, rows[:, None], updates),
    "segment_sum": lambda x, ids: tf.math.unsorted_segment_sum(x, ids, 100000),
    "embedding_bag": lambda table, rows, bags: tf.sparse.segment_sum(table, rows, bags),
    "unique": lambda x: list(tf.unique(x)),
    "one_hot": lambda x: tf.one_hot(x, 256),
    "where": tf.where,
    "nonzero": tf.where,
    "normal": lambda x: tf.random.stateless_normal(x.shape, (1, 2), alg="philox"),
    "fft": tf.signal.fft,
    "rfft": tf.signal.rfft,
    "fft2": tf.signal.fft2d,
    "cholesky": tf.linalg.cholesky,
    "qr": lambda x: list(tf.linalg.qr(x)),
    "svd": lambda x: list(tf.linalg.svd(x)),
    "eigh": lambda x: list(tf.linalg.eigh(x)),
    "solve": tf.linalg.solve,
    "sparse_dense": lambda places, values, x: tf.sparse.sparse_dense_matmul(
        tf.SparseTensor(places, values, (x.shape[0],) * 2), x),
    "hash": lambda x: tf.strings.to_hash_bucket_fast(x, 1 << 20),
    "strong_hash": lambda x: tf.strings.to_hash_bucket_strong(x, 1 << 20, (1, 2)),
    "regex": lambda x: tf.strings.regex_replace(x, "[0-9]+", "#"),
}

WORKS = KERNELS | {
    "add": tf.add,
    "mul": tf.multiply,
    "matmul": tf.matmul,
    "quantized_matmul": quantized_matmul,
    "chain": contestant.chain,
    "fall": fall,
    "product": contestant.product,
    "view": lambda x: tf.reshape(x, (-1,)),
    "hessian": hessian_by_vector,
    "log_exp": contestant.log_exp(tf.math.log, tf.exp),
    "conv": conv,
    "exp": tf.exp,
    "tanh": tf.tanh,
    "gelu": lambda x: 0.5 * x * (1.0 + tf.math.erf(x * 0.7071067811865476)),
    "sum": tf.reduce_sum,
    "rows": lambda x: tf.reduce_sum(x, 1),
    "columns": lambda x: tf.reduce_sum(x, 0),
    "softmax": tf.nn.softmax,
    "transpose": tf.transpose,
    "add_transposed": lambda x, y: x + tf.transpose(y),
    "bias_add": tf.nn.bias_add,
    "layer_norm": layer_norm,
    "mlp": mlp,
    "cnn": cnn,
    "lstm": lstm,
    "transformer": transformer,
    "gpt2": gpt2,
    "l2hmc": l2hmc,
}


def chains(constants, depth):
    for _ in range(depth):
        constants = [tf.negative(c) for c in constants]
    return constants


def sums(layer, depth):
    """`depth` layers of sums, each of the whole layer before."""
    for _ in range(depth):
        layer = [tf.add_n(layer) for _ in layer]
    return layer


GRAPHS = {"chains": chains, "sums": sums}


def session(build, x, threads):
    """A graph of nodes that do little, in a session without optimization. x: its shape is width and depth, its first
    numbers are the constants. Output: how many nodes, and the tensors at the ends."""
    with tf.Graph().as_default() as graph:
        width, depth = x.shape
        ends = build(list(map(tf.constant, x.flat[:width])), depth)
        everything = tf.group(*ends)
    config = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
    config.graph_options.optimizer_options.opt_level = config.graph_options.optimizer_options.L0
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    run = tf.compat.v1.Session(graph=graph, config=config)

    def output():
        return [len(graph.get_operations()), np.array(run.run([everything, *ends])[1:])]
    return contestant.Workload(run.make_callable(everything), lambda result: result, output)


def with_gradient(f):
    """What f gives, and the gradient of its sum by the first input."""
    def of(x, *rest):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, *rest)
        return [y, tape.gradient(y, x)]
    return of


def taped(f, x):
    """A fresh tape now and then: one alone would keep all runs. The last is closed: open, it would record, and keep, all
    that later workloads do."""
    count, tapes = 0, contextlib.ExitStack()

    def run():
        nonlocal count
        if count % 1000 == 0:
            tapes.close()
            tapes.enter_context(tf.GradientTape()).watch(x[0])
        count += 1
        return f(*x)
    return contestant.Workload(run, host, close=tapes.close)


def training(f, x, labels, parameters, compiled, xla):
    parameters = [tf.Variable(p) for p in parameters]

    def step():
        with tf.GradientTape() as tape:
            loss = f(x, labels, *parameters)
        for p, g in zip(parameters, tape.gradient(loss, parameters)):
            p.assign_sub(0.01 * g)
        return loss
    return contestant.training(call_of(step, [], xla) if compiled else step, host, lambda: parameters)


def frozen(work, x, xla):
    """A network in a file."""
    definition = tf.compat.v1.GraphDef.FromString(contestant.network_file(work, "pb").read_bytes())
    wrapped = tf.compat.v1.wrap_function(lambda: tf.graph_util.import_graph_def(definition, name=""), [])
    network = wrapped.prune("x:0", "y:0")
    return call_of(lambda a: network(a), [x], True) if xla else call_of(network, [x], False)


def pipeline(rows):
    """Rows of a tensor, each doubled, in batches, by one thread."""
    options = tf.data.Options()
    options.threading.private_threadpool_size = options.threading.max_intra_op_parallelism = 1
    batches = tf.data.Dataset.from_tensor_slices(rows).map(lambda row: row * 2).batch(128).with_options(options)
    return contestant.Workload(lambda: list(batches), host)


def make(work, mode, arrays, xla, threads):
    if mode == "pipeline":
        return None if xla else pipeline(arrays[0])
    if mode == "file":
        return contestant.Workload(frozen(work, tf.constant(arrays[0]), xla), host)
    if mode == "session":
        return None if xla else session(GRAPHS[work], arrays[0], threads)
    if xla and work == "l2hmc":
        return None  # compiling its unrolled steps takes minutes
    f = resnet_of(arrays[2:]) if work == "resnet" else WORKS.get(work)
    if work == "resnet_inference":
        f, arrays = resnet_for_inference(arrays[2:], mode == "eager"), arrays[:1]
    if not f or xla and mode in ("eager", "taped", "grad", "train"):
        return None
    x = [tf.constant(a) for a in arrays]
    if work == "sparse_dense":
        x[0] = tf.cast(x[0], tf.int64)
    if mode == "cold":
        return contestant.Workload(lambda: function(lambda *a: f(*a), xla)(*x), host)
    if mode == "frozen":  # arrays become constants of a graph
        return contestant.Workload(call_of(lambda first: f(first, *arrays[1:]), x[:1], xla), host)
    if mode == "taped":
        return taped(f, x)
    if mode in ("train", "traced_train"):
        return training(f, x[0], x[1], x[2:], mode == "traced_train", xla)
    if mode == "captured":
        variables = [tf.Variable(v) for v in x[1:]]
        return contestant.Workload(call_of(lambda first: WORKS[work](first, *variables), x[:1], xla), host)
    f = with_gradient(f) if mode in ("grad", "traced_grad") else f
    if mode in ("traced", "traced_grad"):
        return contestant.Workload(call_of(f, x, xla), host)
    return contestant.Workload(lambda: f(*x), host)


def main():
    threads = int(sys.argv[1])
    tf.get_logger().setLevel("ERROR")  # it warns of functions that are traced often: that is a workload
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    xla = "xla" in sys.argv[2:]
    contestant.serve(lambda work, mode, arrays, _: make(work, mode, arrays, xla, threads))


if __name__ == "__main__":
    main()
