"""What Pantograph saves, loaded and run by TensorFlow: the graphs that `panto demo --out DIR` leaves behind."""

import pathlib
import tempfile
import unittest

import numpy as np
import support
import tensorflow as tf


@support.needs_panto
class Saved(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        support.panto("demo", "--out", cls.folder.name)
        cls.predict = pathlib.Path(cls.folder.name) / "predict.pb"

    def test_every_saved_graph_is_accepted(self):
        """TensorFlow checks op names, attributes, types and shapes when it imports a graph."""
        paths = [path for path in pathlib.Path(self.folder.name).rglob("*") if path.suffix in (".pb", ".pbtxt")]
        self.assertIn(self.predict, paths)
        for path in paths:
            with self.subTest(path.name), tf.Graph().as_default():
                tf.import_graph_def(support.read_graph_def(path), name="")

    def test_only_ops_of_tensorflow(self):
        """Fused ops and others of our own never leave in a saved file."""
        from tensorflow.python.framework import op_def_registry

        for node in support.read_graph_def(self.predict).node:
            self.assertIsNotNone(op_def_registry.get(node.op), node.op)

    def test_same_predictions(self):
        definition = support.read_graph_def(self.predict)
        consumed = {name.split(":")[0].lstrip("^") for node in definition.node for name in node.input}
        placeholders = [node for node in definition.node if node.op.startswith("Placeholder")]
        self.assertEqual(len(placeholders), 1, "placeholders of predict.pb")
        shape = [dim.size for dim in placeholders[0].attr["shape"].shape.dim]
        self.assertGreater(np.prod(shape[1:]), 1, f"the shape of a batch of digits, got {shape}")
        dtype = tf.dtypes.as_dtype(placeholders[0].attr["dtype"].type).as_numpy_dtype
        generator = np.random.Generator(np.random.PCG64(0))
        fetches = [node.name for node in definition.node if node.name not in consumed and node.op != "NoOp"]
        self.assertTrue(fetches)
        for batch in ([64, 1] if shape[0] < 0 else [shape[0]]):
            feeds = {placeholders[0].name: generator.uniform(0, 1, [batch, *shape[1:]]).astype(dtype)}
            expected = support.run_graph_def(definition, feeds, fetches)
            for options in ([], ["--optimize", "off"]):
                results = support.panto_run(self.predict, feeds, fetches, options=options)
                for name in fetches:
                    support.assert_same(self, results[name], expected[name], name, rtol=1e-5, atol=1e-5)


if __name__ == "__main__":
    support.main()
