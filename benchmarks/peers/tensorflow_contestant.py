"""TensorFlow's contestant: eager calls and tf.function; with the argument `xla`, tf.function compiled by XLA."""
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import tensorflow as tf

import contestant


def host(result):
    return result.numpy()


def function(f, xla):
    return tf.function(f, autograph=False, jit_compile=xla or None)


def chain(x, factor):
    for _ in range(100):
        x = x * factor
    return x


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


def transformer(x, labels, *p):
    """x [batch of 8 x 128 tokens, 256]; attention with four heads, then two dense layers, each after a layer norm."""
    tokens, width = x.shape
    projected = tf.nn.bias_add(layer_norm(x, p[0], p[1]) @ p[2], p[3])
    parts = tf.transpose(tf.reshape(projected, (8, tokens // 8, 3, 4, width // 4)), (2, 0, 3, 1, 4))
    q, k, v = tf.unstack(parts)
    weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * (width // 4) ** -0.5)
    mixed = tf.reshape(tf.transpose(weights @ v, (0, 2, 1, 3)), (tokens, width))
    x = x + tf.nn.bias_add(mixed @ p[4], p[5])
    h = tf.nn.gelu(tf.nn.bias_add(layer_norm(x, p[6], p[7]) @ p[8], p[9]))
    return loss_of(x + tf.nn.bias_add(h @ p[10], p[11]), labels)


WORKS = {
    "add": tf.add,
    "mul": tf.multiply,
    "matmul": tf.matmul,
    "chain": chain,
    "exp": tf.exp,
    "tanh": tf.tanh,
    "gelu": lambda x: 0.5 * x * (1.0 + tf.math.erf(x * 0.7071067811865476)),
    "sum": tf.reduce_sum,
    "rows": lambda x: tf.reduce_sum(x, 1),
    "columns": lambda x: tf.reduce_sum(x, 0),
    "softmax": tf.nn.softmax,
    "transpose": tf.transpose,
    "bias_add": tf.nn.bias_add,
    "layer_norm": layer_norm,
    "mlp": mlp,
    "cnn": cnn,
    "lstm": lstm,
    "transformer": transformer,
}


def gradient(f):
    def of(x, *rest):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, *rest)
        return tape.gradient(y, x)
    return of


def taped(f, x):
    """A fresh tape now and then: one alone would keep all runs."""
    state = {"count": 0, "tape": None}

    def run():
        if state["count"] % 1000 == 0:
            if state["tape"]:
                state["tape"].__exit__(None, None, None)
            state["tape"] = tf.GradientTape()
            state["tape"].__enter__()
            state["tape"].watch(x[0])
        state["count"] += 1
        return f(*x)
    return contestant.Workload(run, host)


def training(f, x, labels, parameters, compiled, xla):
    parameters = [tf.Variable(p) for p in parameters]

    def step():
        with tf.GradientTape() as tape:
            loss = f(x, labels, *parameters)
        for p, g in zip(parameters, tape.gradient(loss, parameters)):
            p.assign_sub(0.01 * g)
        return loss
    return contestant.training(function(step, xla) if compiled else step, host)


def make(work, mode, arrays, xla):
    f = WORKS.get(work)
    if not f or xla and mode in ("eager", "taped", "grad", "train"):
        return None
    x = [tf.constant(a) for a in arrays]
    if mode == "cold":
        return contestant.Workload(lambda: function(lambda *a: f(*a), xla)(*x), host)
    if mode == "taped":
        return taped(f, x)
    if mode in ("train", "traced_train"):
        return training(f, x[0], x[1], x[2:], mode == "traced_train", xla)
    f = gradient(f) if mode in ("grad", "traced_grad") else f
    f = function(f, xla) if mode in ("traced", "traced_grad") else f
    return contestant.Workload(lambda: f(*x), host)


def main():
    threads = int(sys.argv[1])
    tf.get_logger().setLevel("ERROR")  # it warns of functions that are traced often: that is a workload
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    xla = "xla" in sys.argv[2:]
    contestant.serve(lambda *what: make(*what, xla))


if __name__ == "__main__":
    main()
