"""Old graphs: reference variables trained for several steps, ops that TensorFlow itself no longer makes, and graphs of
which only a part can run here. (tests/reference/graphs.py has more of them, with several runs in one session.)"""

import unittest

import numpy as np
import support
import tensorflow as tf

tf1, raw = tf.compat.v1, tf.raw_ops
F4 = np.float32


def numbers(*shape, seed=0):
    return np.random.Generator(np.random.PCG64(seed)).uniform(-1, 1, shape).astype(F4)


def unrolled(optimizer, steps):
    """(GraphDef, fetches): a regression by reference variables, made and trained for `steps` steps in one run."""
    graph = tf.Graph()
    with graph.as_default():
        x, y = tf.constant(numbers(20, 3)), tf.constant(numbers(20, seed=1))
        w = tf1.Variable(numbers(3, seed=2), use_resource=False, name="w")
        b = tf1.Variable(F4(0), use_resource=False, name="b")

        rule = optimizer()
        fetches, before, losses = [], [w.initializer, b.initializer], []
        for step in range(steps):
            with tf.control_dependencies(before):
                weights, bias = w.read_value(), b.read_value()
                error = tf.linalg.matvec(x, weights) + bias - y
                losses.append(tf.reduce_mean(tf.square(error), name=f"loss_{step}"))
                found = tf.gradients(losses[-1], [weights, bias])
            with tf.control_dependencies([losses[-1], *found]):
                update = rule.apply_gradients(zip(found, [w, b]), name=f"step_{step}")
            before = [update]
            fetches.append(f"loss_{step}")
        with tf.control_dependencies(before):
            tf.identity(w.read_value(), name="w_at_the_end")
            tf.identity(b.read_value(), name="b_at_the_end")
    return graph.as_graph_def(), [*fetches, "w_at_the_end", "b_at_the_end"]


@support.needs_panto
class Imports(unittest.TestCase):
    def compare(self, definition, feeds, fetches):
        expected = support.run_graph_def(definition, feeds, fetches)
        with support.saved(definition) as path:
            for options in ([], ["--optimize", "off"]):
                results = support.panto_run(path, feeds, fetches, options=options)
                for name in fetches:
                    support.assert_same(self, results[name], expected[name], name)

    def test_gradient_descent_by_reference_variables(self):
        definition, fetches = unrolled(lambda: tf1.train.GradientDescentOptimizer(0.25), 6)
        self.assertIn("ApplyGradientDescent", {node.op for node in definition.node})
        self.assertNotIn("VarHandleOp", {node.op for node in definition.node})
        self.compare(definition, {}, fetches)

    def test_updates_in_a_chain(self):
        graph = tf.Graph()
        with graph.as_default():
            v = raw.VariableV2(shape=[2], dtype=tf.float32, name="v")
            first = raw.Assign(ref=v, value=[1.0, 2.0], name="first")
            second = raw.AssignAdd(ref=first, value=[10.0, 20.0], name="second")
            third = raw.AssignSub(ref=second, value=[0.5, 0.5], name="third")
            raw.Neg(x=third, name="negative")
            with tf.control_dependencies([third.op]):
                raw.Mul(x=v, y=v, name="square")
            raw.Identity(input=raw.ScatterUpdate(ref=third, indices=[1], updates=[7.0]), name="scattered")
        definition = graph.as_graph_def()
        for fetches in (["negative"], ["square"], ["third"], ["scattered"]):
            self.compare(definition, {}, fetches)

    def test_ops_that_are_no_longer_made(self):
        """They are in graphs of old writers only, which say so by their version."""
        graph = tf.Graph()
        with graph.as_default():
            x = tf1.placeholder(tf.float32, [2, 3, 4, 5], name="x")
            for name in ("m", "v", "beta", "gamma"):
                tf1.placeholder(tf.float32, [5], name=name)
        definition = graph.as_graph_def()
        definition.versions.producer = 6
        definition.versions.min_consumer = 0
        for scaled in (True, False):
            norm = definition.node.add(
                name=f"norm_{scaled}",
                op="BatchNormWithGlobalNormalization",
                input=["x", "m", "v", "beta", "gamma"],
            )
            norm.attr["T"].type = tf.float32.as_datatype_enum
            norm.attr["variance_epsilon"].f = 0.01
            norm.attr["scale_after_normalization"].b = scaled
        feeds = {name: numbers(5, seed=seed) for seed, name in enumerate(("m", "beta", "gamma"))}
        feeds |= {"x": numbers(2, 3, 4, 5), "v": np.abs(numbers(5, seed=9))}
        self.compare(definition, feeds, ["norm_True", "norm_False"])
        # TensorFlow's kernel for TopK cannot be found any more; TopKV2 is the same with another form of `k`.
        top = definition.node.add(name="top", op="TopK", input=["x"])
        top.attr["T"].type, top.attr["k"].i = tf.float32.as_datatype_enum, 3
        values, indices = tf.math.top_k(feeds["x"], 3)
        with support.saved(definition) as path:
            results = support.panto_run(path, feeds, ["top", "top:1"])
        support.assert_same(self, results["top"], values, "top")
        support.assert_same(self, results["top:1"], indices, "top:1")

    def test_a_part_of_a_graph(self):
        graph = tf.Graph()
        with graph.as_default():
            x = tf1.placeholder(tf.float32, [2, 2], name="x")
            reduced = raw.CollectiveReduce(input=x, group_size=1, group_key=1, instance_key=1, merge_op="Add", final_op="Id",
                                            subdiv_offsets=[0], name="reduced")
            tf.add(reduced, 1.0, name="more")
            tf.square(x, name="square")
        definition, x = graph.as_graph_def(), numbers(2, 2)
        self.compare(definition, {"x": x}, ["square"])
        self.compare(definition, {"reduced": numbers(2, 2)}, ["more"])
        with support.saved(definition) as path:
            np.save(path.with_name("x.npy"), x)
            message = support.panto_fails("run", path, "--feed", f"x={path.with_name('x.npy')}", "--fetch", "more")
        self.assertTrue(message.startswith("error: Unimplemented: "), message)
        for word in ("'CollectiveReduce'", "node 'reduced'"):
            self.assertIn(word, message)


if __name__ == "__main__":
    support.main()
