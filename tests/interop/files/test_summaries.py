"""Our event files and TensorFlow's: each reads what the other writes. TensorBoard's own reader, where it is installed."""

import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

import numpy as np
import support

RANDOM = np.random.default_rng(3)
ARRAYS = {
    "scalars": np.array([0.5, 0, -1e30, 3, np.inf], np.float32),
    "values": RANDOM.normal(size=(50, 20)),
    "images": RANDOM.integers(0, 256, size=(2, 5, 7, 3)).astype(np.uint8),
    "labels": RANDOM.uniform(size=50) > 0.4,
    "predictions": RANDOM.uniform(size=50).astype(np.float32),
    "samples": RANDOM.uniform(-1.1, 1.1, size=(2, 100, 2)).astype(np.float32),
}


def summaries(*arguments):
    program = pathlib.Path(os.environ["PANTO_BUILD"]) / "tests/summaries"
    result = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=600)
    if result.returncode != 0:
        raise AssertionError(f"summaries {arguments}: {result.stderr}")


def histogram(values, buckets=30):
    """As TensorBoard's summary_v2.py counts."""
    values = np.asarray(values, np.float64).reshape(-1)
    least, most = values.min(), values.max()
    width = (most - least) / buckets
    counts = np.bincount(np.minimum(np.floor((values - least) / width).astype(int), buckets - 1), minlength=buckets)
    edges = np.linspace(least, most, buckets + 1)
    return np.stack([edges[:-1], edges[1:], counts], axis=1)


@support.needs_panto
class Summaries(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def written(self):
        np.savez(self.folder / "in.npz", **ARRAYS)
        summaries("write", self.folder / "in.npz", self.folder / "run")
        (file,) = (self.folder / "run").iterdir()
        return file

    def read(self, file):
        summaries("read", file, self.folder / "out.npz")
        with np.load(self.folder / "out.npz", allow_pickle=False) as arrays:
            return [(*name.split("/", 3)[1:], arrays[name]) for name in arrays.files]

    def test_tensorflow_reads_what_we_write(self):
        import tensorflow as tf

        events = list(tf.compat.v1.train.summary_iterator(str(self.written())))
        self.assertEqual(events[0].file_version, "brain.Event:2")
        values = [(event.step, value) for event in events for value in event.summary.value]
        by_tag = {value.tag: (step, value) for step, value in values}
        losses = [(step, tf.make_ndarray(value.tensor)) for step, value in values if value.tag == "loss"]
        self.assertEqual([step for step, _ in losses], [0, 10, 20, 30, 40])
        np.testing.assert_array_equal([value for _, value in losses], ARRAYS["scalars"])
        for tag, (plugin, data_class) in {"loss": ("scalars", 1), "values": ("histograms", 2), "images": ("images", 3),
                                          "samples": ("audio", 3), "text": ("text", 2)}.items():
            metadata = by_tag[tag][1].metadata
            self.assertEqual((metadata.plugin_data.plugin_name, metadata.data_class), (plugin, data_class))
        step, value = by_tag["values"]
        self.assertEqual(step, 1)
        np.testing.assert_allclose(tf.make_ndarray(value.tensor), histogram(ARRAYS["values"]), rtol=1e-12, atol=1e-12)
        width, height, *images = tf.make_ndarray(by_tag["images"][1].tensor)
        self.assertEqual((width, height), (b"7", b"5"))
        np.testing.assert_array_equal([tf.io.decode_png(image) for image in images], ARRAYS["images"])
        clips = tf.make_ndarray(by_tag["samples"][1].tensor)
        self.assertEqual(clips.shape, (2, 2))
        for clip, samples in zip(clips[:, 0], ARRAYS["samples"]):
            self.assertEqual(clip, tf.audio.encode_wav(samples, 8000).numpy())
        self.assertEqual(tf.make_ndarray(by_tag["text"][1].tensor).item(), b"some *text*")
        # TensorFlow 1's forms, beside what its ops give.
        raw = tf.raw_ops
        merged = tf.compat.v1.Summary.FromString(raw.MergeSummary(inputs=[
            raw.ScalarSummary(tags="old/loss", values=0.25),
            raw.HistogramSummary(tag="old/values", values=ARRAYS["values"]),
            raw.AudioSummaryV2(tag="old", tensor=ARRAYS["samples"], sample_rate=8000.0, max_outputs=1),
        ]).numpy())
        for value in merged.value:
            self.assertEqual(by_tag[value.tag], (5, value))
        image = by_tag["old/image"][1].image
        self.assertEqual((image.height, image.width, image.colorspace), (5, 7, 3))
        np.testing.assert_array_equal(tf.io.decode_png(image.encoded_image_string), ARRAYS["images"][0])
        (graph,) = [tf.compat.v1.GraphDef.FromString(event.graph_def) for event in events if event.graph_def]
        self.assertIn("Mul", {node.op for node in graph.node})
        tf.import_graph_def(graph, name="")

    def test_tensorboards_plugins_read_what_we_write(self):
        """Hyper-parameters, and the numbers of precision-recall curves."""
        import tensorflow as tf

        try:
            from tensorboard.plugins.hparams import metadata as hparams
            from tensorboard.plugins.pr_curve import metadata as curves
            from tensorboard.plugins.pr_curve import summary as curve_summary
        except ImportError:
            self.skipTest("TensorBoard is not installed")
        events = tf.compat.v1.train.summary_iterator(str(self.written()))
        values = {value.tag: value for event in events for value in event.summary.value}
        curve = values["curve"]
        self.assertEqual(curves.parse_plugin_metadata(curve.metadata.plugin_data.content).num_thresholds, 20)
        theirs = curve_summary.pb("curve", ARRAYS["labels"], ARRAYS["predictions"], num_thresholds=20)
        np.testing.assert_allclose(tf.make_ndarray(curve.tensor), tf.make_ndarray(theirs.value[0].tensor), rtol=1e-6)
        start = hparams.parse_session_start_info_plugin_data(
            values[hparams.SESSION_START_INFO_TAG].metadata.plugin_data.content
        )
        self.assertEqual(start.hparams["rate"].number_value, 0.1)
        self.assertEqual(start.hparams["layers"].number_value, 3)
        self.assertEqual(start.hparams["optimizer"].string_value, "adam")
        self.assertTrue(start.hparams["bias"].bool_value)
        self.assertTrue(start.group_name)
        experiment = hparams.parse_experiment_plugin_data(values[hparams.EXPERIMENT_TAG].metadata.plugin_data.content)
        self.assertEqual([h.name for h in experiment.hparam_infos], ["bias", "layers", "optimizer", "rate"])
        self.assertEqual([m.name.tag for m in experiment.metric_infos], ["loss"])
        end = hparams.parse_session_end_info_plugin_data(
            values[hparams.SESSION_END_INFO_TAG].metadata.plugin_data.content
        )
        self.assertEqual(end.status, 1)

    def test_we_read_what_tensorflow_writes(self):
        """The values of TensorFlow 1's ops, and of TensorFlow 2's event files."""
        import tensorflow as tf
        from tensorflow.core.framework import summary_pb2
        from tensorflow.python.summary.writer.writer import FileWriter

        v1 = tf.compat.v1
        with tf.Graph().as_default(), v1.Session() as session:
            merged = session.run([
                v1.summary.scalar("s", tf.constant(1.25)),
                v1.summary.histogram("h", tf.constant(ARRAYS["values"])),
                v1.summary.image("i", tf.constant(ARRAYS["images"])),
                v1.summary.audio("a", tf.constant(ARRAYS["samples"].clip(-1, 1)), 8000.0),
            ])
            writer = FileWriter(str(self.folder / "theirs"), session.graph)
            for step, one in enumerate(merged):
                writer.add_summary(one, step)
            writer.add_summary(summary_pb2.Summary(value=[summary_pb2.Summary.Value(
                tag="t", tensor=tf.make_tensor_proto(np.arange(3)))]), 9)
            writer.close()
        got = self.read(self.folder / "theirs")
        self.assertEqual([(step, plugin, tag) for step, plugin, tag, _ in got],
                         [("0", "scalars", "s"), ("1", "histograms", "h"), ("2", "images", "i/image/0"),
                          ("2", "images", "i/image/1"), ("3", "audio", "a/audio/0"), ("3", "audio", "a/audio/1"),
                          ("9", "", "t")])
        values = {tag: value for _, _, tag, value in got}
        self.assertEqual(values["s"], np.float32(1.25))
        self.assertEqual(values["h"][:, 2].sum(), ARRAYS["values"].size)
        self.assertEqual(values["h"][0, 0], ARRAYS["values"].min())
        self.assertEqual(values["h"][-1, 1], ARRAYS["values"].max())
        np.testing.assert_array_equal(values["t"], np.arange(3))
        width, height, image = values["i/image/1"]
        self.assertEqual((width, height), (b"7", b"5"))
        self.assertEqual(image[:4], b"\x89PNG")
        self.assertEqual(values["a/audio/0"][0, 0][:4], b"RIFF")

    def test_writers_in_a_graph(self):
        """TensorFlow 2's writers as nodes: a graph that TensorFlow made writes the same events there and here."""
        import tensorflow as tf

        raw, v1 = tf.raw_ops, tf.compat.v1
        with tf.Graph().as_default() as graph:
            folder, step = v1.placeholder(tf.string, [], "folder"), tf.constant(7, tf.int64)
            writer = raw.SummaryWriter(shared_name="w", container="")
            last = [raw.CreateSummaryFileWriter(writer=writer, logdir=folder, max_queue=10, flush_millis=60000,
                                                filename_suffix=".end")]

            def then(op, **arguments):
                with tf.control_dependencies(last):
                    last[:] = [op(writer=writer, **arguments)]

            then(raw.WriteScalarSummary, step=step, tag="loss", value=0.25)
            then(raw.WriteHistogramSummary, step=step, tag="h", values=ARRAYS["values"])
            then(raw.WriteImageSummary, step=step, tag="i", tensor=ARRAYS["images"], bad_color=np.uint8([9, 9, 9]))
            then(raw.WriteAudioSummary, step=step, tag="a", tensor=ARRAYS["samples"].clip(-1, 1), sample_rate=8000.0)
            then(raw.WriteSummary, step=step, tag="t", tensor=np.arange(3), summary_metadata=b"\x0a\x06\x0a\x04mine")
            then(raw.WriteRawProtoSummary, step=step, tensor=raw.ScalarSummary(tags="raw", values=4.0))
            then(raw.FlushSummaryWriter)
            then(raw.CloseSummaryWriter)
            tf.group(*last, name="all")

        def events(run):
            (file,) = (self.folder / run).iterdir()
            self.assertTrue(file.name.endswith(".end"))
            return [(event.step, value) for event in v1.train.summary_iterator(str(file)) for value in event.summary.value]

        with v1.Session(graph=graph) as session:
            session.run("all", {"folder:0": str(self.folder / "theirs")})
        with support.saved(graph.as_graph_def(), ".pb") as path:
            support.panto_run(path, {"folder": np.array(str(self.folder / "ours").encode())}, targets=["all"])
        ours, theirs = events("ours"), events("theirs")
        self.assertEqual([(step, value.tag) for step, value in ours], [(step, value.tag) for step, value in theirs])
        for (_, value), (_, expected) in zip(ours, theirs):
            if value.tag.startswith("i/"):
                images = [tf.io.decode_png(v.image.encoded_image_string) for v in (value, expected)]
                np.testing.assert_array_equal(*images)
                value.image.encoded_image_string = expected.image.encoded_image_string
            self.assertEqual(value, expected)

    def test_tensorboard_reads_what_we_write(self):
        try:
            from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        except ImportError:
            self.skipTest("tensorboard is not installed")
        accumulator = EventAccumulator(str(self.written().parent))
        accumulator.Reload()
        tags = accumulator.Tags()
        self.assertTrue(tags["graph"])
        ours = [tag for tag in tags["tensors"] if not tag.startswith("_hparams_/")]
        self.assertEqual(sorted(ours), ["curve", "images", "loss", "samples", "text", "values"])
        for kind, tag in (("scalars", "loss"), ("histograms", "values"), ("images", "image"), ("audio", "audio")):
            self.assertEqual(tags[kind], ["old/" + tag])
        self.assertEqual([(event.step, event.value) for event in accumulator.Scalars("old/loss")], [(5, 0.25)])
        losses = accumulator.Tensors("loss")
        self.assertEqual([event.step for event in losses], [0, 10, 20, 30, 40])
        values = [struct.unpack("<f", event.tensor_proto.tensor_content)[0] for event in losses]
        np.testing.assert_array_equal(np.array(values, np.float32), ARRAYS["scalars"])


if __name__ == "__main__":
    support.main()
