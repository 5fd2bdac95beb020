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


# A function of two inputs and three outputs as it is saved, its nodes in another order than its inputs and outputs.
ORDERED = """
node { name: "quotient" op: "RealDiv" input: "a" input: "b"
  attr { key: "T" value { type: DT_DOUBLE } } attr { key: "_function_output" value { list { i: 2 i: 3 } } } }
node { name: "b" op: "Placeholder" attr { key: "dtype" value { type: DT_DOUBLE } }
  attr { key: "shape" value { shape { dim { size: -1 } } } }
  attr { key: "_function_input" value { list { i: 1 i: 2 } } } }
node { name: "difference" op: "Sub" input: "a" input: "b"
  attr { key: "T" value { type: DT_DOUBLE } } attr { key: "_function_output" value { list { i: 0 i: 3 } } } }
node { name: "a" op: "Placeholder" attr { key: "dtype" value { type: DT_DOUBLE } }
  attr { key: "shape" value { shape { dim { size: -1 } } } }
  attr { key: "_function_input" value { list { i: 0 i: 2 } } } }
node { name: "product" op: "Mul" input: "a" input: "b"
  attr { key: "T" value { type: DT_DOUBLE } } attr { key: "_function_output" value { list { i: 1 i: 3 } } } }
versions { producer: 1000 }
"""


class Order(unittest.TestCase):
    """The order of a function's inputs and outputs, which our files say by attributes that begin with "_"."""

    def test_tensorflow_keeps_it(self):
        from google.protobuf import text_format

        definition = text_format.Parse(ORDERED, tf.compat.v1.GraphDef())
        outputs = ["difference", "product", "quotient"]
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(definition, name="")
        again = graph.as_graph_def()
        for form, nodes in [
            ("imported and exported", again.node),
            ("extracted", tf.compat.v1.graph_util.extract_sub_graph(again, outputs).node),
            ("cleaned", tf.compat.v1.graph_util.remove_training_nodes(again, outputs).node),
        ]:
            said = {node.name: node.attr[key].list.i[:] for node in nodes for key in node.attr if "_function" in key}
            expected = {"difference": [0, 3], "product": [1, 3], "quotient": [2, 3], "a": [0, 2], "b": [1, 2]}
            self.assertEqual(said, expected, form)

    @support.needs_panto
    def test_run_and_show_heed_it(self):
        feeds = {"a": np.array([6.0, 8.0]), "b": np.array([2.0, 4.0])}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "f.pbtxt"
            path.write_text(ORDERED)
            results = support.panto_run(path, feeds)
            shown = support.panto("show", path)
        self.assertEqual(list(results), ["difference:0", "product:0", "quotient:0"])
        np.testing.assert_array_equal(results["product:0"], [12.0, 32.0])
        names = ["a", "b", "difference", "product", "quotient"]
        self.assertEqual(sorted(names, key=lambda name: shown.index("\n  " + name + " ")), names)


if __name__ == "__main__":
    support.main()
