"""Our checkpoints and TensorFlow's: each reads what the other writes, bit by bit."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import ml_dtypes
import numpy as np
import support

SAMPLES = {
    "dense/kernel": np.arange(6, dtype=np.float32).reshape(2, 3) / 7,
    "scalar": np.array(2.5),
    "none": np.zeros((0, 3), np.int64),
    "flags": np.array([True, False, True]),
    "half": np.array([1, 0.5, -65504, np.inf], np.float16),
    "brain": np.array([1, -2.5, np.inf], ml_dtypes.bfloat16),
    "complex": np.array([1 + 2j, -3.5j], np.complex64),
    "wide_complex": np.array([[1 + 2j], [-3.5j]], np.complex128),
    "texts": np.array([b"", b"one", b"\xff\x00x", b"y" * 300], "S"),
    "text": np.array(b"scalar", "S"),
    "many": np.random.default_rng(1).normal(size=(300, 70)),
} | {
    f"of_{t.__name__}": np.array([np.iinfo(t).min, 1, np.iinfo(t).max], t)
    for t in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
}
VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"


def checkpoints(*arguments):
    """Runs tests/interop/programs/checkpoints.cc; what went wrong, or "" if nothing did."""
    program = pathlib.Path(os.environ["PANTO_BUILD"]) / "tests/checkpoints"
    result = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=600)
    if result.returncode not in (0, 1):
        raise AssertionError(f"checkpoints {arguments}: {result.returncode} {result.stderr}")
    return result.stderr if result.returncode else ""


def load(path):
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def as_bytes(value):
    """Dtype, shape and bits of an array, however its strings and bfloat16s are kept."""
    value = np.asarray(value)
    if value.dtype.kind in "SOU":
        return "string", value.shape, [bytes(v) for v in value.reshape(-1)]
    if value.dtype == np.dtype("V2"):
        value = value.view(ml_dtypes.bfloat16)
    return value.dtype.name, value.shape, value.tobytes()




@support.needs_panto
class Checkpoints(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def read(self, prefix, *names):
        self.assertEqual(checkpoints("read", prefix, self.folder / "out.npz", *names), "")
        return load(self.folder / "out.npz")

    def write(self, values, prefix, *options):
        np.savez(self.folder / "in.npz", **values)
        self.assertEqual(checkpoints("write", self.folder / "in.npz", prefix, *options), "")

    def assert_same(self, actual, expected):
        self.assertEqual(sorted(actual), sorted(expected))
        for name, value in expected.items():
            self.assertEqual(as_bytes(actual[name]), as_bytes(value), name)

    def save_with_tensorflow(self, prefix, version=2, names=tuple(SAMPLES)):
        """tf.compat.v1.train.Saver's checkpoint of SAMPLES, with a variable in parts."""
        import tensorflow as tf

        v1 = tf.compat.v1
        with tf.Graph().as_default(), v1.Session() as session:
            variables = [v1.Variable(SAMPLES[name], name=name, use_resource=False) for name in names]
            parts = v1.get_variable("parts", initializer=tf.constant(SAMPLES["many"]),
                                    partitioner=v1.fixed_size_partitioner(7, axis=0))
            columns = v1.get_variable("columns", initializer=tf.constant(SAMPLES["many"]),
                                      partitioner=v1.fixed_size_partitioner(3, axis=1))
            session.run(v1.global_variables_initializer())
            saver = v1.train.Saver([*variables, parts, columns], write_version=version)
            saver.save(session, str(prefix), write_meta_graph=False)
        return {name: SAMPLES[name] for name in names} | {"parts": SAMPLES["many"], "columns": SAMPLES["many"]}

    def test_we_read_what_a_saver_writes(self):
        expected = self.save_with_tensorflow(self.folder / "m.ckpt")
        self.assert_same(self.read(self.folder / "m.ckpt"), expected)
        self.assert_same(self.read(self.folder / "m.ckpt", "parts"), {"parts": SAMPLES["many"]})

    def test_we_read_the_first_version(self):
        """TensorFlow 1's old files, which have no unsigned integers above 16 bits and no bfloat16."""
        names = [name for name in SAMPLES if name not in ("of_uint32", "of_uint64", "brain")]
        expected = self.save_with_tensorflow(self.folder / "old.ckpt", version=1, names=names)
        self.assertTrue((self.folder / "old.ckpt").is_file())
        self.assert_same(self.read(self.folder / "old.ckpt"), expected)

    def test_we_read_several_files_of_data(self):
        import tensorflow as tf

        parts = []
        for i, names in enumerate((list(SAMPLES)[:5], list(SAMPLES)[5:])):
            parts.append(str(self.folder / f"part-{i}"))
            tf.raw_ops.SaveV2(prefix=parts[-1], tensor_names=names, shape_and_slices=[""] * len(names),
                              tensors=[tf.constant(SAMPLES[name]) for name in names])
        tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=parts, destination_prefix=str(self.folder / "m"))
        self.assertTrue((self.folder / "m.data-00001-of-00002").is_file())
        self.assert_same(self.read(self.folder / "m"), SAMPLES)

    def test_tensorflow_reads_what_we_write(self):
        import tensorflow as tf

        prefix = self.folder / "m.ckpt-5"
        self.write({"old": np.ones(3)}, prefix)
        for _ in range(2):  # under one name of the files of data, and under the other
            self.write(SAMPLES, prefix)
            reader = tf.train.load_checkpoint(str(prefix))
            self.assertEqual(reader.get_variable_to_shape_map(), {k: list(v.shape) for k, v in SAMPLES.items()})
            self.assert_same({name: reader.get_tensor(name) for name in SAMPLES}, SAMPLES)
            v1 = tf.compat.v1
            with tf.Graph().as_default(), v1.Session() as session:
                variables = {name: v1.Variable(np.zeros_like(value), name=name.replace("/", "_"), use_resource=False)
                             for name, value in SAMPLES.items()}
                v1.train.Saver(variables).restore(session, str(prefix))
                self.assert_same(session.run(variables), SAMPLES)

    def test_the_index_is_the_same(self):
        """Bytes of TensorFlow's index and ours, of tensors in the same order."""
        import tensorflow as tf

        names = sorted(SAMPLES)
        tf.raw_ops.SaveV2(prefix=str(self.folder / "t"), tensor_names=names, shape_and_slices=[""] * len(names),
                          tensors=[tf.constant(SAMPLES[name]) for name in names])
        self.write(SAMPLES, self.folder / "p")
        for ending in (".index", ".data-00000-of-00001"):
            self.assertEqual((self.folder / ("p" + ending)).read_bytes(), (self.folder / ("t" + ending)).read_bytes())

    def test_a_large_index(self):
        """Of several blocks."""
        import tensorflow as tf

        values = {f"layer_{i}/{'x' * (i % 50)}/kernel": np.full(2, i, np.float32) for i in range(20000)}
        names = sorted(values)
        tf.raw_ops.SaveV2(prefix=str(self.folder / "t"), tensor_names=names, shape_and_slices=[""] * len(names),
                          tensors=[tf.constant(values[name]) for name in names])
        self.assert_same(self.read(self.folder / "t"), values)
        self.write(values, self.folder / "p")
        self.assertEqual((self.folder / "p.index").read_bytes(), (self.folder / "t.index").read_bytes())

    def test_we_read_objects_by_their_names(self):
        import keras
        import tensorflow as tf

        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="first"),
                                  keras.layers.Dense(2, name="second")])
        optimizer = keras.optimizers.Adam()
        optimizer.build(model.trainable_variables)
        counter = tf.Variable(7, name="counter")
        prefix = tf.train.Checkpoint(model=model, optimizer=optimizer, counter=counter).save(str(self.folder / "ckpt"))
        names = {v.path: v.numpy() for v in [*model.variables, *optimizer.variables]}
        # The way to an object is a name too, where the variable's own name is one of several.
        stored = tf.train.load_checkpoint(prefix).get_variable_to_shape_map()
        unique = ["counter", *(name for name in names if "second/kernel" in name)]
        got = self.read(prefix, "counter", "counter" + VALUE)
        self.assertEqual(int(got["counter"]), 7)
        self.assertEqual(int(got["counter" + VALUE]), 7)
        self.assertIn("counter" + VALUE, stored)
        everything = self.read(prefix)
        self.assertEqual(sorted(everything), sorted(stored))
        by_way = {name: value for name, value in everything.items() if name.endswith(VALUE)}
        self.assertEqual({name.removesuffix(VALUE): as_bytes(v) for name, v in by_way.items()},
                         {n: as_bytes(v) for n, v in self.read(prefix, *(n.removesuffix(VALUE) for n in by_way)).items()})
        for name in unique[1:]:
            with self.subTest(name):
                self.assertEqual(as_bytes(self.read(prefix, name)[name]), as_bytes(names[name]))

    def test_tensorflow_restores_objects_that_we_write(self):
        import tensorflow as tf

        class Layer(tf.Module):
            def __init__(self):
                super().__init__()
                self.kernel = tf.Variable(tf.zeros((2, 3)))
                self.bias = tf.Variable(tf.zeros(3))

        class Model(tf.Module):
            def __init__(self):
                super().__init__()
                self.dense = Layer()
                self.layers = [Layer(), Layer()]

        def values(model):
            return {"kernel": model.kernel.numpy(), "bias": model.bias.numpy()}

        random = np.random.default_rng(2)
        ways = ["model/dense", "model/layers/0", "model/layers/1"]
        written = {f"{way}/{name}": random.normal(size=shape).astype(np.float32)
                   for way in ways for name, shape in (("kernel", (2, 3)), ("bias", (3,)))} | {"step": np.array(5)}
        self.write(written, self.folder / "ckpt-5", "objects")
        model, step = Model(), tf.Variable(0, dtype=tf.int64)
        checkpoint = tf.train.Checkpoint(model=model, step=step)
        checkpoint.read(str(self.folder / "ckpt-5")).assert_consumed()
        # It counts saves, which a checkpoint of ours knows nothing of.
        checkpoint.restore(str(self.folder / "ckpt-5")).assert_nontrivial_match()
        self.assertEqual(int(step), 5)
        for way, layer in zip(ways, [model.dense, *model.layers]):
            for name, value in values(layer).items():
                self.assertEqual(as_bytes(value), as_bytes(written[f"{way}/{name}"]))

    def test_the_folder_of_a_saver(self):
        import tensorflow as tf

        np.savez(self.folder / "in.npz", w=np.arange(3.0))
        run = self.folder / "run"
        self.assertEqual(checkpoints("save", self.folder / "in.npz", run / "m.ckpt", 1, 2, 30), "")
        self.assertEqual(tf.train.latest_checkpoint(str(run)), str(run / "m.ckpt-30"))
        state = tf.train.get_checkpoint_state(str(run))
        self.assertEqual(list(state.all_model_checkpoint_paths), [str(run / "m.ckpt-2"), str(run / "m.ckpt-30")])
        self.assertEqual(len(state.all_model_checkpoint_timestamps), 2)
        self.assertFalse(tf.io.gfile.glob(str(run / "m.ckpt-1.*")))
        # And the other way round.
        variable = tf.Variable(3.5)
        manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=variable), str(self.folder / "theirs"), 3)
        for _ in range(2):
            manager.save()
        listed = support.panto("inspect", self.folder / "theirs", "--values")
        self.assertIn("ckpt-2", listed)
        self.assertIn("v" + VALUE, listed)
        self.assertIn("3.5", listed)

    def test_what_one_refuses_the_other_refuses(self):
        import tensorflow as tf

        prefix = self.folder / "m.ckpt"
        self.write({"a": np.arange(5.0), "b": np.array([b"x", b"yy"])}, prefix)
        data, index = self.folder / "m.ckpt.data-00000-of-00001", self.folder / "m.ckpt.index"
        whole = {path: path.read_bytes() for path in (data, index)}

        def refused():
            with self.assertRaises(Exception):
                reader = tf.train.load_checkpoint(str(prefix))
                for name in reader.get_variable_to_shape_map():
                    reader.get_tensor(name)
            self.assertIn(str(prefix), checkpoints("read", prefix, self.folder / "out.npz"))
            self.assertIn("m.ckpt", support.panto_fails("inspect", prefix, "--values"))

        for path, bytes_ in whole.items():
            for content in (bytes_[:-1], bytes_[:10], b"", bytes_[:7] + b"\xff" + bytes_[8:]):
                with self.subTest(path=path.name, content=content):
                    path.write_bytes(content)
                    refused()
            path.write_bytes(bytes_)
        data.unlink()
        refused()


if __name__ == "__main__":
    support.main()
