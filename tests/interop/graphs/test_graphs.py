"""Graphs built in TensorFlow, saved, run by `panto run` and compared; between them all tests cover every first op."""

import json
import unittest

import numpy as np
import support
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2

tf1, raw = tf.compat.v1, tf.raw_ops
F4, F8, I4, I8 = np.float32, np.float64, np.int32, np.int64

# What Pantograph's first set of ops is to run.
OPS = """
    Const Placeholder PlaceholderWithDefault Identity IdentityN NoOp StopGradient Cast Shape Rank Size Reshape
    ExpandDims Squeeze Transpose ConcatV2 Split Slice StridedSlice Pack Unpack GatherV2 Tile BroadcastTo Fill Range
    ZerosLike OnesLike OneHot SelectV2 Pad
    AddV2 Sub Mul RealDiv Div FloorDiv FloorMod Neg Abs Sign Square Sqrt Rsqrt Reciprocal Exp Log Log1p Expm1 Sin Cos
    Tanh Sigmoid Relu Maximum Minimum Pow SquaredDifference Equal NotEqual Less LessEqual Greater GreaterEqual
    LogicalAnd LogicalOr LogicalNot Conj
    Sum Mean Prod Max Min All Any ArgMax ArgMin Cumsum
    MatMul BatchMatMulV2 BiasAdd Softmax LogSoftmax SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits
    AddN L2Loss
    RandomUniform RandomStandardNormal StatelessRandomGetKeyCounter StatelessRandomUniformV2 StatelessRandomNormalV2
    VarHandleOp ReadVariableOp AssignVariableOp AssignAddVariableOp AssignSubVariableOp VarIsInitializedOp
    ResourceApplyGradientDescent ResourceApplyAdam ResourceApplyMomentum ResourceApplyKerasMomentum ResourceApplyRMSProp
    ResourceApplyCenteredRMSProp ResourceApplyAdagradV2 Assert Print PrintV2 Add
""".split()


def numbers(*shape, dtype=F4, seed=0):
    return np.random.Generator(np.random.PCG64(seed)).uniform(-2, 2, shape).astype(dtype)


def variable(name, value):
    """(handle, its initializing op), as TensorFlow 1 makes them."""
    value = np.asarray(value)
    handle = raw.VarHandleOp(dtype=value.dtype, shape=value.shape, shared_name=name, name=name)
    return handle, raw.AssignVariableOp(resource=handle, value=value)


# Every function builds one graph and returns (feeds, fetches, targets). All run in the default order of effects, so
# what a run writes and reads is ordered by control edges.


def sources():
    x = tf1.placeholder(tf.float32, [None, 3], name="x")
    raw.PlaceholderWithDefault(input=numbers(2), shape=[None], name="default")
    raw.PlaceholderWithDefault(input=numbers(2), shape=[None], name="fed")
    tf.identity(x, name="identity")
    raw.IdentityN(input=[x, tf.constant([1, 2]), tf.constant([b"s"])], name="identity_n")
    raw.StopGradient(input=x, name="stop")
    raw.ZerosLike(x=x, name="zeros")
    raw.OnesLike(x=tf.constant([[1, 2]], tf.int64), name="ones")
    raw.Fill(dims=[2, 3], value=2.5, name="fill")
    raw.Shape(input=x, out_type=tf.int64, name="shape")
    raw.Rank(input=x, name="rank")
    raw.Size(input=x, name="size")
    raw.Reshape(tensor=x, shape=[3, -1], name="reshape")
    fetches = [
        "default",
        "fed",
        "identity",
        "identity_n:0",
        "identity_n:1",
        "identity_n:2",
        "stop",
        "zeros",
        "ones",
        "fill",
        "shape",
        "rank",
        "size",
        "reshape",
    ]
    return {"x": numbers(4, 3), "fed:0": numbers(5, seed=1)}, fetches, []


def constants():
    """Every way in which a TensorProto holds its elements."""
    for dtype in (
        tf.float32,
        tf.float64,
        tf.float16,
        tf.int8,
        tf.int16,
        tf.int32,
        tf.int64,
        tf.uint8,
        tf.uint16,
        tf.uint32,
        tf.uint64,
        tf.complex64,
        tf.complex128,
    ):
        tf.constant([1, 2, 3], dtype, name=f"{dtype.name}_content")
        tf.constant(5, dtype, name=f"{dtype.name}_scalar")
        tf.constant(7, dtype, [2, 3], name=f"{dtype.name}_repeated")
        tf.constant([], dtype, [0, 4], name=f"{dtype.name}_empty")
    tf.constant([True, False, True], name="bool_content")
    tf.constant(True, shape=[2, 2], name="bool_repeated")
    tf.constant([b"a", b"", b"\x01\xfe", "\u00e9".encode()], name="string_content")
    tf.constant("again", shape=[3], name="string_repeated")
    tf.cast(tf.constant([1.5, -2.25], tf.bfloat16, name="bfloat16_content"), tf.float32, name="bfloat16")
    names = [node.name for node in tf1.get_default_graph().get_operations() if node.name != "bfloat16_content"]
    return {}, names, []


def short_constants():
    """Fewer values than elements: the last one is repeated."""
    graph = tf1.get_default_graph()
    for dtype, field, values, shape in (
        (tf.float32, "float_val", [1, 2], [4]),
        (tf.int64, "int64_val", [3], [2, 2]),
        (tf.int32, "int_val", [], [3]),
        (tf.bool, "bool_val", [False, True], [4]),
        (tf.string, "string_val", [b"a", b"b"], [3]),
    ):
        proto = tensor_pb2.TensorProto(
            dtype=dtype.as_datatype_enum, tensor_shape=tf.TensorShape(shape).as_proto(), **{field: values}
        )
        graph.create_op(
            "Const",
            [],
            [dtype],
            name=dtype.name,
            attrs={"dtype": tf1.AttrValue(type=dtype.as_datatype_enum), "value": tf1.AttrValue(tensor=proto)},
        )
    return {}, ["float32", "int64", "int32", "bool", "string"], []


def arithmetic():
    x, y = tf1.placeholder(tf.float32, [None, 3], name="x"), tf1.placeholder(tf.float32, [3], name="y")
    fetches = []
    for op in (
        "AddV2",
        "Add",
        "Sub",
        "Mul",
        "RealDiv",
        "Div",
        "FloorDiv",
        "FloorMod",
        "Maximum",
        "Minimum",
        "SquaredDifference",
    ):
        getattr(raw, op)(x=x, y=y, name=op)
        fetches.append(op)
    for op in ("Neg", "Abs", "Sign", "Square", "Exp", "Expm1", "Sin", "Cos", "Tanh", "Sigmoid", "Reciprocal"):
        getattr(raw, op)(x=x, name=op)
        fetches.append(op)
    for op in ("Sqrt", "Rsqrt", "Log", "Log1p"):
        getattr(raw, op)(x=tf.abs(x), name=op)
        fetches.append(op)
    raw.Pow(x=tf.abs(x), y=y, name="Pow")
    raw.Relu(features=x, name="Relu")
    raw.AddN(inputs=[x, x, tf.ones_like(x)], name="AddN")
    return {"x": numbers(4, 3), "y": numbers(3, seed=1)}, fetches + ["Pow", "Relu", "AddN"], []


def integers():
    x = tf1.placeholder(tf.int32, [None], name="x")
    y = tf1.placeholder(tf.int64, [], name="y")
    for op in ("AddV2", "Sub", "Mul", "FloorDiv", "FloorMod", "Maximum"):
        getattr(raw, op)(x=tf.cast(x, tf.int64), y=y, name=op)
    raw.Neg(x=x, name="Neg")
    raw.Square(x=x, name="Square")
    raw.Abs(x=x, name="Abs")
    names = ["AddV2", "Sub", "Mul", "FloorDiv", "FloorMod", "Maximum", "Neg", "Square", "Abs"]
    return {"x": np.array([-7, 0, 3, 2**31 - 1], I4), "y": I8(-3)}, names, []


def comparisons():
    x, y = tf1.placeholder(tf.float64, [2, 2], name="x"), tf1.placeholder(tf.float64, [], name="y")
    names = ["Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"]
    results = [getattr(raw, op)(x=x, y=y, name=op) for op in names]
    raw.LogicalAnd(x=results[1], y=results[2], name="and")
    raw.LogicalOr(x=results[0], y=results[4], name="or")
    raw.LogicalNot(x=results[5], name="not")
    raw.SelectV2(condition=results[2], t=x, e=y, name="select")
    raw.All(input=results[1], axis=[0], name="all")
    raw.Any(input=results[0], axis=[0, 1], keep_dims=True, name="any")
    return {"x": np.array([[1, 2], [3, np.nan]]), "y": F8(2)}, names + ["and", "or", "not", "select", "all", "any"], []


def neural():
    x = tf1.placeholder(tf.float32, [None, 8], name="x")
    labels = tf1.placeholder(tf.int64, [None], name="labels")
    hidden = tf.nn.relu(raw.BiasAdd(value=tf.matmul(x, numbers(8, 6)), bias=numbers(6)), name="hidden")
    logits = raw.BiasAdd(
        value=tf.matmul(hidden, numbers(5, 6, seed=1), transpose_b=True), bias=numbers(5, seed=2), name="logits"
    )
    raw.Softmax(logits=logits, name="softmax")
    raw.LogSoftmax(logits=logits, name="log_softmax")
    raw.SparseSoftmaxCrossEntropyWithLogits(features=logits, labels=labels, name="sparse")
    raw.SoftmaxCrossEntropyWithLogits(features=logits, labels=tf.one_hot(labels, 5), name="dense")
    raw.L2Loss(t=hidden, name="l2")
    raw.ArgMax(input=logits, dimension=-1, output_type=tf.int32, name="label")
    raw.BatchMatMulV2(x=tf.reshape(x, [-1, 2, 4]), y=numbers(1, 4, 3), name="batched")
    feeds = {"x": numbers(7, 8, seed=3), "labels": np.array([0, 1, 2, 3, 4, 0, 1], I8)}
    return (
        feeds,
        [
            "hidden",
            "logits",
            "softmax",
            "log_softmax",
            "sparse:0",
            "sparse:1",
            "dense:0",
            "dense:1",
            "l2",
            "label",
            "batched",
        ],
        [],
    )


def large_products():
    """Large enough that a fast path is taken."""
    x = tf1.placeholder(tf.float32, [None, 130], name="x")
    hidden = tf.nn.sigmoid(tf.nn.bias_add(tf.matmul(x, numbers(130, 70)), numbers(70)), name="hidden")
    tf.matmul(hidden, hidden, transpose_a=True, name="gram")
    tf.reduce_sum(tf.square(x), [1], name="norms")
    return {"x": numbers(65, 130, seed=1) / 8}, ["hidden", "gram", "norms"], []


def stateful_random():
    raw.RandomUniform(shape=[7], seed=7, seed2=11, dtype=tf.float32, name="uniform4")
    raw.RandomUniform(shape=[2, 3], seed=-1, seed2=3, dtype=tf.float64, name="uniform8")
    raw.RandomStandardNormal(shape=[3, 3], seed=7, seed2=11, dtype=tf.float32, name="normal4")
    raw.RandomStandardNormal(shape=[5], seed=0, seed2=2**40, dtype=tf.float64, name="normal8")
    return {}, ["uniform4", "uniform8", "normal4", "normal8"], []


def stateless_random():
    seed = tf1.placeholder(tf.int32, [2], name="seed")
    shape = tf1.placeholder(tf.int32, [None], name="shape")
    key, counter = raw.StatelessRandomGetKeyCounter(seed=seed, name="start")
    for dtype in (tf.float32, tf.float64):
        raw.StatelessRandomUniformV2(shape=shape, key=key, counter=counter, alg=1, dtype=dtype, name=f"u_{dtype.name}")
        raw.StatelessRandomNormalV2(shape=shape, key=key, counter=counter, alg=1, dtype=dtype, name=f"n_{dtype.name}")
    return (
        {"seed": np.array([3, -4], I4), "shape": np.array([3, 5], I4)},
        ["start:0", "start:1", "u_float32", "u_float64", "n_float32", "n_float64"],
        [],
    )


def variables():
    handle, _ = variable("v", numbers(2, 2))
    other, assign_other = variable("other", I8(1))
    before = raw.VarIsInitializedOp(resource=handle, name="before")
    with tf.control_dependencies([before]):
        # Made here: the control input must be the assignment's own, or nothing orders the two.
        assigned = tf.group(raw.AssignVariableOp(resource=handle, value=numbers(2, 2)), assign_other)
    with tf.control_dependencies([assigned]):
        raw.VarIsInitializedOp(resource=handle, name="after")
        first = raw.ReadVariableOp(resource=handle, dtype=tf.float32, name="first")
    with tf.control_dependencies([first]):
        add = raw.AssignAddVariableOp(resource=handle, value=tf.ones([2, 2]))
        add_other = raw.AssignAddVariableOp(resource=other, value=tf.constant(41, tf.int64))
    with tf.control_dependencies([add]):
        subtract = raw.AssignSubVariableOp(resource=handle, value=first * 0.5)
    with tf.control_dependencies([subtract, add_other]):
        raw.ReadVariableOp(resource=handle, dtype=tf.float32, name="last")
        raw.ReadVariableOp(resource=other, dtype=tf.int64, name="other_last")
    return {}, ["before", "after", "first", "last", "other_last"], []


def optimizer_steps():
    handle, assign = variable("v", numbers(3))
    m, assign_m = variable("m", np.zeros(3, F4))
    v, assign_v = variable("second", np.zeros(3, F4))
    third, assign_third = variable("third", np.zeros(3, F4))
    last = tf.group(assign, assign_m, assign_v, assign_third)
    gradient = tf1.placeholder(tf.float32, [3], name="gradient")
    for step in (1, 2):
        with tf.control_dependencies([last]):
            last = raw.ResourceApplyAdam(
                var=handle,
                m=m,
                v=v,
                beta1_power=0.9**step,
                beta2_power=0.999**step,
                lr=0.1,
                beta1=0.9,
                beta2=0.999,
                epsilon=1e-8,
                grad=gradient,
                use_nesterov=step == 2,
            )
    with tf.control_dependencies([last]):
        last = raw.ResourceApplyGradientDescent(var=handle, alpha=0.5, delta=gradient)
    scaled = {"lr": 0.1, "momentum": 0.9, "grad": gradient}
    root = {**scaled, "rho": 0.9, "epsilon": 1e-7}
    for step, arguments in (
        (raw.ResourceApplyMomentum, {"accum": m, "use_nesterov": True, **scaled}),
        (raw.ResourceApplyKerasMomentum, {"accum": m, **scaled}),
        (raw.ResourceApplyRMSProp, {"ms": v, "mom": m, **root}),
        (raw.ResourceApplyCenteredRMSProp, {"mg": third, "ms": v, "mom": m, **root}),
        (raw.ResourceApplyAdagradV2, {"accum": v, "lr": 0.1, "epsilon": 1e-7, "grad": gradient}),
    ):
        with tf.control_dependencies([last]):
            last = step(var=handle, **arguments)
    with tf.control_dependencies([last]):
        for name, resource in (("value", handle), ("first_moment", m), ("second_moment", v)):
            raw.ReadVariableOp(resource=resource, dtype=tf.float32, name=name)
    return {"gradient": numbers(3, seed=5)}, ["value", "first_moment", "second_moment"], []


def targets():
    handle, assign = variable("v", F4(1))
    with tf.control_dependencies([assign]):
        add = raw.AssignAddVariableOp(resource=handle, value=2.0, name="add")
    with tf.control_dependencies([add]):
        tf.no_op(name="done")
        raw.ReadVariableOp(resource=handle, dtype=tf.float32, name="read")
    return {}, ["read"], ["done"]


def only_targets():
    handle, assign = variable("v", F4(1))
    tf.group(assign, name="init")
    return {}, [], ["init"]


def checks_and_prints():
    x = tf1.placeholder(tf.float32, [None], name="x")
    check = raw.Assert(condition=tf.reduce_all(x > 0), data=["x is not positive:", x], summarize=2)
    with tf.control_dependencies([check]):
        seen = raw.Print(input=x, data=[x, tf.shape(x)], message="x and its shape: ", name="seen")
    line = raw.PrintV2(input=tf.constant("a line"), output_stream="stderr")
    with tf.control_dependencies([line]):
        tf.identity(seen * 2.0, name="y")
    return {"x": np.array([1, 2, 3], F4)}, ["y"], []


def fed_in_the_middle():
    """A feed replaces a node's output, whatever the node is; a fed tensor can be fetched."""
    x = tf1.placeholder(tf.float32, [2], name="x")
    middle = tf.add(x, 1.0, name="middle")
    constant = tf.constant([1.0, 2.0], name="constant")
    tf.multiply(middle, constant, name="y")
    return {"middle": numbers(2), "constant:0": numbers(2, seed=1)}, ["y", "middle:0"], []


def devices():
    with tf.device("/job:localhost/replica:0/task:0/device:CPU:0"):
        x = tf1.placeholder(tf.float32, [3], name="x")
    with tf.device("/cpu:0"):
        y = x * 2.0
    with tf.device("/device:CPU:*"):
        z = y + 1.0
    tf.identity(z, name="z")
    return {"x": numbers(3)}, ["z"], []


def long_chain():
    x = tf1.placeholder(tf.float64, [2], name="x")
    y = x
    for step in range(1000):
        y = y * 1.001 if step % 2 else y - 0.001
    tf.identity(y, name="y")
    return {"x": numbers(2, dtype=F8)}, ["y"], []


def strings():
    index = tf1.placeholder(tf.int64, [None], name="index")
    text = tf1.placeholder(tf.string, [2], name="text")
    table = tf.concat([text, tf.constant([b"\x00x", "\u00fc".encode()])], 0, name="table")
    picked = tf.gather(table, index, name="picked")
    tf.reshape(tf.stack([picked, picked]), [-1], name="twice")
    raw.Equal(x=text, y=tf.constant(b"one"), name="equal")
    return {"index": np.array([3, 0, 2], I8), "text": np.array([b"one", b"second"])}, ["table", "picked", "twice"], []


def shape_arithmetic():
    """Shapes known only at run time, computed by ops, used as inputs that shape outputs."""
    x = tf1.placeholder(tf.float32, name="x")
    shape = tf.shape(x)
    flat = tf.reshape(x, tf.concat([[shape[0]], [-1]], 0), name="flat")
    tf.fill(shape[1:], tf.constant(3, tf.int64), name="fill")
    tf.broadcast_to(tf.range(shape[-1]), shape, name="broadcast")
    tf.tile(flat, tf.stack([tf.size(shape) - 1, 1]), name="tile")
    tf.slice(flat, [0, 1], tf.stack([shape[0], -1]), name="slice")
    tf.transpose(x, tf.range(tf.rank(x))[::-1], name="transpose")
    tf.reduce_mean(x, tf.range(1, tf.rank(x)), name="mean")
    tf.pad(flat, tf.reshape(tf.range(4), [2, 2]), name="pad")
    return {"x": numbers(2, 3, 4)}, ["flat", "fill", "broadcast", "tile", "slice", "transpose", "mean", "pad"], []


def complex_numbers():
    """Values, and gradients, which multiply by conjugates."""
    feeds = {name: (numbers(2, 3, seed=seed) + 1j * numbers(2, 3, seed=seed + 1)).astype(np.complex64)
             for seed, name in ((1, "x"), (3, "y"))}
    x, y = (tf1.placeholder(tf.complex64, [2, 3], name) for name in feeds)
    fetches = []

    def fetch(tensor):
        fetches.append(tf.identity(tensor, name=f"result_{len(fetches)}").op.name)

    for op in (raw.Neg, raw.Square, raw.Sqrt, raw.Rsqrt, raw.Reciprocal, raw.Exp, raw.Expm1, raw.Log, raw.Log1p, raw.Sin,
               raw.Cos, raw.Tanh, raw.Sigmoid):
        fetch(op(x=x))
    fetch(raw.Conj(input=x))
    for op in (raw.AddV2, raw.Sub, raw.Mul, raw.RealDiv, raw.Div, raw.Pow, raw.SquaredDifference, raw.Equal):
        fetch(op(x=x, y=y))
    for op in (raw.Sum, raw.Mean, raw.Prod):
        fetch(op(input=x, axis=[1]))
    for gradient in tf.gradients(tf.exp(x) * tf.square(y) / x - tf.math.log(y), [x, y], grad_ys=tf.sin(y)):
        fetch(gradient)
    return feeds, fetches, []


BUILDERS = [
    sources,
    constants,
    short_constants,
    arithmetic,
    integers,
    comparisons,
    neural,
    large_products,
    stateful_random,
    stateless_random,
    variables,
    optimizer_steps,
    targets,
    only_targets,
    checks_and_prints,
    fed_in_the_middle,
    devices,
    long_chain,
    strings,
    shape_arithmetic,
    complex_numbers,
]
TEXT = [sources, constants, strings, stateless_random]  # saved as .pbtxt as well


def build(builder):
    """(GraphDef, feeds, fetches, targets)."""
    graph = tf.Graph()
    with graph.as_default():
        feeds, fetches, targets = builder()
    return graph.as_graph_def(), feeds, fetches, targets


class Graphs(unittest.TestCase):
    def check_graph(self, builder):
        definition, feeds, fetches, targets = build(builder)
        expected = support.run_graph_def(definition, feeds, fetches, targets)
        if not support.PANTO:
            self.skipTest("the environment variable PANTO does not name the panto command")
        for suffix in (".pb", ".pbtxt") if builder in TEXT else (".pb",):
            with support.saved(definition, suffix) as path:
                for options in ([], ["--optimize", "off"]):
                    results = support.panto_run(path, feeds, fetches, targets, options)
                    self.assertEqual(sorted(results), sorted(fetches))
                    for name in fetches:
                        support.assert_same(self, results[name], expected[name], name)


for _builder in BUILDERS:
    setattr(Graphs, f"test_{_builder.__name__}", lambda self, builder=_builder: self.check_graph(builder))


class Coverage(unittest.TestCase):
    def test_every_op_occurs(self):
        """In a graph here, or among the stored calls and graphs that the other tests replay."""
        seen = {node.op for builder in BUILDERS for node in build(builder)[0].node}
        for name in ("ops", "random"):
            document = json.loads((support.REFERENCE / "values" / f"{name}.json").read_text())
            seen |= {case["op"] for case in document["cases"]}
        for path in (support.REFERENCE / "graphs").glob("*.pb*"):
            seen |= {node.op for node in support.read_graph_def(path).node}
        self.assertEqual(sorted(set(OPS) - seen), [])

    def test_nothing_else_occurs(self):
        for builder in BUILDERS:
            others = {node.op for node in build(builder)[0].node} - set(OPS)
            self.assertEqual(sorted(others), [], builder.__name__)


@support.needs_panto
class Command(unittest.TestCase):
    """What is fetched and run when nothing is said, and how bad requests end."""

    def run_saved(self, builder, **keywords):
        definition, feeds, _, _ = build(builder)
        with support.saved(definition) as path:
            return support.panto_run(path, feeds, **keywords)

    def test_everything_that_nobody_consumes_is_fetched(self):
        definition, feeds, _, _ = build(comparisons)
        consumed = {name.split(":")[0] for node in definition.node for name in node.input}
        open_ends = sorted(node.name for node in definition.node if node.name not in consumed)
        results = self.run_saved(comparisons)
        self.assertEqual(sorted(name.removesuffix(":0") for name in results), open_ends)
        expected = support.run_graph_def(definition, feeds, open_ends)
        for name, value in results.items():
            support.assert_same(self, value, expected[name.removesuffix(":0")], name)

    def fails(self, definition, code, words, fetch, feeds=None):
        with support.saved(definition) as path:
            arguments = ["run", path, "--fetch", fetch]
            if feeds:
                np.savez(path.with_name("feeds.npz"), **feeds)
                arguments += ["--feeds", path.with_name("feeds.npz")]
            message = support.panto_fails(*arguments)
        self.assertTrue(message.startswith(f"error: {code}: "), message)
        for word in words:
            self.assertIn(word, message)

    def test_failed_assertion(self):
        definition, _, _, _ = build(checks_and_prints)
        self.fails(definition, "InvalidArgument", ["x is not positive"], "y", {"x": np.array([1, -2], F4)})

    def test_variable_read_too_early(self):
        graph = tf.Graph()
        with graph.as_default():
            handle, _ = variable("early", F4(1))
            raw.ReadVariableOp(resource=handle, dtype=tf.float32, name="read")
        self.fails(graph.as_graph_def(), "FailedPrecondition", ["early"], "read")

    def test_missing_feed(self):
        self.fails(build(arithmetic)[0], "InvalidArgument", ["x"], "Neg")

    def test_wrong_feed_shape(self):
        self.fails(build(arithmetic)[0], "InvalidArgument", ["x"], "Neg", {"x": numbers(2, 4)})

    def test_unknown_fetch(self):
        self.fails(build(targets)[0], "NotFound", ["nowhere"], "nowhere")

    def test_op_that_is_not_here(self):
        graph = tf.Graph()
        with graph.as_default():
            raw.CollectiveReduce(input=np.ones((2, 3), F4), group_size=1, group_key=1, instance_key=1, merge_op="Add",
                                 final_op="Id", subdiv_offsets=[0], name="reduced")
        self.fails(graph.as_graph_def(), "Unimplemented", ["CollectiveReduce"], "reduced")


if __name__ == "__main__":
    support.main()
