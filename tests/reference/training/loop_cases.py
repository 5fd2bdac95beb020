"""What Keras's fit, evaluate and predict compute (loop.npz, float64).

    NAME/history/KEY   the values of the epochs
    NAME/variables     all weights after the training, one after the other, flat
    NAME/evaluate      loss and metrics of the validation data afterwards
    NAME/predict       predictions for it

NAMEs are those of tests/nn/training/loop/fit_test.cc, which makes the same models of the same `wave`s.
"""

import keras
import numpy as np
from cases import save_arrays

SAMPLES, VALIDATION = 22, 10


def wave(shape, frequency, phase=0.0, scale=1.0):
    """Numbers without a pattern that C++ makes, too."""
    return scale * np.sin(phase + frequency * np.arange(1, int(np.prod(shape)) + 1, dtype=np.float64)).reshape(shape)


def inputs():
    return wave([SAMPLES, 3], 1.7), wave([VALIDATION, 3], 0.9, 0.5)


def numbers(x):
    return (np.sin(3 * x[:, :1]) + x[:, 1:2] * x[:, 2:3]).reshape(-1, 1)


def labels(x):
    return (x.sum(axis=1) > 0.4).astype(np.int64) + (x.sum(axis=1) > -0.6).astype(np.int64)


def start(model):
    model.build((None, 3))
    phase = 0.0
    for variable in model.trainable_variables:
        phase += 1.0
        if variable.name == "gamma":
            continue
        variable.assign(wave(variable.shape, 2.3, phase, 0.5))
    return model


def dense(outputs, activation=None, **options):
    layers = keras.layers
    return start(
        keras.Sequential([layers.Dense(4, activation="tanh", **options), layers.Dense(outputs, activation=activation)])
    )


class Case:
    def __init__(self, model, target, compiled, fitted, callbacks=(), split=False):
        x, xv = inputs()
        self.model, self.validation = model, (xv, target(xv))
        model.compile(jit_compile=False, **compiled)
        how = {"validation_split": 0.25} if split else {"validation_data": self.validation}
        self.history = model.fit(
            x, target(x), batch_size=8, shuffle=False, verbose=0, callbacks=list(callbacks), **how, **fitted
        )

    def arrays(self, name):
        all_ = {f"{name}/history/{key}": np.array(value, np.float64) for key, value in self.history.history.items()}
        variables = self.model.trainable_variables + self.model.non_trainable_variables
        weights = [np.asarray(v).reshape(-1) for v in variables]
        all_[f"{name}/variables"] = np.concatenate(weights)
        all_[f"{name}/evaluate"] = np.array(self.model.evaluate(*self.validation, batch_size=4, verbose=0), np.float64)
        all_[f"{name}/predict"] = np.asarray(self.model.predict(self.validation[0], batch_size=4, verbose=0))
        return all_


def cases():
    optimizers, callbacks, regularizers = keras.optimizers, keras.callbacks, keras.regularizers
    weights = np.abs(wave([SAMPLES], 0.7)) + 0.25
    yield (
        "plain",
        Case(dense(1), numbers, {"optimizer": optimizers.SGD(0.125), "loss": "mse", "metrics": ["mae"]}, {"epochs": 3}),
    )
    yield (
        "weighted",
        Case(
            dense(1),
            numbers,
            {
                "optimizer": optimizers.SGD(0.125),
                "loss": "huber",
                "metrics": ["mae"],
                "weighted_metrics": [keras.metrics.MeanSquaredError(name="wmse")],
            },
            {"epochs": 2, "sample_weight": weights},
        ),
    )
    yield (
        "classes",
        Case(
            dense(3, "softmax"),
            labels,
            {
                "optimizer": optimizers.Adam(0.0625, beta_1=0.875, beta_2=0.9375, epsilon=2**-20),
                "loss": "sparse_categorical_crossentropy",
                "metrics": ["accuracy"],
            },
            {"epochs": 3, "class_weight": {0: 1.0, 1: 2.0, 2: 0.5}},
            split=True,
        ),
    )
    layers = keras.layers
    norm = keras.Sequential(
        [
            layers.Dense(4, kernel_regularizer=regularizers.L2(0.03125)),
            layers.BatchNormalization(momentum=0.75, epsilon=0.0078125),
            layers.ActivityRegularization(l2=0.0625),
            layers.Activation("relu"),
            layers.Dense(1),
        ]
    )
    yield (
        "norm",
        Case(start(norm), numbers, {"optimizer": optimizers.SGD(0.125, momentum=0.5), "loss": "mae"}, {"epochs": 3}),
    )
    yield (
        "accumulated",
        Case(
            dense(1),
            numbers,
            {"optimizer": optimizers.SGD(0.5, gradient_accumulation_steps=2), "loss": "mse"},
            {"epochs": 4},
        ),
    )
    yield (
        "clipped",
        Case(dense(1), numbers, {"optimizer": optimizers.SGD(0.5, global_clipnorm=0.25), "loss": "mse"}, {"epochs": 2}),
    )
    yield (
        "plateau",
        Case(
            dense(1),
            numbers,
            {"optimizer": optimizers.SGD(0.125), "loss": "mse"},
            {"epochs": 12},
            callbacks=[
                callbacks.ReduceLROnPlateau(patience=2, factor=0.5, cooldown=1),
                callbacks.EarlyStopping(patience=3, restore_best_weights=True),
            ],
        ),
    )


def two_of_each():
    """A model of two inputs and two outputs: numbers and labels."""
    layers = keras.layers
    first, second = keras.Input([2]), keras.Input([1])
    h = layers.Dense(4, activation="tanh")(layers.Concatenate()([first, second]))
    outputs = {"number": layers.Dense(1)(h), "label": layers.Dense(3, activation="softmax")(h)}
    model = keras.Model([first, second], outputs)
    phase = 0.0
    for variable in model.trainable_variables:
        phase += 1.0
        variable.assign(wave(variable.shape, 2.3, phase, 0.5))
    model.compile(
        optimizer=keras.optimizers.SGD(0.125),
        loss={"number": "mse", "label": "sparse_categorical_crossentropy"},
        loss_weights={"number": 0.5, "label": 2.0},
        metrics={"number": ["mae"], "label": ["accuracy"]},
        jit_compile=False,
    )
    parts = lambda x: ([x[:, :2], x[:, 2:]], {"number": numbers(x), "label": labels(x)})
    x, xv = inputs()
    weights = np.abs(wave([SAMPLES], 0.7)) + 0.25
    history = model.fit(
        *parts(x),
        sample_weight={"number": weights, "label": weights[::-1].copy()},
        batch_size=8, epochs=3, shuffle=False, verbose=0, validation_data=parts(xv),
    )
    arrays = {f"two/history/{key}": np.array(value, np.float64) for key, value in history.history.items()}
    arrays["two/variables"] = np.concatenate([np.asarray(v).reshape(-1) for v in model.trainable_variables])
    for name, value in model.predict(parts(xv)[0], batch_size=4, verbose=0).items():
        arrays[f"two/predict/{name}"] = np.asarray(value)
    return arrays


def make(path):
    before = keras.config.floatx()
    keras.config.set_floatx("float64")
    arrays = {}
    try:
        for name, case in cases():
            arrays |= case.arrays(name)
        arrays |= two_of_each()
    finally:
        keras.config.set_floatx(before)
    save_arrays(path, arrays)
    return arrays
