"""Small GraphDefs written by TensorFlow, with feeds and what TensorFlow's Session gave: graphs/.

Only ops of Pantograph's first set occur, but in those of old ops and in `beyond`. Each function builds one graph in a
fresh tf.Graph and returns its runs, which are made one after the other in one Session: (feeds, fetches, targets), names as a user would type them.
"""

import json

import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.python.framework.function import Defun

tf1 = tf.compat.v1
raw = tf.raw_ops
F4, I4, I8 = np.float32, np.int32, np.int64


def numbers(*shape, seed=0, dtype=F4):
    generator = np.random.Generator(np.random.PCG64(seed))
    return np.round(generator.uniform(-1, 1, shape), 3).astype(dtype)


def mlp_predict():
    """A trained network as it is shipped: weights frozen into constants, batch size open."""
    x = tf1.placeholder(tf.float32, [None, 6], name="x")
    with tf.name_scope("hidden"):
        hidden = tf.nn.relu(
            tf.nn.bias_add(
                tf.matmul(x, tf.constant(numbers(6, 8), name="kernel")), tf.constant(numbers(8, seed=1), name="bias")
            )
        )
    with tf.name_scope("output"):
        logits = tf.nn.bias_add(
            tf.matmul(hidden, tf.constant(numbers(8, 4, seed=2), name="kernel")),
            tf.constant(numbers(4, seed=3), name="bias"),
        )
    tf.nn.softmax(logits, name="probabilities")
    tf.argmax(logits, axis=-1, name="label")
    fetches = ["probabilities", "label:0"]
    return [
        ({"x": numbers(5, 6, seed=4)}, fetches, []),
        ({"x:0": numbers(1, 6, seed=5)}, fetches, []),
        ({"x": np.zeros([0, 6], F4)}, fetches, []),
    ]


def variables():
    """TensorFlow 1 style: get_variable, an initializer that draws random numbers, a target that runs them all."""
    with tf1.variable_scope("model", use_resource=True):
        weights = tf1.get_variable("weights", [3, 2], initializer=tf1.random_uniform_initializer(-1, 1, seed=42))
        bias = tf1.get_variable("bias", [2], initializer=tf1.zeros_initializer())
        steps = tf1.get_variable("steps", [], tf.int64, initializer=tf1.constant_initializer(5))
    x = tf1.placeholder(tf.float32, [None, 3], name="x")
    tf.add(tf.matmul(x, weights), bias, name="y")
    raw.AssignAddVariableOp(resource=steps.handle, value=tf.constant(3, tf.int64), name="count")
    raw.AssignSubVariableOp(resource=bias.handle, value=[0.5, -0.5], name="shift")
    raw.VarIsInitializedOp(resource=weights.handle, name="is_initialized")
    tf1.global_variables_initializer()
    feed = {"x": numbers(2, 3)}
    return [
        ({}, ["is_initialized"], []),
        ({}, [], ["init"]),
        ({}, ["is_initialized"], []),
        (feed, ["y", "model/weights/Read/ReadVariableOp"], []),
        ({}, [], ["count", "shift"]),
        (feed, ["y", "model/steps/Read/ReadVariableOp:0"], []),
    ]


def reductions():
    x = tf1.placeholder(tf.float32, [None, 3, 4], name="x")
    tf.reduce_sum(x, name="sum_all")
    tf.reduce_mean(x, [0, 2], name="mean_axes")
    tf.reduce_prod(x, 1, keepdims=True, name="prod_kept")
    tf.reduce_max(x, [-1], name="max_last")
    tf.reduce_min(x, [0], name="min_first")
    positive = tf.greater(x, 0.0, name="positive")
    tf.reduce_all(positive, [1], name="all")
    tf.reduce_any(positive, [1, 2], name="any")
    tf.cumsum(x, axis=1, exclusive=True, reverse=True, name="cumsum")
    tf.argmin(x, 2, output_type=tf.int32, name="argmin")
    tf.nn.l2_loss(x, name="l2")
    return [
        (
            {"x": numbers(2, 3, 4)},
            ["sum_all", "mean_axes", "prod_kept", "max_last", "min_first", "all", "any", "cumsum", "argmin", "l2"],
            [],
        )
    ]


def strided_slices():
    """NumPy's indexing, as Python writes it, and the shape arithmetic that comes with it."""
    x = tf1.placeholder(tf.int32, [4, None, 6], name="x")
    tf.identity(x[1], name="row")
    tf.identity(x[..., -1], name="last")
    tf.identity(x[::2, 1:, ::-1], name="steps")
    tf.identity(x[2, tf.newaxis, ..., 1:5:3], name="mixed")
    tf.identity(x[:, :, tf.newaxis, 3], name="new_axis")
    size = tf.shape(x, name="shape")
    tf.reshape(x, tf.stack([size[0] * size[1], 6]), name="flat")
    tf.slice(x, [1, 0, 2], [2, -1, 3], name="slice")
    tf.rank(x, name="rank")
    tf.size(x, name="size")
    return [
        (
            {"x": np.arange(4 * n * 6, dtype=I4).reshape(4, n, 6)},
            ["row", "last", "steps", "mixed", "new_axis", "flat", "slice", "rank", "size"],
            [],
        )
        for n in (5, 1)
    ]


def strings():
    """String constants of several forms (one value repeated, bytes that are no text) and ops that only move them."""
    names = tf.constant(["zero", "one", "two", "three \u00e9"], name="names")
    tf.constant("filled", shape=[2, 2], name="filled")
    tf.constant([b"\x00\x01end", b"", b"\xff"], name="bytes")
    index = tf1.placeholder(tf.int32, [None], name="index")
    picked = tf.gather(names, index, name="picked")
    tf.stack([picked, tf.identity(picked)], axis=1, name="pairs")
    tf.concat([picked, ["end"]], 0, name="with_end")
    check = tf1.Assert(tf.reduce_all(index < 4), ["index out of range: ", index], name="check")
    with tf.control_dependencies([check]):
        tf.identity(picked, name="checked")
    return [({"index": np.array([2, 0, 3], I4)}, ["picked", "pairs", "with_end", "checked", "filled", "bytes"], [])]


def pack_split():
    x = tf1.placeholder(tf.float32, [2, 6], name="x")
    left, middle, right = tf.split(x, 3, axis=1, name="split")
    tf.stack([right, left, middle], axis=-1, name="packed")
    first, second = tf.unstack(x, axis=0, name="rows")
    tf.concat([second, first], 0, name="swapped")
    tf.tile(left, [2, 2], name="tiled")
    tf.pad(middle, [[1, 0], [0, 2]], name="padded")
    tf.transpose(x, name="transposed")
    raw.IdentityN(input=[left, tf.shape(x)], name="both")
    tf.broadcast_to(tf.expand_dims(first, 1), [6, 2], name="broadcast")
    tf.squeeze(left[:1], name="squeezed")
    tf.one_hot([1, 0, 7], 3, 2.0, -1.0, axis=0, name="one_hot")
    tf.where(x > 0, x, tf.zeros_like(x), name="positive_part")
    return [
        (
            {"x": numbers(2, 6)},
            [
                "split",
                "split:1",
                "split:2",
                "packed",
                "rows:1",
                "swapped",
                "tiled",
                "padded",
                "transposed",
                "both:0",
                "both:1",
                "broadcast",
                "squeezed",
                "one_hot",
                "positive_part",
            ],
            [],
        )
    ]


def control_dependencies():
    """The order of effects is told by control edges alone."""
    with tf1.variable_scope("", use_resource=True):
        counter = tf1.get_variable("counter", [], initializer=tf1.constant_initializer(1.0))
    tf1.global_variables_initializer()
    before = raw.ReadVariableOp(resource=counter.handle, dtype=tf.float32, name="before")
    with tf.control_dependencies([before]):
        twice = raw.AssignVariableOp(resource=counter.handle, value=before * 2.0, name="double")
    with tf.control_dependencies([twice]):
        between = raw.ReadVariableOp(resource=counter.handle, dtype=tf.float32, name="between")
        plus = raw.AssignAddVariableOp(resource=counter.handle, value=10.0, name="plus")
    with tf.control_dependencies([plus, between]):
        raw.ReadVariableOp(resource=counter.handle, dtype=tf.float32, name="after")
    return [({}, [], ["init"]), ({}, ["before", "after"], []), ({}, ["after"], []), ({}, ["before:0"], ["double"])]


def noop_targets():
    """NoOp as a group and as a barrier; a target that depends on another; nodes that must not run."""
    with tf1.variable_scope("", use_resource=True):
        a = tf1.get_variable("a", [2], initializer=tf1.ones_initializer())
        b = tf1.get_variable("b", [2], initializer=tf1.constant_initializer([3.0, 4.0]))
        never = tf1.get_variable("never", [], initializer=tf1.zeros_initializer())
    tf1.global_variables_initializer()
    add_a = raw.AssignAddVariableOp(resource=a.handle, value=b.initial_value, name="add_a")
    sub_b = raw.AssignSubVariableOp(resource=b.handle, value=[1.0, 1.0], name="sub_b")
    both = tf.group(add_a, sub_b, name="both")
    with tf.control_dependencies([both]):
        tf.no_op(name="outer")
    raw.AssignAddVariableOp(resource=never.handle, value=1.0, name="not_asked_for")
    reads = ["a/Read/ReadVariableOp", "b/Read/ReadVariableOp", "never/Read/ReadVariableOp"]
    return [({}, [], ["init"]), ({}, [], ["outer"]), ({}, reads, []), ({}, [], ["both", "sub_b"]), ({}, reads, [])]


def casts():
    x = tf1.placeholder_with_default(np.array([-1.5, 0.0, 0.5, 2.5, 100.7], F4), [None], name="x")
    whole = tf.cast(x, tf.int32, name="int32")
    tf.cast(x, tf.int64, name="int64")
    tf.cast(x, tf.int8, name="int8")
    tf.cast(x, tf.bool, name="bool")
    tf.cast(x, tf.float64, name="float64")
    tf.cast(tf.cast(x, tf.float16), tf.float32, name="through_half")
    tf.cast(tf.cast(x, tf.bfloat16), tf.float32, name="through_bfloat16")
    tf.cast(tf.cast(x, tf.complex64), tf.float32, name="through_complex")
    tf.cast(whole, tf.float64, name="from_int32")
    tf.math.floordiv(whole, tf.range(1, 1 + tf.size(x)), name="floordiv")
    names = [
        "int32",
        "int64",
        "int8",
        "bool",
        "float64",
        "through_half",
        "through_bfloat16",
        "through_complex",
        "from_int32",
        "floordiv",
    ]
    return [({}, names, []), ({"x": np.array([7.9, -7.9, 1e6], F4)}, names[:2] + names[4:], [])]


def train_step():
    """A softmax classifier with a hidden layer; its gradient is written out, in ops of the first set."""
    with tf1.variable_scope("", use_resource=True):
        w1 = tf1.get_variable("w1", [4, 5], initializer=tf1.constant_initializer(numbers(4, 5)))
        b1 = tf1.get_variable("b1", [5], initializer=tf1.constant_initializer(0.1))
        w2 = tf1.get_variable("w2", [5, 3], initializer=tf1.random_normal_initializer(stddev=0.5, seed=7))
        b2 = tf1.get_variable("b2", [3], initializer=tf1.zeros_initializer())
    tf1.global_variables_initializer()
    x = tf1.placeholder(tf.float32, [None, 4], name="x")
    labels = tf1.placeholder(tf.int64, [None], name="labels")
    hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w1), b1))
    logits = tf.nn.bias_add(tf.matmul(hidden, w2), b2, name="logits")
    losses, d_logits = raw.SparseSoftmaxCrossEntropyWithLogits(features=logits, labels=labels, name="losses")
    loss = tf.reduce_mean(losses, name="loss")
    d_logits = d_logits / tf.cast(tf.size(losses), tf.float32)
    d_hidden = tf.matmul(d_logits, w2, transpose_b=True) * tf.cast(hidden > 0, tf.float32)
    gradients = [
        (w1, tf.matmul(x, d_hidden, transpose_a=True)),
        (b1, tf.reduce_sum(d_hidden, 0)),
        (w2, tf.matmul(hidden, d_logits, transpose_a=True)),
        (b2, tf.reduce_sum(d_logits, 0)),
    ]
    with tf.control_dependencies([loss] + [gradient for _, gradient in gradients]):
        updates = [
            raw.ResourceApplyGradientDescent(var=v.handle, alpha=0.5, delta=gradient, name=f"update_{v.op.name}")
            for v, gradient in gradients
        ]
    tf.group(*updates, name="train")
    batch = {"x": numbers(6, 4, seed=3), "labels": np.array([0, 1, 2, 2, 1, 0], I8)}
    reads = [f"{name}/Read/ReadVariableOp" for name in ("w1", "b1", "w2", "b2")]
    return [
        ({}, [], ["init"]),
        ({}, reads, []),
        *[(batch, ["loss"], ["train"])] * 3,
        ({}, reads, []),
        (batch, ["losses", "losses:1", "logits"], []),
    ]


def adam_regression():
    """Linear regression trained with Adam, as text."""
    with tf1.variable_scope("", use_resource=True):
        zeros = tf1.zeros_initializer()
        w = tf1.get_variable("w", [2], initializer=tf1.constant_initializer([0.5, -1.0]))
        m, v = tf1.get_variable("w/m", [2], initializer=zeros), tf1.get_variable("w/v", [2], initializer=zeros)
    tf1.global_variables_initializer()
    x = tf1.placeholder(tf.float32, [None, 2], name="x")
    y = tf1.placeholder(tf.float32, [None], name="y")
    power1, power2 = tf1.placeholder(tf.float32, [], name="power1"), tf1.placeholder(tf.float32, [], name="power2")
    error = tf.reduce_sum(x * w, 1) - y
    loss = tf.reduce_mean(tf.square(error), name="loss")
    gradient = tf.reduce_mean(2.0 * tf.expand_dims(error, 1) * x, 0)
    with tf.control_dependencies([loss]):
        raw.ResourceApplyAdam(
            name="train",
            var=w.handle,
            m=m.handle,
            v=v.handle,
            beta1_power=power1,
            beta2_power=power2,
            lr=0.1,
            beta1=0.9,
            beta2=0.999,
            epsilon=1e-8,
            grad=gradient,
        )
    batch = {"x": numbers(5, 2), "y": numbers(5, seed=1)}
    steps = [
        ({**batch, "power1": F4(0.9**step), "power2": F4(0.999**step)}, ["loss:0"], ["train"]) for step in range(1, 4)
    ]
    reads = ["w/Read/ReadVariableOp", "w/m/Read/ReadVariableOp", "w/v/Read/ReadVariableOp"]
    return [({}, [], ["init"]), *steps, ({}, reads, [])]


def broadcast_math():
    """Elementwise ops with broadcasting, as text, with partly known devices and shapes."""
    with tf.device("/device:CPU:0"):
        a = tf1.placeholder(tf.float32, [None, 3], name="a")
    b = tf1.placeholder(tf.float32, name="b")
    with tf.device("/CPU:0"):
        tf.add(a, b, name="sum")
        tf.subtract(a, b, name="difference")
    tf.multiply(a, b, name="product")
    tf.realdiv(a, b, name="quotient")
    tf.maximum(a, tf.minimum(b, 0.25), name="clipped")
    tf.pow(tf.abs(a), b, name="power")
    tf.math.squared_difference(a, b, name="squared_difference")
    tf.math.floormod(a, 0.3, name="mod")
    tf.sigmoid(tf.sin(a) + tf.cos(b) - tf.tanh(a) * tf.exp(-b), name="chain")
    tf.math.log1p(tf.square(a)) + tf.math.expm1(a) + tf.sqrt(tf.abs(b))
    tf.logical_and(tf.less(a, b), tf.not_equal(a, 0.0), name="between")
    tf.math.rsqrt(tf.fill([2, 2], 4.0), name="half")
    tf.stop_gradient(tf.sign(-a) * tf.math.reciprocal(b), name="stopped")
    names = [
        "sum",
        "difference",
        "product",
        "quotient",
        "clipped",
        "power",
        "squared_difference",
        "mod",
        "chain",
        "between",
        "half",
        "stopped",
    ]
    a, b = numbers(2, 3, seed=1), np.abs(numbers(2, 1, seed=2)) + F4(0.125)
    return [({"a": a, "b": b}, names, []), ({"a": a, "b:0": F4(0.75)}, names, [])]


def old_training():
    """TensorFlow 1 before resources: reference variables, optimizers of its own with their gradients, by momentum too."""
    tf1.set_random_seed(3)
    with tf1.variable_scope("", use_resource=False):
        w1 = tf1.get_variable("w1", [4, 5], initializer=tf1.constant_initializer(numbers(4, 5)))
        b1 = tf1.get_variable("b1", [5], initializer=tf1.constant_initializer(0.1))
        w2 = tf1.get_variable("w2", [5, 3], initializer=tf1.constant_initializer(numbers(5, 3, seed=7)))
        counter = tf1.get_variable("counter", [], tf.int64, initializer=tf1.zeros_initializer(), trainable=False)
    x = tf1.placeholder(tf.float32, [None, 4], name="x")
    labels = tf1.placeholder(tf.int64, [None], name="labels")
    hidden = tf.tanh(tf.nn.bias_add(tf.matmul(x, w1), b1))
    logits = tf.matmul(tf.sigmoid(hidden), w2, name="logits")
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    loss = tf.reduce_mean(losses, name="loss")
    variables = [w1, b1, w2]
    tf1.train.GradientDescentOptimizer(0.5).minimize(loss, counter, variables, name="train")
    tf1.train.MomentumOptimizer(0.1, 0.9).minimize(loss, counter, variables, name="train_by_momentum")
    # What reads a variable after an update sees it; what reads it before does not.
    more = tf1.assign_add(counter, tf.constant(10, tf.int64), name="more")
    with tf.control_dependencies([more]):
        raw.AddV2(x=counter._ref(), y=tf.constant(1, tf.int64), name="after")
        raw.AddV2(x=counter.read_value(), y=tf.constant(1, tf.int64), name="after_too")
    tf.negative(tf1.assign(counter, more + 1), name="twice")
    tf1.scatter_sub(b1, [1, 3, 1], [0.5, 0.25, 1.0], name="scattered")
    raw.IsVariableInitialized(ref=b1._ref(), name="is_initialized")
    tf1.global_variables_initializer()
    batch = {"x": numbers(6, 4, seed=3), "labels": np.array([0, 1, 2, 2, 1, 0], I8)}
    reads = ["w1/read", "b1/read", "w2/read", "counter"]
    return [
        ({}, ["is_initialized"], []),
        ({}, [], ["init"]),
        ({}, [*reads, "is_initialized"], []),
        *[(batch, [], ["train"]), (batch, ["loss"], [])] * 4,
        ({}, reads, []),
        *[(batch, [], ["train_by_momentum"]), (batch, ["loss"], [])] * 4,
        ({}, [*reads, "w1/Momentum"], []),
        ({}, ["after", "after_too"], []),
        ({}, ["twice"], []),
        ({}, ["scattered"], []),
        ({}, reads, []),
    ]


def old_ops():
    """Ops that newer ones have replaced, as far as TensorFlow still makes them (not TopK)."""
    x = tf1.placeholder(tf.float32, [2, 3], name="x")
    rows = tf1.placeholder(tf.bool, [None], name="rows")
    raw.Select(condition=rows, x=x, y=-x, name="select_rows")
    raw.Select(condition=x > 0, x=x, y=tf.square(x), name="select")
    raw.Select(condition=tf.reduce_all(rows), x=x, y=-x, name="select_all")
    raw.Select(condition=tf1.placeholder(tf.bool, name="any"), x=x, y=-x, name="select_any")
    raw.Add(x=x, y=tf.constant(numbers(3)), name="add")
    raw.Add(x=["a", "b"], y="c", name="join")
    raw.Concat(concat_dim=1, values=[x, -x, x], name="concat")
    raw.Gather(params=x, indices=[1, 0, 1], name="gather")
    raw.Reverse(tensor=x, dims=[False, True], name="reverse")
    raw.Reverse(tensor=x, dims=[True, True], name="reverse_both")
    cube = tf.constant(numbers(2, 3, 4, seed=1))
    raw.BatchMatMul(x=cube, y=cube, adj_y=True, name="batch_matmul")
    raw.BatchMatMulV3(x=cube, y=cube, adj_x=True, Tout=tf.float32, name="batch_matmul_v3")
    raw.Inv(x=x, name="inv")
    image = tf.constant(numbers(2, 4, 6, 3, seed=2))
    pooled = raw.MaxPoolV2(input=image, ksize=[1, 2, 3, 1], strides=[1, 2, 1, 1], padding="SAME", name="pool")
    raw.MaxPoolGradV2(
        orig_input=image,
        orig_output=pooled,
        grad=tf.square(pooled),
        ksize=[1, 2, 3, 1],
        strides=[1, 2, 1, 1],
        padding="SAME",
        name="pool_grad",
    )
    scale, offset = tf.constant(numbers(3, seed=3)), tf.constant(numbers(3, seed=4))
    mean, variance = tf.constant(numbers(3, seed=5)), tf.constant(np.abs(numbers(3, seed=6)) + F4(0.5))
    none = tf.constant([], tf.float32)
    norm = raw.FusedBatchNorm(x=image, scale=scale, offset=offset, mean=none, variance=none, name="norm")
    raw.FusedBatchNormV2(x=image, scale=scale, offset=offset, mean=none, variance=none, epsilon=0.01, name="norm_v2")
    raw.FusedBatchNorm(
        x=image, scale=scale, offset=offset, mean=mean, variance=variance, is_training=False, name="norm_given"
    )
    for op, name in ((raw.FusedBatchNormGrad, "norm_grad"), (raw.FusedBatchNormGradV2, "norm_grad_v2")):
        op(y_backprop=tf.sin(image), x=image, scale=scale, reserve_space_1=norm[3], reserve_space_2=norm[4], name=name)
    y, dy = tf.constant(numbers(5, seed=7)), tf.constant(numbers(5, seed=8))
    for op in ("InvGrad", "ReciprocalGrad", "SqrtGrad", "RsqrtGrad", "TanhGrad", "SigmoidGrad"):
        getattr(raw, op)(y=y, dy=dy, name=op)
    z = tf.constant(numbers(5, seed=7) + 1j * numbers(5, seed=8), tf.complex64)
    for op in ("InvGrad", "SqrtGrad", "RsqrtGrad", "TanhGrad", "SigmoidGrad"):
        getattr(raw, op)(y=z, dy=z * z, name="Complex" + op)
    raw.SoftplusGrad(gradients=dy, features=y, name="SoftplusGrad")
    graph = tf1.get_default_graph()
    inner = {node.name for op in graph.get_operations() for node in (i.op for i in op.inputs)}
    skipped = {"x", "rows", "any", "norm_v2", *inner}
    fetches = [op.name for op in graph.get_operations() if op.name not in skipped and op.type != "Const"]
    fetches += ["norm:1", "norm:2", "norm_v2:0", "norm_v2:1", "norm_grad:1", "norm_grad:2", "pool"]
    fetches = sorted(set(fetches))
    feeds = {"x": numbers(2, 3, seed=9), "rows": np.array([True, False])}
    return [
        ({**feeds, "any": np.array([False, True])}, fetches, []),
        ({**feeds, "any": np.bool_(True)}, ["select_any"], []),
        ({**feeds, "any": numbers(2, 3) > 0}, ["select_any"], []),
    ]


def loops():
    """Conditionals and loops of Switch, Merge, Enter, Exit and NextIteration, in one another."""
    n, p = tf1.placeholder(tf.int32, [], name="n"), tf1.placeholder(tf.bool, [], name="p")
    x = tf1.placeholder(tf.float32, [2, 2], name="x")
    tf1.disable_control_flow_v2()

    def outer(i, value, total):
        value = tf1.cond(tf.equal(i % 2, 0), lambda: tf.tanh(tf.matmul(value, x)), lambda: value + tf.cast(i, tf.float32))
        _, total = tf1.while_loop(lambda j, _: j < i, lambda j, t: (j + 1, t + i * j), [0, total])
        return i + 1, value, total

    rounds, value, total = tf1.while_loop(
        lambda i, value, _: tf.logical_and(i < n, tf.reduce_sum(value) < 20.0), outer, [0, x, 1], parallel_iterations=3
    )
    tf.identity(rounds, name="rounds")
    tf.identity(value, name="value")
    tf.identity(total, name="total")
    grown = tf1.while_loop(
        lambda v: tf.size(v) < 9, lambda v: tf.concat([v, v * 2.0], 0), [x[0]], shape_invariants=[tf.TensorShape([None])]
    )
    taken = tf1.cond(p, lambda: tf.reduce_sum(grown), lambda: tf.constant(-1.0))
    tf.add(taken, tf.reduce_sum(x), name="taken")
    fetches = ["rounds", "value", "total", "taken"]
    return [({"n": I4(n), "p": np.bool_(n > 3), "x": numbers(2, 2)}, fetches, []) for n in (0, 1, 6, 40)]


def old_loops():
    """Reference variables that are assigned on branches and in loops."""
    p, n = tf1.placeholder(tf.bool, [], name="p"), tf1.placeholder(tf.int32, [], name="n")
    tf1.disable_control_flow_v2()
    v = tf1.get_variable("v", initializer=1.0, use_resource=False)
    w = tf1.get_variable("w", initializer=numbers(2), use_resource=False)
    y = tf1.cond(p, lambda: tf1.assign_add(v, 2.0), lambda: tf1.assign(v, v * 10.0))
    tf.identity(y, name="y")
    with tf1.control_dependencies([y]):
        tf.identity(v.read_value(), name="after")

    def body(i):
        with tf1.control_dependencies([tf1.cond(tf.equal(i, 2), lambda: tf1.assign_add(w, [1.0, -1.0]), lambda: w * 2.0)]):
            with tf1.control_dependencies([tf1.assign_add(w, [0.5, 0.25])]):
                return i + 1

    tf1.while_loop(lambda i: i < n, body, [0], parallel_iterations=1, name="loop")
    return [({}, [], ["v/Assign", "w/Assign"])] + [
        ({"p": np.bool_(n % 2), "n": I4(n)}, fetches, [])
        for n in (0, 1, 4)
        for fetches in (["y", "after"], ["loop/Exit"], ["v/read", "w/read"])
    ]


def beyond():
    """Holds what this library cannot run: an op, calls of functions. The runs do not need it, nor a loop."""
    x = tf1.placeholder(tf.float32, [2, 2], name="x")
    tf.add(raw.MatrixDeterminant(input=x, name="determinant"), 1.0, name="more")
    tf1.disable_control_flow_v2()
    tf1.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, v * 2.0), (tf.constant(0), x), name="loop")

    # Functions by names of their own: others are numbered through the whole process.
    @Defun(tf.float32, func_name="grow")
    def grow(a):
        return a + 1.0

    @Defun(tf.float32, func_name="halve")
    def halve(a):
        return a / 2.0

    @Defun(tf.float32, func_name="is_small")
    def is_small(a):
        return tf.reduce_sum(a) < 9.0

    for function in (grow, halve, is_small):
        function.add_to_graph(tf1.get_default_graph())
    raw.PartitionedCall(args=[x], Tout=[tf.float32], f=halve, name="half")
    raw.StatelessIf(
        cond=tf.reduce_sum(x) > 0, input=[x], Tout=[tf.float32], then_branch=grow, else_branch=halve, name="choice"
    )
    raw.StatelessWhile(input=[x], cond=is_small, body=grow, name="loop_v2")
    tf.negative(x, name="minus")
    return [({"x": numbers(2, 2)}, ["minus"], []), ({"x": numbers(2, 2), "determinant": F4(2)}, ["more"], [])]


BINARY = [
    mlp_predict,
    variables,
    reductions,
    strided_slices,
    strings,
    pack_split,
    control_dependencies,
    noop_targets,
    casts,
    train_step,
    old_ops,
    old_training,
    old_loops,
]
TEXT = [adam_regression, broadcast_math, loops, beyond]


def make(folder):
    """Writes every graph, NAME.npz with the arrays of its runs, and graphs.json which tells the runs."""
    rows = []
    for build in BINARY + TEXT:
        graph = tf.Graph()
        with graph.as_default():
            runs = build()
        definition = graph.as_graph_def(add_shapes=build is mlp_predict)
        suffix = "pbtxt" if build in TEXT else "pb"
        path = folder / f"{build.__name__}.{suffix}"
        if build in TEXT:
            path.write_text(text_format.MessageToString(definition))
        else:
            path.write_bytes(definition.SerializeToString(deterministic=True))

        arrays, told = {}, []

        def store(key, array):
            """The key of an equal array that is there already, or this one."""
            for there, other in arrays.items():
                if (other.dtype, other.shape, other.tobytes()) == (array.dtype, array.shape, array.tobytes()):
                    return there
            arrays[key] = array
            return key

        with tf1.Session(graph=graph) as session:
            for index, (feeds, fetches, targets) in enumerate(runs):
                full = {name if ":" in name else name + ":0": value for name, value in feeds.items()}
                values = session.run([name if ":" in name else name + ":0" for name in fetches] + targets, full)
                row = {"feeds": {}, "fetches": {}, "targets": targets}
                for kind, names, items in (("feeds", feeds, feeds.values()), ("fetches", fetches, values)):
                    for name, value in zip(names, items):
                        value = np.asarray(value)
                        row[kind][name] = store(
                            f"{index}.{name}", value.astype("S") if value.dtype.kind == "O" else value
                        )
                told.append(row)
        np.savez_compressed(folder / f"{build.__name__}.npz", **arrays)
        lines = ",\n      ".join(json.dumps(row) for row in told)
        rows.append(
            f'    {{"graph": "{path.name}", "arrays": "{build.__name__}.npz", "runs": [\n      {lines}\n    ]}}'
        )
    header = f'{{\n  "tensorflow": "{tf.__version__}",\n  "graphs": [\n'
    (folder / "graphs.json").write_text(header + ",\n".join(rows) + "\n  ]\n}\n")
