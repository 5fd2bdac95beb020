"""What TensorFlow 1's sessions tell of a run and keep between runs, next to what Pantograph does."""

import json
import pathlib
import re
import tempfile
import unittest

import numpy as np
import support
import tensorflow as tf

v1 = tf.compat.v1
raw = tf.raw_ops

# Of TensorFlow's runtime, or there before the run.
NOT_COUNTED = {"_SOURCE", "_SINK", "NoOp", "Const", "_Arg", "_Retval", "_Send", "_Recv", "_HostSend", "_HostRecv"}


def model():
    x = v1.placeholder(tf.float32, [None, 3], name="x")
    k = tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2), name="k")
    y = tf.tanh(tf.matmul(x, k, name="product"), name="y")
    tf.reduce_sum(y, axis=[0], name="total")
    tf.nn.top_k(y, 1, name="best")


def loop():
    n = v1.placeholder(tf.int32, [], name="x")
    v1.disable_control_flow_v2()
    _, total = v1.while_loop(lambda i, t: i < n, lambda i, t: (i + 1, t * 2.0), (0, tf.constant([1.0, 2.0])))
    tf.identity(total, name="total")


def timeline_of_tensorflow(definition, feeds, fetches):
    """[(op, bytes of what it made)] of all executions, by node name."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
        config = v1.ConfigProto(graph_options=v1.GraphOptions(
            rewrite_options={"disable_meta_optimizer": True},
            optimizer_options=v1.OptimizerOptions(opt_level=v1.OptimizerOptions.L0)))
        with v1.Session(graph=graph, config=config) as session:
            metadata = v1.RunMetadata()
            options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
            session.run([f"{name}:0" for name in fetches], {f"{k}:0": v for k, v in feeds.items()},
                        options=options, run_metadata=metadata)
    ops = {node.name: node.op for node in definition.node}
    runs = {}
    for device in metadata.step_stats.dev_stats:
        for node in device.node_stats:
            if ops.get(node.node_name, "_SOURCE") in NOT_COUNTED or ops[node.node_name] == "Placeholder":
                continue
            made = 0
            for output in node.output:
                description = output.tensor_description
                elements = np.prod([d.size for d in description.shape.dim], dtype=np.int64)
                made += int(elements) * tf.dtypes.as_dtype(description.dtype).size
            runs.setdefault(node.node_name, []).append((ops[node.node_name], made))
    return runs


def timeline_of_panto(path, feeds, fetches):
    with tempfile.TemporaryDirectory() as folder:
        profile = pathlib.Path(folder) / "t.json"
        support.panto_run(path, feeds, fetches, options=["--optimize", "off", "--profile", profile])
        events = json.loads(profile.read_text())["traceEvents"]
    runs = {}
    for event in events:
        if event["ph"] == "X" and event["args"]["op"] not in NOT_COUNTED:
            made = sum(int(np.prod([int(d) for d in dims.split(",") if d], dtype=np.int64)) * tf.dtypes.as_dtype(dtype).size
                       for dtype, dims in re.findall(r"(\w+)\[([\d,]*)\]", event["args"]["outputs"]))
            runs.setdefault(event["args"]["name"], []).append((event["args"]["op"], made))
    return runs


@support.needs_panto
class Sessions(unittest.TestCase):
    def definition(self, function):
        with tf.Graph().as_default() as graph:
            function()
        return graph.as_graph_def()

    def test_the_timeline_has_the_same_nodes(self):
        definition = self.definition(model)
        feeds, fetches = {"x": np.ones((4, 3), np.float32)}, ["total", "best"]
        expected = timeline_of_tensorflow(definition, feeds, fetches)
        with support.saved(definition) as path:
            actual = timeline_of_panto(path, feeds, fetches)
        self.assertEqual(set(expected), {"product", "y", "total", "best"})
        self.assertEqual(actual, expected)

    def test_the_timeline_has_the_same_rounds(self):
        definition = self.definition(loop)
        feeds, fetches = {"x": np.array(3, np.int32)}, ["total"]
        expected = timeline_of_tensorflow(definition, feeds, fetches)
        with support.saved(definition) as path:
            actual = timeline_of_panto(path, feeds, fetches)
        # TensorFlow does not tell of what is dead, nor always of nodes that only hand on.
        computed = {name for name, runs in expected.items() if runs[0][0] in ("Mul", "AddV2", "Less", "LoopCond")}
        self.assertGreater(len(computed), 2)
        for name in computed:
            self.assertEqual(len(actual[name]), len(expected[name]), name)

    def test_handles(self):
        def kept():
            x = v1.placeholder(tf.float32, [2], name="x")
            raw.GetSessionHandle(value=x * 2.0, name="keep")

        definition = self.definition(kept)
        feeds = {"x": np.array([1, 2], np.float32)}
        expected = support.run_graph_def(definition, feeds, ["keep"])["keep"].item().decode()
        with support.saved(definition) as path:
            actual = support.panto_run(path, feeds, ["keep"])["keep"].item().decode()
        self.assertEqual(expected.split(";")[:2], ["keep", "0"])
        self.assertEqual(actual.split(";")[:2], ["keep", "0"])
        self.assertTrue(expected.endswith(actual.split(";")[2]))  # TensorFlow names the job before the device

    def test_counting(self):
        def counts():
            n = raw.VariableV2(shape=[], dtype=tf.int32, name="n")
            with tf.control_dependencies([raw.Assign(ref=n, value=tf.constant(5))]):
                first = raw.CountUpTo(ref=n, limit=7)
            with tf.control_dependencies([first]):
                second = raw.CountUpTo(ref=n, limit=7)
            tf.stack([first, second], name="y")

        definition = self.definition(counts)
        expected = support.run_graph_def(definition, {}, ["y"])
        np.testing.assert_array_equal(expected["y"], [5, 6])
        with support.saved(definition) as path:
            actual = support.panto_run(path, {}, ["y"])
        support.assert_same(self, actual["y"], expected["y"], "y")


if __name__ == "__main__":
    support.main()
