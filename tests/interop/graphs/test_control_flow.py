"""TensorFlow 1's conditionals and loops, of Switch, Merge, Enter, Exit and NextIteration: our numbers are TensorFlow's."""

import os
import pathlib
import tempfile
import unittest

import numpy as np
import support
import tensorflow as tf

tf1, raw = tf.compat.v1, tf.raw_ops
F4, I4 = np.float32, np.int32

PRIMITIVES = {"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"}


def setUpModule():
    tf1.disable_control_flow_v2()


def tearDownModule():
    tf1.enable_control_flow_v2()


def numbers(*shape, dtype=F4, seed=0):
    return np.random.Generator(np.random.PCG64(seed)).uniform(-2, 2, shape).astype(dtype)


def scalar(dtype, name):
    return tf1.placeholder(dtype, [], name=name)


# Every function builds one graph and returns (a list of feeds, fetches).


def conditional():
    x, p = tf1.placeholder(tf.float32, [None], name="x"), scalar(tf.bool, "p")
    tf.identity(tf1.cond(p, lambda: tf.square(x) + 1.0, lambda: -x), name="y")
    a, b = tf1.cond(p, lambda: (x, tf.constant(7)), lambda: (x * 2.0, tf.size(x)))
    tf.identity(a, name="a")
    tf.identity(b, name="b")
    return [{"x": numbers(4), "p": np.array(value)} for value in (True, False)], ["y", "a", "b"]


def conditionals_in_conditionals():
    x, p, q = scalar(tf.int32, "x"), scalar(tf.bool, "p"), scalar(tf.bool, "q")
    inner = lambda: tf1.cond(q, lambda: x * 3, lambda: x - tf1.cond(tf.greater(x, 2), lambda: x, lambda: 100))
    tf.identity(tf1.cond(p, inner, lambda: tf.constant(-1)), name="y")
    feeds = [{"x": I4(x), "p": np.array(p), "q": np.array(q)} for x in (1, 5) for p in (0, 1) for q in (0, 1)]
    return [{name: value.astype(bool) if name != "x" else value for name, value in f.items()} for f in feeds], ["y"]


def case():
    x = scalar(tf.float32, "x")
    y = tf1.case([(x < 0.0, lambda: x * x), (x < 1.0, lambda: x + 10.0)], default=lambda: tf.exp(x), exclusive=False)
    tf.identity(y, name="y")
    return [{"x": F4(value)} for value in (-2, 0.5, 3)], ["y"]


def counting():
    n = scalar(tf.int32, "n")
    i, total = tf1.while_loop(lambda i, t: i < n, lambda i, t: (i + 1, t + i * i), [0, tf.constant(0)])
    tf.identity(i, name="i")
    tf.identity(total, name="total")
    return [{"n": I4(value)} for value in (0, 1, 10, 1000)], ["i", "total"]


def floats_in_parallel():
    n, x = scalar(tf.float32, "n"), tf1.placeholder(tf.float32, [3, 3], name="x")
    fetches = []
    for parallel in (1, 2, 10, 32):
        _, y = tf1.while_loop(
            lambda i, y: i < n,
            lambda i, y: (i + 1.0, tf.tanh(tf.matmul(y, x)) + i),
            [tf.constant(0.0), x],
            parallel_iterations=parallel,
        )
        fetches.append(tf.identity(y, name=f"y{parallel}").op.name)
    return [{"n": F4(value), "x": numbers(3, 3)} for value in (0, 7)], fetches


def loops_in_loops():
    n = scalar(tf.int32, "n")

    def outer(i, total):
        _, row = tf1.while_loop(lambda j, r: j < i, lambda j, r: (j + 1, r + tf.cast(i * j, tf.float32)), [0, total])
        return i + 1, row * 0.5

    _, total = tf1.while_loop(lambda i, t: i < n, outer, [0, tf.constant(1.0)])
    tf.identity(total, name="total")
    return [{"n": I4(value)} for value in (0, 1, 5, 20)], ["total"]


def branches_in_loops():
    n = scalar(tf.int32, "n")

    def body(i, x):
        even = tf.equal(i % 2, 0)
        return i + 1, tf1.cond(even, lambda: tf1.cond(x > 20, lambda: x - 20, lambda: x + i), lambda: x * 2)

    i, x = tf1.while_loop(lambda i, x: tf.logical_and(i < n, x < 1000), body, [0, tf.constant(3)])
    tf.identity(i, name="i")
    tf.identity(x, name="x")
    return [{"n": I4(value)} for value in (0, 1, 2, 17, 100)], ["i", "x"]


def loops_in_branches():
    p, x = scalar(tf.bool, "p"), scalar(tf.float32, "x")
    loop = lambda: tf1.while_loop(lambda y: y < 100.0, lambda y: y * 2.0 + 1.0, [x])
    y = tf1.cond(p, loop, lambda: -x)
    tf.identity(y, name="y")
    tf.identity(tf1.cond(p, lambda: tf.constant(1), lambda: tf.cast(loop(), tf.int32)), name="z")
    return [{"p": np.array(value), "x": F4(3)} for value in (True, False)], ["y", "z"]


def growing_shapes():
    x = tf1.placeholder(tf.int32, [1], name="x")
    y = tf1.while_loop(
        lambda y: tf.size(y) < 20,
        lambda y: tf.concat([y, y + 1], 0),
        [x],
        shape_invariants=[tf.TensorShape([None])],
    )
    tf.identity(y, name="y")
    tf.reduce_sum(y, name="sum")
    return [{"x": np.array([5], I4)}], ["y", "sum"]


def random_numbers():
    n = scalar(tf.int32, "n")
    _, y = tf1.while_loop(
        lambda i, y: i < n,
        lambda i, y: (i + 1, y * 0.5 + tf1.random_uniform([2, 3], seed=5)),
        [0, tf.zeros([2, 3])],
        parallel_iterations=1,
    )
    tf.identity(y, name="y")
    return [{"n": I4(5)}], ["y"]


def variables():
    handle = raw.VarHandleOp(dtype=tf.float32, shape=[], shared_name="v", name="v")
    with tf1.control_dependencies([raw.AssignVariableOp(resource=handle, value=tf.constant(1.0))]):
        start = tf.constant(0)

    def body(i):
        value = raw.ReadVariableOp(resource=handle, dtype=tf.float32)
        with tf1.control_dependencies([raw.AssignVariableOp(resource=handle, value=value * 3.0)]):
            return i + 1

    last = tf1.while_loop(lambda i: i < 4, body, [start], parallel_iterations=1)
    with tf1.control_dependencies([last]):
        raw.ReadVariableOp(resource=handle, dtype=tf.float32, name="y")
    return [{}], ["y"]


def mapped():
    """The elements of a vector one by one, by a loop that gathers and concatenates."""
    x = tf1.placeholder(tf.float32, [None, 2], name="x")
    _, y = tf1.while_loop(
        lambda i, y: i < tf.shape(x)[0],
        lambda i, y: (i + 1, tf.concat([y, tf.reduce_sum(tf.square(x[i]), keepdims=True)], 0)),
        [0, tf.zeros([0])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )
    tf.identity(y, name="y")
    return [{"x": numbers(5, 2)}, {"x": numbers(0, 2)}], ["y"]


def old_ops():
    """Ops that are made of others here, with constants of their own, in a loop and on a branch."""
    x, p = tf1.placeholder(tf.float32, [3], name="x"), scalar(tf.bool, "p")

    def body(i, y):
        y = raw.SqrtGrad(y=tf.square(y) + 1.0, dy=y) + raw.Gather(params=x, indices=[2, 0, 1])
        return i + 1, raw.Select(condition=y > 0.0, x=y, y=tf.nn.softplus(y))

    _, y = tf1.while_loop(lambda i, y: i < 3, body, [0, x])
    tf.identity(y, name="y")
    no, yes = raw.Switch(data=x, pred=p)
    z = raw.Merge(inputs=[raw.SqrtGrad(y=no, dy=no), raw.Gather(params=yes, indices=1)[None]]).output
    tf.identity(z, name="z")
    return [{"x": numbers(3), "p": np.array(value)} for value in (True, False)], ["y", "z"]


def gradient_of_a_conditional():
    x, p = tf1.placeholder(tf.float32, [2], name="x"), scalar(tf.bool, "p")
    y = tf1.cond(p, lambda: tf.square(x) * x, lambda: 2.0 * x)
    tf.identity(tf1.gradients(y, x)[0], name="dx")
    return [{"x": numbers(2), "p": np.array(value)} for value in (True, False)], ["dx"]


def loop_of_the_primitives():
    """As no function of TensorFlow writes it: an Exit in the middle of a round, a Merge's number, two invariants."""
    n = scalar(tf.float32, "n")
    enter = lambda value, constant=False: raw.Enter(
        data=value, frame_name="own", is_constant=constant, parallel_iterations=3
    )
    graph = tf1.get_default_graph()
    begin = enter(tf.constant(0.0))
    merge = raw.Merge(inputs=[begin, begin])
    go = raw.LoopCond(input=merge.output < enter(n, True))
    switch = raw.Switch(data=merge.output, pred=go)
    index = raw.Switch(data=merge.value_index, pred=go)
    following = raw.NextIteration(data=switch.output_true + enter(tf.constant(2.0), True))
    merge.output.op._update_input(1, following)
    raw.Exit(data=switch.output_false, name="y")
    raw.Exit(data=index.output_false, name="index")
    assert graph is merge.output.graph
    return [{"n": F4(value)} for value in (-1, 7)], ["y", "index"]


BUILDERS = [
    conditional,
    conditionals_in_conditionals,
    case,
    counting,
    floats_in_parallel,
    loops_in_loops,
    branches_in_loops,
    loops_in_branches,
    growing_shapes,
    random_numbers,
    variables,
    mapped,
    old_ops,
    gradient_of_a_conditional,
    loop_of_the_primitives,
]


# The same for graphs whose gradients by x are compared: of TensorFlow 1's arrays.


def arrays_mapped():
    x = tf1.placeholder(tf.float32, [None, 2], name="x")
    tf.identity(tf1.map_fn(lambda row: tf.tanh(row) * tf.reduce_sum(row), x), name="y")
    return [{"x": numbers(4, 2)}, {"x": numbers(1, 2)}], ["y"]


def arrays_scanned():
    x = tf1.placeholder(tf.float32, [None, 3], name="x")
    tf.identity(tf1.scan(lambda state, row: tf.sin(state * row) + row, x), name="y")
    tf.identity(tf1.foldl(lambda total, row: total * tf.cos(row), x), name="z")
    return [{"x": numbers(5, 3)}], ["y", "z"]


def arrays_by_hand():
    """Written in a loop, read in another one, gathered, scattered, split and concatenated."""
    x = tf1.placeholder(tf.float32, [4, 2], name="x")
    n = scalar(tf.int32, "n")
    array = tf.TensorArray(tf.float32, n, element_shape=[2], clear_after_read=False)
    _, array = tf1.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, x[i % 4] * tf.cast(i, tf.float32))), [0, array])
    _, total = tf1.while_loop(lambda i, t: i < n, lambda i, t: (i + 1, tf.tanh(t + array.read(i))), [0, tf.zeros([2])])
    tf.identity(total, name="total")
    tf.identity(tf.square(array.stack()), name="stacked")
    tf.identity(tf.cast(array.size(), tf.float32) * x, name="sized")
    pieces = tf.TensorArray(tf.float32, 2, infer_shape=False, clear_after_read=False).split(tf.exp(x), [3, 1])
    tf.identity(pieces.concat() * pieces.read(1), name="pieces")
    rows = tf.TensorArray(tf.float32, 4, element_shape=[2]).unstack(x)
    tf.identity(rows.gather([3, 0, 1]) * 2.0, name="gathered")
    return [{"x": numbers(4, 2), "n": I4(value)} for value in (6, 1)], ["total", "stacked", "sized", "pieces", "gathered"]


ARRAY_BUILDERS = [arrays_mapped, arrays_scanned, arrays_by_hand]


class ControlFlow(unittest.TestCase):
    def check(self, builder):
        graph = tf.Graph()
        with graph.as_default():
            runs, fetches = builder()
        definition = graph.as_graph_def()
        ops = {node.op for node in definition.node}
        self.assertTrue(ops & PRIMITIVES, "a graph of primitives")
        self.assertFalse(ops & {"If", "While", "StatelessIf", "StatelessWhile"})
        for feeds in runs:
            expected = support.run_graph_def(definition, feeds, fetches)
            if not support.PANTO:
                continue
            for suffix in (".pb", ".pbtxt"):
                with support.saved(definition, suffix) as path:
                    for options in ([], ["--optimize", "off"]):
                        results = support.panto_run(path, feeds, fetches, options=options)
                        for name in fetches:
                            support.assert_same(self, results[name], expected[name], f"{name} of {feeds}")

    @support.needs_panto
    def test_raised(self):
        """What `panto optimize --raise-loops` writes has While and If, of which TensorFlow gets the same numbers."""
        for builder in (conditional, conditionals_in_conditionals, counting):
            graph = tf.Graph()
            with graph.as_default():
                runs, fetches = builder()
            definition = graph.as_graph_def()
            with tempfile.TemporaryDirectory() as folder, support.saved(definition) as path:
                out = pathlib.Path(folder) / "out.pb"
                asked = [word for name in fetches for word in ("--fetch", name)]
                support.panto("optimize", path, out, "--raise-loops", *asked)
                raised = support.read_graph_def(out)
            self.assertFalse({node.op for node in raised.node} & PRIMITIVES, builder.__name__)
            for feeds in runs:
                expected = support.run_graph_def(definition, feeds, fetches)
                actual = support.run_graph_def(raised, feeds, fetches)
                for name in fetches:
                    support.assert_same(self, actual[name], expected[name], f"{name} of {builder.__name__}")

    @support.needs_panto
    def test_gradients_of_arrays(self):
        for builder in ARRAY_BUILDERS:
            with self.subTest(builder=builder.__name__):
                graph = tf.Graph()
                with graph.as_default():
                    runs, fetches = builder()
                    forward = graph.as_graph_def()
                    outputs = [graph.get_tensor_by_name(f"{name}:0") for name in fetches]
                    tf.identity(tf1.gradients([tf.reduce_sum(y) for y in outputs], graph.get_tensor_by_name("x:0"))[0], name="dx")
                whole = graph.as_graph_def()
                for feeds in runs:
                    expected = support.run_graph_def(whole, feeds, [*fetches, "dx"])
                    with support.saved(forward) as path:
                        got = support.panto_gradient(path, feeds, "x", fetches)
                        support.assert_same(self, got, expected["dx"], f"dx of {feeds}", rtol=1e-4, atol=1e-5)
                    if any(node.op == "DynamicStitch" for node in whole.node):
                        continue  # it is not here
                    with support.saved(whole) as path:
                        results = support.panto_run(path, feeds, [*fetches, "dx"])
                        for name in [*fetches, "dx"]:
                            support.assert_same(self, results[name], expected[name], name, rtol=1e-4, atol=1e-5)

    @support.needs_panto
    def test_dead_fetch(self):
        graph = tf.Graph()
        with graph.as_default():
            no, _ = raw.Switch(data=tf.constant(1.0), pred=tf.constant(True), name="switch")
            tf.negative(no, name="y")
        definition = graph.as_graph_def()
        with self.assertRaises(tf.errors.InvalidArgumentError):
            support.run_graph_def(definition, {}, ["y"])
        with support.saved(definition) as path:
            message = support.panto_fails("run", path, "--fetch", "y")
        self.assertTrue(message.startswith("error: InvalidArgument: fetch 'y': expected a value, got none"), message)


class RandomPrograms(unittest.TestCase):
    """Conditionals and loops in one another, as a random generator writes them."""

    COUNT = int(os.environ.get("PANTO_FLOW_PROGRAMS", "12"))

    def build(self, seed):
        random = np.random.Generator(np.random.PCG64(seed))
        pick = lambda *choices: choices[random.integers(len(choices))]
        x, y = tf1.placeholder(tf.float32, [2, 2], name="x"), tf1.placeholder(tf.float32, [2, 2], name="y")
        n, p = scalar(tf.int32, "n"), scalar(tf.bool, "p")

        def plain(values):
            a, b = pick(*values), pick(*values)
            return pick(
                lambda: a + b,
                lambda: tf.tanh(a),
                lambda: a * 0.5 - b,
                lambda: tf.matmul(a, tf.tanh(b)),
                lambda: tf.zeros_like(a),
                lambda: tf.constant([[0.5, -1.0], [2.0, 0.25]]),
                lambda: tf.transpose(a),
                lambda: tf.maximum(a, b) + tf.ones_like(b),
                lambda: tf.reshape(tf.reduce_sum(a), [1, 1]) + b,
            )()

        def decision(values):
            return pick(lambda: p, lambda: tf.reduce_sum(pick(*values)) > 0.0, lambda: tf.logical_not(p))()

        def expression(values, depth):
            values = list(values)
            for _ in range(random.integers(1, 4)):
                values.append(plain(values))
            for _ in range(random.integers(0, 3) if depth > 0 else 0):
                values.append(pick(branch, branch, loop)(values, depth - 1))
            values.append(plain(values[-3:]))
            return values[-1]

        def branch(values, depth):
            return tf1.cond(
                decision(values), lambda: expression(values, depth), lambda: pick(expression, lambda v, _: pick(*v))(values, depth)
            )

        def loop(values, depth):
            rounds = pick(n, tf.constant(2), tf.constant(1))
            outer = list(values)

            def body(i, a, b):
                inside = [a, b, pick(*outer), tf.fill([2, 2], tf.cast(i, tf.float32))]
                return i + 1, tf.tanh(expression(inside, depth)), pick(a, b, a * 0.5)

            begin = [tf.constant(0), pick(*values), pick(*values)]
            results = tf1.while_loop(lambda i, *_: i < rounds, body, begin, parallel_iterations=int(pick(1, 2, 10)))
            return pick(*results[1:])

        results = [expression([x, y], 3) for _ in range(2)] + [loop([x, y], 2)]
        fetches = [tf.identity(value, name=f"result{i}").op.name for i, value in enumerate(results)]
        feeds = [
            {"x": numbers(2, 2, seed=seed), "y": numbers(2, 2, seed=seed + 1), "n": I4(count), "p": np.array(p)}
            for count, p in ((0, True), (1, False), (3, True))
        ]
        placeholders = {node.name for node in tf1.get_default_graph().as_graph_def().node}
        return [{name: value for name, value in run.items() if name in placeholders} for run in feeds], fetches

    def run_plainly(self, graph, feeds, fetches):
        """In TensorFlow without its optimizer, which loses values of a few of these graphs."""
        config = tf1.ConfigProto()
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        config.graph_options.optimizer_options.opt_level = -1
        with tf1.Session(graph=graph, config=config) as session:
            values = session.run([f"{name}:0" for name in fetches], {f"{name}:0": feeds[name] for name in feeds})
        return dict(zip(fetches, map(np.asarray, values)))

    def test_random_programs(self):
        first = int(os.environ.get("PANTO_FLOW_SEED", "1"))
        for seed in range(first, first + self.COUNT):
            with self.subTest(seed=seed):
                graph = tf.Graph()
                with graph.as_default():
                    runs, fetches = self.build(seed)
                definition = graph.as_graph_def()
                for feeds in runs:
                    expected = self.run_plainly(graph, feeds, fetches)
                    if not support.PANTO:
                        continue
                    with support.saved(definition) as path:
                        for options in ([], ["--optimize", "off"]):
                            results = support.panto_run(path, feeds, fetches, options=options)
                            for name in fetches:
                                support.assert_same(self, results[name], expected[name], name, rtol=2e-5, atol=2e-5)

    @support.needs_panto
    def test_gradients(self):
        """Of the loops and conditionals by ours, and of TensorFlow's own gradients as a graph, which has loops with stacks."""
        first = int(os.environ.get("PANTO_FLOW_SEED", "1"))
        for seed in range(first, first + self.COUNT):
            with self.subTest(seed=seed):
                graph = tf.Graph()
                with graph.as_default():
                    runs, fetches = self.build(seed)
                    forward = graph.as_graph_def()
                    outputs = [graph.get_tensor_by_name(f"{name}:0") for name in fetches]
                    x = graph.get_tensor_by_name("x:0")
                    total = sum(map(tf.reduce_sum, outputs))
                    dx = tf1.gradients(total, x)[0]
                    if dx is None:
                        continue
                    tf.identity(dx, name="dx")
                    second = seed % 3 == 0 and not any(node.op == "Enter" for node in forward.node)
                    if second:  # TensorFlow has none of loops
                        ddx = tf1.gradients(tf.reduce_sum(tf.square(dx)), x)[0]
                        tf.identity(tf.zeros_like(x) if ddx is None else ddx, name="ddx")
                wanted = ["dx", "ddx"] if second else ["dx"]
                for feeds in runs:
                    expected = self.run_plainly(graph, feeds, wanted)
                    with support.saved(forward) as path:
                        for order, name in enumerate(wanted):
                            got = support.panto_gradient(path, feeds, "x", fetches, second=order == 1)
                            support.assert_same(self, got, expected[name], f"{name} of {feeds}", rtol=1e-3, atol=1e-3)
                    with support.saved(graph.as_graph_def()) as path:
                        for options in ([], ["--optimize", "off"]):
                            results = support.panto_run(path, feeds, ["dx"], options=options)
                            support.assert_same(self, results["dx"], expected["dx"], "dx", rtol=1e-3, atol=1e-3)

    @support.needs_panto
    def test_functions_for_tensorflow(self):
        """What we make of these graphs, While and If among it, is a function that TensorFlow calls."""
        first = int(os.environ.get("PANTO_FLOW_SEED", "1"))
        for seed in range(first, first + self.COUNT):
            with self.subTest(seed=seed):
                graph = tf.Graph()
                with graph.as_default():
                    runs, fetches = self.build(seed)
                definition = graph.as_graph_def()
                inputs = sorted(runs[0])
                with support.saved(definition) as path:
                    library = support.panto_function_library(path, "f", inputs, fetches)
                calling = tf1.GraphDef()
                calling.versions.CopyFrom(definition.versions)
                calling.library.ParseFromString(library)
                for node in definition.node:
                    if node.name in inputs:
                        calling.node.add().CopyFrom(node)
                calling.node.add(name="call", op="f", input=inputs)
                with tf.Graph().as_default() as caller:
                    tf1.import_graph_def(calling, name="")
                    for k, name in enumerate(fetches):
                        tf.identity(caller.get_tensor_by_name(f"call:{k}"), name=name)
                for feeds in runs:
                    expected = self.run_plainly(graph, feeds, fetches)
                    got = self.run_plainly(caller, feeds, fetches)
                    for name in fetches:
                        support.assert_same(self, got[name], expected[name], name, rtol=2e-5, atol=2e-5)


for _builder in BUILDERS:
    setattr(ControlFlow, f"test_{_builder.__name__}", lambda self, builder=_builder: self.check(builder))


if __name__ == "__main__":
    support.main()
