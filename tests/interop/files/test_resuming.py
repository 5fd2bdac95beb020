"""Training that begins in one library and goes on in the other, with what optimizers keep: losses go on alike."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import ml_dtypes
import numpy as np
import support

STEPS = 10
# As tests/interop/programs/checkpoints.cc has them. In float16 1e-8 is 0, and so may be the mean of a gradient's squares.
OPTIMIZERS = {
    "Adam": lambda train: train.AdamOptimizer(0.01, epsilon=1e-3),
    "Momentum": lambda train: train.MomentumOptimizer(0.05, 0.9),
    "RMSProp": lambda train: train.RMSPropOptimizer(0.01, 0.9, momentum=0.5, epsilon=1e-8, centered=True),
    "Adagrad": lambda train: train.AdagradOptimizer(0.1, initial_accumulator_value=0.1),
    "Ftrl": lambda train: train.FtrlOptimizer(0.1, initial_accumulator_value=0.1, l1_regularization_strength=0.001,
                                              l2_regularization_strength=0.002),
}
KERAS_OPTIMIZERS = {
    "Adam": lambda o: o.Adam(0.01, epsilon=1e-3),
    "SGD": lambda o: o.SGD(0.05, momentum=0.9),
    "RMSProp": lambda o: o.RMSprop(0.01, 0.9, momentum=0.5, epsilon=1e-8, centered=True),
    "Adagrad": lambda o: o.Adagrad(0.1, initial_accumulator_value=0.1, epsilon=0.0),
    "Ftrl": lambda o: o.Ftrl(0.1, initial_accumulator_value=0.1, l1_regularization_strength=0.001,
                             l2_regularization_strength=0.002),
}
# With how much losses may differ, as shares of them.
DTYPES = {"float64": 1e-6, "float32": 1e-6, "float16": 0.02, "bfloat16": 0.1}


def numpy_type(dtype):
    return np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)


def data(dtype):
    random = np.random.default_rng(7)
    x = random.normal(size=(16, 4))
    return {"x": x.astype(numpy_type(dtype)), "y": np.tanh(x @ random.normal(size=(4, 3))).astype(numpy_type(dtype))}


@support.needs_panto
class Resuming(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def here(self, optimizer, values, restored="-", written="-"):
        """Losses of our steps."""
        np.savez(self.folder / "data.npz", **values)
        program = pathlib.Path(os.environ["PANTO_BUILD"]) / "tests/checkpoints"
        result = subprocess.run([program, "train", restored, written, self.folder / "data.npz",
                                 self.folder / "losses.npz", optimizer, str(STEPS)],
                                capture_output=True, text=True, timeout=600)
        self.assertEqual(result.returncode, 0, result.stderr)
        with np.load(self.folder / "losses.npz") as file:
            return file["losses"]

    def model(self, dtype):
        import tensorflow as tf

        class Dense(tf.Module):
            def __init__(self):
                super().__init__()
                random = np.random.default_rng(3)
                self.kernel = tf.Variable(random.normal(size=(4, 3)).astype(numpy_type(dtype)), name="dense/kernel")
                self.bias = tf.Variable(np.zeros(3, numpy_type(dtype)), name="dense/bias")

        class Model(tf.Module):
            def __init__(self):
                super().__init__()
                self.dense = Dense()

        return Model()

    def there(self, model, optimizer, values):
        """Losses of TensorFlow's steps."""
        import tensorflow as tf

        losses = []
        for _ in range(STEPS):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((tf.tanh(values["x"] @ model.dense.kernel + model.dense.bias) - values["y"]) ** 2)
            variables = [model.dense.kernel, model.dense.bias]
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
            losses.append(float(loss))
        return np.array(losses)

    def cases(self):
        for name in OPTIMIZERS:
            for dtype, share in DTYPES.items():
                if name == "Adam" or share == 1e-6:
                    yield name, dtype, share

    def assert_alike(self, actual, expected, share):
        np.testing.assert_allclose(actual, expected, rtol=share)

    def test_what_tensorflow_began(self):
        import tensorflow as tf

        for name, dtype, share in self.cases():
            with self.subTest(optimizer=name, dtype=dtype):
                values, model = data(dtype), self.model(dtype)
                optimizer = OPTIMIZERS[name](tf.compat.v1.train)
                self.there(model, optimizer, values)
                prefix = tf.train.Checkpoint(model=model, optimizer=optimizer).write(str(self.folder / "theirs"))
                self.assert_alike(self.here(name, values, restored=prefix), self.there(model, optimizer, values), share)

    def test_what_we_began(self):
        import tensorflow as tf

        for name, dtype, share in self.cases():
            with self.subTest(optimizer=name, dtype=dtype):
                values, model, ours = data(dtype), self.model(dtype), str(self.folder / "ours")
                self.here(name, values, written=ours)
                optimizer = OPTIMIZERS[name](tf.compat.v1.train)
                status = tf.train.Checkpoint(model=model, optimizer=optimizer).read(ours)
                losses = self.there(model, optimizer, values)
                status.assert_existing_objects_matched()
                self.assert_alike(self.here(name, values, restored=ours), losses, share)

    def test_savers_of_both_versions(self):
        """Names of TensorFlow 1, in graphs: what it wrote, and what it reads."""
        import tensorflow as tf

        v1 = tf.compat.v1
        for name in OPTIMIZERS:
            for version in (1, 2):
                with self.subTest(optimizer=name, version=version), tf.Graph().as_default(), v1.Session() as session:
                    values = data("float64")
                    random = np.random.default_rng(3)
                    kernel = v1.get_variable("dense/kernel", initializer=tf.constant(random.normal(size=(4, 3))))
                    bias = v1.get_variable("dense/bias", initializer=tf.constant(np.zeros(3)))
                    loss = tf.reduce_mean((tf.tanh(values["x"] @ kernel + bias) - values["y"]) ** 2)
                    step = OPTIMIZERS[name](v1.train).minimize(loss)
                    saver = v1.train.Saver(v1.global_variables(), write_version=version)

                    def train():
                        return np.array([session.run((loss, step))[0] for _ in range(STEPS)])

                    session.run(v1.global_variables_initializer())
                    train()
                    prefix = str(self.folder / f"saver-{version}")
                    saver.save(session, prefix, write_meta_graph=False)
                    ours = str(self.folder / "ours")
                    self.here(name, values, restored=prefix, written=ours)
                    self.assert_alike(self.here(name, values, restored=prefix), train(), 1e-6)
                    saver.restore(session, ours)  # twenty steps in all
                    self.assert_alike(self.here(name, values, restored=ours), train(), 1e-6)

    def test_what_keras_began(self):
        """By the names of variables; from the number of steps Adam's powers."""
        import keras
        import tensorflow as tf

        for name, make in KERAS_OPTIMIZERS.items():
            with self.subTest(optimizer=name):
                values = data("float32")
                keras.utils.set_random_seed(4)
                model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="tanh", name="dense")])
                optimizer = make(keras.optimizers)

                def losses():
                    found = []
                    for _ in range(STEPS):
                        with tf.GradientTape() as tape:
                            loss = tf.reduce_mean((model(values["x"]) - values["y"]) ** 2)
                        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
                        found.append(float(loss))
                    return np.array(found)

                losses()
                prefix = tf.train.Checkpoint(model=model, optimizer=optimizer).write(str(self.folder / "keras"))
                self.assert_alike(self.here(name, values, restored=prefix), losses(), 2e-6)


if __name__ == "__main__":
    support.main()
