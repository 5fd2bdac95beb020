"""Our .safetensors files and the format's own library: each reads what the other writes, bit by bit."""

import pathlib
import tempfile
import unittest

import ml_dtypes
import numpy as np
import safetensors
import safetensors.numpy
import support

SAMPLES = {
    "plain": np.arange(6, dtype=np.float32).reshape(2, 3) / 7,
    "scalar": np.array(2.5),
    "none": np.zeros((0, 3), np.int64),
    "flags": np.array([True, False, True]),
    "half": np.array([1, 0.5, -65504, np.inf], np.float16),
    "brain": np.array([1, -2.5, np.inf], ml_dtypes.bfloat16),
    'a name with "quotes", \\ and é': np.array([1, 2], np.uint8),
} | {
    f"of {t.__name__}": np.array([np.iinfo(t).min, 1, np.iinfo(t).max], t)
    for t in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
}

# What the format calls NumPy's types.
TYPES = {"bool": "BOOL", "bfloat16": "BF16"} | {
    f"{kind}{bits}": f"{letter}{bits}"
    for kind, letter in (("int", "I"), ("uint", "U"), ("float", "F"))
    for bits in (8, 16, 32, 64)
}


def identities(samples):
    """(a graph that gives each of its placeholders back, {placeholder: name in samples})"""
    import tensorflow as tf

    names = {f"p{i}": name for i, name in enumerate(samples)}
    with tf.Graph().as_default() as graph:
        for node, name in names.items():
            value = samples[name]
            x = tf.compat.v1.placeholder(tf.as_dtype(value.dtype), value.shape, name=node)
            tf.identity(x, name="y" + node)
    return graph.as_graph_def(), names


@support.needs_panto
class Safetensors(unittest.TestCase):
    def test_both_ways(self):
        graph, names = identities(SAMPLES)
        with support.saved(graph) as model, tempfile.TemporaryDirectory() as folder:
            feeds, results = pathlib.Path(folder) / "feeds.safetensors", pathlib.Path(folder) / "results.safetensors"
            safetensors.numpy.save_file({node: SAMPLES[name] for node, name in names.items()}, feeds,
                                        metadata={"format": "np"})
            fetches = [argument for node in names for argument in ("--fetch", "y" + node)]
            support.panto("run", model, "--feeds", feeds, "--out", results, *fetches)
            # Not load_file: its arrays have no bfloat16.
            got = dict(safetensors.deserialize(results.read_bytes()))
            self.assertEqual(sorted(got), sorted("y" + node for node in names))
            for node, name in names.items():
                expected = SAMPLES[name]
                self.assertEqual(got["y" + node]["dtype"], TYPES[expected.dtype.name], name)
                self.assertEqual(tuple(got["y" + node]["shape"]), expected.shape, name)
                self.assertEqual(bytes(got["y" + node]["data"]), expected.tobytes(), name)

    def test_what_one_refuses_the_other_refuses(self):
        """Damaged files: where the format's library finds a fault, we do too."""
        graph, _ = identities({"x": np.zeros(2, np.float32)})
        whole = safetensors.numpy.save({"p0": np.zeros(2, np.float32)})
        length = int.from_bytes(whole[:8], "little")
        header, data = whole[8:8 + length], whole[8 + length:]
        damaged = [
            whole[:-1], whole + b"x", whole[:20], b"", b"\xff" * 8 + header + data,
            whole.replace(b"[0,8]", b"[1,9]"), whole.replace(b"[0,8]", b"[0,7]"), whole.replace(b"[0,8]", b"[8,0]"),
            whole.replace(b"F32", b"F33"), whole.replace(b'"shape"', b'"shope"'), whole.replace(b"}}", b"}]"),
            whole.replace(b"[2]", b"[3]"),
        ]
        with support.saved(graph) as model, tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "feeds.safetensors"
            for content in damaged:
                with self.subTest(content), self.assertRaises(Exception):
                    safetensors.numpy.load(content)
                path.write_bytes(content)
                self.assertIn("safetensors", support.panto_fails("run", model, "--feeds", path, "--fetch", "yp0"))
