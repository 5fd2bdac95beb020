"""What programs of `panto train` learned, as frozen graphs that take the bytes of Examples: in TensorFlow."""

import pathlib
import tempfile
import unittest

import numpy as np
import support
import tensorflow as tf

v1 = tf.compat.v1


def example(travelled, sex, age, years, keywords):
    def strings(values):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[v.encode() for v in values]))

    features = {
        "class": strings([travelled]),
        "sex": strings([sex]),
        "age": strings([age]),
        "years": tf.train.Feature(float_list=tf.train.FloatList(value=[years])),
        "keywords": strings(keywords),
    }
    # In order: an array of bytes loses zeros at their end, which a list of no words has.
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString(deterministic=True)


RECORDS = [
    example("first", "female", "adult", 30, ["deck A"]),
    example("crew", "male", "adult", 55, ["deck O", "Cherbourg"]),
    example("third", "male", "child", 4, ["deck F", "family"]),
    example("steerage", "", "adult", -1, []),  # words that nobody knows, and none
]


@support.needs_panto
class Programs(unittest.TestCase):
    def test_tensorflow_runs_what_was_learned(self):
        for name in ["feature_dnn", "wide_deep"]:
            with self.subTest(program=name), tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "learned.pb"
                support.panto("train", name, "--quick", "--graph", path)
                graph_def = v1.GraphDef.FromString(path.read_bytes())
                last = graph_def.node[-1].name
                with tf.Graph().as_default():
                    tf.import_graph_def(graph_def, name="")
                    with v1.Session() as session:
                        expected = session.run(f"{last}:0", {"records:0": RECORDS})
                found = support.panto_run(path, {"records": np.array(RECORDS)}, [last])[last]
                self.assertEqual(found.shape, (4,))
                self.assertGreater(found[0], found[1])  # women of the first class survived
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
