"""Ops of TensorFlow's graphs that tf.function no longer writes: run in TensorFlow and by `panto run`, and compared."""

import sys
import unittest

import numpy as np
import support
import tensorflow as tf

sys.path[:0] = support.CASES

from cases import made_by

tf1, raw = tf.compat.v1, tf.raw_ops


@support.needs_panto
class OldOps(unittest.TestCase):
    def same(self, graph, feeds, fetches):
        definition = graph.as_graph_def()
        expected = support.run_graph_def(definition, feeds, fetches)
        for suffix in (".pb", ".pbtxt"):
            with support.saved(definition, suffix) as path:
                for options in ([], ["--optimize", "off"]):
                    actual = support.panto_run(path, feeds, fetches, options=options)
                    for name in fetches:
                        support.assert_same(self, actual[name], expected[name], name)
        return definition

    def test_for(self):
        @tf.function(input_signature=[tf.TensorSpec([], t) for t in (tf.int32, tf.float32, tf.int32)])
        def body(i, x, n):
            return x * 2.0 + tf.cast(i, tf.float32), n + 1

        function = body.get_concrete_function()
        graph = tf.Graph()
        with graph.as_default():
            start, limit, delta = (tf1.placeholder(tf.int32, [], name=name) for name in ("start", "limit", "delta"))
            function.add_to_graph(graph)
            results = raw.For(start=start, limit=limit, delta=delta, input=[1.0, 10], body=function)
            fetches = [tf.identity(t, name=f"out_{k}").op.name for k, t in enumerate(results)]
        for numbers in [(0, 3, 1), (3, 0, -1), (0, 5, 2), (5, 0, -2), (2, 2, 0), (2, 2, 1)]:
            self.same(graph, dict(zip(("start", "limit", "delta"), map(np.int32, numbers))), fetches)
        for numbers in [(0, 3, -1), (3, 0, 1), (0, 3, 0), (3, 0, 0)]:
            feeds = dict(zip(("start", "limit", "delta"), map(np.int32, numbers)))
            with self.assertRaises(tf.errors.InvalidArgumentError):
                support.run_graph_def(graph.as_graph_def(), feeds, fetches)
            with support.saved(graph.as_graph_def()) as path, self.assertRaises(support.PantoFailed) as failed:
                support.panto_run(path, feeds, fetches)
            self.assertIn("InvalidArgument", str(failed.exception))

    def test_summaries(self):
        sound = np.sin(np.arange(40, dtype=np.float32)).reshape(2, 20)
        graph = tf.Graph()
        with graph.as_default():
            raw.AudioSummaryV2(tag="a", tensor=sound, sample_rate=8000.0, max_outputs=1, name="y")
            raw.AudioSummaryV2(tag="a", tensor=sound[:, :, None], sample_rate=44100.0, name="z")
        definition = graph.as_graph_def()
        expected = support.run_graph_def(definition, {}, ["y", "z"])
        # TensorFlow no longer has the first version, whose rate is an attribute.
        for node in definition.node:
            if node.op == "AudioSummaryV2":
                node.op = "AudioSummary"
                node.attr["sample_rate"].f = 8000 if node.name == "y" else 44100
                del node.input[2]
        with support.saved(definition) as path:
            actual = support.panto_run(path, {}, ["y", "z"])
        for name in ("y", "z"):
            support.assert_same(self, actual[name], expected[name], name)
        # A file may leave out attributes that have their defaults; a colour for what is not finite is one.
        graph = tf.Graph()
        with graph.as_default():
            raw.ImageSummary(tag="i", tensor=np.float32([[[[np.nan], [1]], [[2], [0.5]]]]), name="y")
        definition = graph.as_graph_def()
        with support.saved(definition) as path:
            expected = support.panto_run(path, {}, ["y"])["y"]
        (node,) = [node for node in definition.node if node.op == "ImageSummary"]
        self.assertEqual(tf.make_ndarray(node.attr["bad_color"].tensor).tolist(), [255, 0, 0, 255])
        del node.attr["bad_color"]
        with support.saved(definition) as path:
            self.assertEqual(support.panto_run(path, {}, ["y"])["y"], expected)

    def test_to_bool(self):
        for value in (2.0, 0.0, [], [0.0], np.int64(0), np.uint8(7), True, "", "a", ["", ""]):
            graph = tf.Graph()
            with graph.as_default():
                raw.ToBool(input=tf.constant(value), name="y")
            self.same(graph, {}, ["y"])

    def test_audio_summary(self):
        graph = tf.Graph()
        with graph.as_default():
            made_by(14)
            clips = tf1.placeholder(tf.float32, [2, 5, 1], name="clips")
            raw.AudioSummary(tag="sound", tensor=clips, sample_rate=8000.0, max_outputs=2, name="y")
        clips = np.linspace(-1, 1, 10, dtype=np.float32).reshape(2, 5, 1)
        self.same(graph, {"clips": clips}, ["y"])

    def test_temporary_variables(self):
        graph = tf.Graph()
        with graph.as_default():
            x = tf1.placeholder(tf.float32, [2], name="x")
            total = raw.TemporaryVariable(shape=[2], dtype=tf.float32, var_name="total")
            step = tf1.assign(total, [1.0, 2.0])
            for _ in range(3):
                step = tf1.assign_add(step, x)
            tf.negative(raw.DestroyTemporaryVariable(ref=step, var_name="total"), name="y")
        self.same(graph, {"x": np.array([10, 0.5], np.float32)}, ["y"])

    def test_one_of_several_references(self):
        for index in (0, 1):
            graph = tf.Graph()
            with graph.as_default():
                v = [tf1.Variable([k + 1.0, 5.0], use_resource=False, name=f"v{k}") for k in range(2)]
                with tf.control_dependencies([tf1.global_variables_initializer()]):
                    chosen = raw.RefSelect(index=index, inputs=[one._variable for one in v])
                    tf.identity(tf1.assign_add(chosen, [10.0, 20.0]), name="y")
            self.same(graph, {}, ["y"])

    def test_gradient_arrays_of_more_dimensions(self):
        graph = tf.Graph()
        with graph.as_default():
            array = raw.TensorArrayV3(size=2, dtype=tf.float32, clear_after_read=False)
            flow = raw.TensorArrayWriteV3(handle=array.handle, index=0, value=[1.0, 2.0], flow_in=array.flow)
            grads = raw.TensorArrayGradWithShape(handle=array.handle, flow_in=flow, shape_to_prepend=[3], source="g")
            read = lambda flow: raw.TensorArrayReadV3(handle=grads[0], index=0, flow_in=flow, dtype=tf.float32)
            for value in (1.0, 10.0):
                flow = raw.TensorArrayWriteV3(handle=grads[0], index=0, value=tf.fill([3, 2], value), flow_in=flow + grads[1])
            tf.identity(read(flow), name="y")
        self.same(graph, {}, ["y"])


if __name__ == "__main__":
    support.main()
