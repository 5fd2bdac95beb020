"""`panto inspect` of what TensorFlow writes, beside what TensorFlow says of the same files."""

import pathlib
import tempfile
import unittest

import numpy as np
import support
import tensorflow as tf


class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.kernel = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2), name="kernel")

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])
    def product(self, x):
        return {"y": x @ self.kernel, "rows": tf.shape(x)[0]}

    @tf.function(input_signature=[tf.TensorSpec(None, tf.string, name="texts"),
                                  tf.TensorSpec([2], tf.bfloat16, name="scale")])
    def lengths(self, texts, scale):
        return {"lengths": tf.strings.length(texts), "scale": scale}


@support.needs_panto
class Inspect(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def expected(self, path):
        """Of each signature the lines that there should be, by TensorFlow's own messages."""
        from tensorflow.core.protobuf import saved_model_pb2

        message = saved_model_pb2.SavedModel.FromString((path / "saved_model.pb").read_bytes())
        (graph,) = message.meta_graphs
        listed = {}
        for name, signature in graph.signature_def.items():
            rows = set()
            for side, tensors in (("input", signature.inputs), ("output", signature.outputs)):
                for key, info in tensors.items():
                    dims = ",".join("?" if dim.size < 0 else str(dim.size) for dim in info.tensor_shape.dim)
                    dtype = tf.dtypes.as_dtype(info.dtype).name if info.dtype else "operation"
                    shape = "" if not info.dtype else "?" if info.tensor_shape.unknown_rank else f"[{dims}]"
                    output = info.name
                    if info.WhichOneof("encoding") == "coo_sparse":
                        dtype = "sparse " + dtype
                        sparse = info.coo_sparse
                        output = ", ".join([sparse.indices_tensor_name, sparse.values_tensor_name,
                                            sparse.dense_shape_tensor_name])
                    rows.add(f"{side} {key}|{dtype}{shape}|{output}")
            listed[name] = (signature.method_name, rows)
        return list(graph.meta_info_def.tags), listed

    def listed(self, text):
        """Of `panto inspect`."""
        tags, listed, variables, rows = [], {}, [], None
        for line in text.splitlines():
            if line.startswith("# tags: "):
                tags = line[len("# tags: "):].split(", ")
            elif line.startswith("# signature "):
                name, _, method = line[len("# signature "):].partition(": ")
                rows = set()
                listed[name] = (method, rows)
            elif line == "# variables":
                rows = None
            elif rows is None:
                variables.append(line)
            else:
                rows.add("|".join(part.strip() for part in line.split("  ") if part.strip()))
        return tags, listed, variables

    def test_signatures_of_a_saved_model(self):
        model = Model()
        path = self.folder / "model"
        tf.saved_model.save(model, str(path), signatures={"serving_default": model.product, "lengths": model.lengths})
        tags, listed, variables = self.listed(support.panto("inspect", path))
        self.assertEqual((tags, listed), self.expected(path))
        self.assertIn("input x|float32[?,3]|serving_default_x:0", listed["serving_default"][1])
        self.assertTrue(any(line.split() == ["kernel/.ATTRIBUTES/VARIABLE_VALUE", "float32[3,2]"] for line in variables),
                        variables)
        self.assertIn("[[0. 1.]", support.panto("inspect", path, "--values"))
        only = self.listed(support.panto("inspect", path, "--name", "lengths"))
        self.assertEqual((list(only[1]), only[2]), (["lengths"], []))
        # The file itself; and one that is cut off.
        self.assertEqual(self.listed(support.panto("inspect", path / "saved_model.pb")), (tags, listed, variables))
        whole = (path / "saved_model.pb").read_bytes()
        for size in (0, 1, len(whole) // 2, len(whole) - 1):
            (path / "saved_model.pb").write_bytes(whole[:size])
            self.assertIn("DataLoss: SavedModel ", support.panto_fails("inspect", path))

    def test_signatures_of_tensorflow_1(self):
        """With a sparse input, an unknown rank and no variables."""
        v1 = tf.compat.v1
        path = self.folder / "old"
        with tf.Graph().as_default(), v1.Session() as session:
            x, any_rank = v1.sparse_placeholder(tf.int64, [None, 4], "x"), v1.placeholder(tf.half, None, "r")
            y = tf.sparse.to_dense(x)
            signature = v1.saved_model.build_signature_def(
                {"x": v1.saved_model.build_tensor_info(x), "r": v1.saved_model.build_tensor_info(any_rank)},
                {"y": v1.saved_model.build_tensor_info(y)}, "own/method")
            builder = v1.saved_model.Builder(str(path))
            builder.add_meta_graph_and_variables(session, ["serve", "cpu"], {"all": signature})
            builder.save()
        tags, listed, variables = self.listed(support.panto("inspect", path))
        self.assertEqual((tags, listed), self.expected(path))
        self.assertEqual(variables, [])


if __name__ == "__main__":
    support.main()
