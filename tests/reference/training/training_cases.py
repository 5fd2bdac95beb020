"""What Keras computes of training: optimizers over many steps, schedules, losses, attention
(training.npz, float64).

    optimizer/NAME   the variables a [3] and b [2, 2], one after the other, after the steps in `steps`
    schedule/NAME    the rate of the steps in `rate_steps`
    loss/NAME        of each sample, then, with weights, their mean and the gradient of that by prediction
    input/...        what losses are given
    attention/NAME   what MultiHeadAttention gives; its inputs and variables are `wave`s

NAMEs are those of the tests that make the same (tests/nn/training/training_reference_test.cc), which also say the options.
"""

import keras
import numpy as np
import tensorflow as tf
from cases import save_arrays

STEPS = [1, 2, 10, 100]
RATE_STEPS = [0, 1, 9, 10, 11, 29, 30, 31, 50, 99, 100, 130, 1000]

schedules = keras.optimizers.schedules
optimizers = keras.optimizers

# Options are sums of few powers of two: Keras passes most of them through float32.
SCHEDULES = {
    "piecewise": lambda: schedules.PiecewiseConstantDecay([10, 30, 50], [2**-6, 2**-7, 2**-8, 2**-9]),
    "exponential": lambda: schedules.ExponentialDecay(2**-6, 30, 0.5),
    "staircase": lambda: schedules.ExponentialDecay(2**-6, 30, 0.5, staircase=True),
    "cosine": lambda: schedules.CosineDecay(2**-6, 100, alpha=0.125),
    "warmup": lambda: schedules.CosineDecay(2**-9, 90, warmup_target=2**-6, warmup_steps=10),
}

OPTIMIZERS = {
    "sgd": lambda: optimizers.SGD(2**-4),
    "momentum": lambda: optimizers.SGD(2**-6, momentum=0.875),
    "nesterov": lambda: optimizers.SGD(2**-6, momentum=0.875, nesterov=True),
    "sgd_decay": lambda: optimizers.SGD(2**-6, momentum=0.875, weight_decay=0.125),
    "adam": lambda: optimizers.Adam(2**-6, beta_1=0.875, beta_2=0.9375, epsilon=2**-20),
    "adam_defaults": lambda: optimizers.Adam(),
    "adamw": lambda: optimizers.AdamW(2**-6, weight_decay=0.125, beta_1=0.75, beta_2=0.96875, epsilon=2**-12),
    "rmsprop": lambda: optimizers.RMSprop(2**-7, rho=0.9375, epsilon=2**-6),
    "rmsprop_defaults": lambda: optimizers.RMSprop(),
    "rmsprop_momentum": lambda: optimizers.RMSprop(
        2**-8, rho=0.96875, momentum=0.5, epsilon=2**-10, weight_decay=0.125
    ),
    "rmsprop_centered": lambda: optimizers.RMSprop(2**-10, rho=0.875, momentum=0.5, centered=True, epsilon=2**-6),
    # Keras adds epsilon to the sum, TensorFlow's op to the root.
    "adagrad": lambda: optimizers.Adagrad(0.125, initial_accumulator_value=0.25, epsilon=0.0),
    "adagrad_defaults": lambda: optimizers.Adagrad(),
    **{f"momentum_{name}": lambda make=make: optimizers.SGD(make(), momentum=0.875) for name, make in SCHEDULES.items()},
    "adam_warmup": lambda: optimizers.Adam(SCHEDULES["warmup"](), beta_1=0.875, beta_2=0.9375, epsilon=2**-20),
    "adamw_cosine": lambda: optimizers.AdamW(
        SCHEDULES["cosine"](), weight_decay=0.125, beta_1=0.875, beta_2=0.9375, epsilon=2**-20
    ),
}


def loss(a, b):
    """No coordinate is like another, and all are coupled."""
    target, weight = np.array([1.0, -2.0, 0.5]), np.array([1.5, 0.25, 4.0])
    return tf.reduce_sum(weight * (a - target) ** 2) + tf.reduce_sum((tf.tanh(b) - 0.5) ** 2) * (1 + a[0] ** 2)


def train(optimizer):
    a = keras.Variable(np.array([0.0, 0.5, 1.0]), name="a")
    b = keras.Variable(np.array([[0.5, -1.0], [2.0, 0.0]]), name="b")
    rows = []
    for step in range(1, STEPS[-1] + 1):
        with tf.GradientTape() as tape:
            y = loss(a.value, b.value)
        optimizer.apply_gradients(zip(tape.gradient(y, [a.value, b.value]), [a, b], strict=True))
        if step in STEPS:
            rows.append(np.concatenate([a.numpy(), b.numpy().ravel()]))
    return np.array(rows)


INPUTS = {
    "values": np.array([[0.0, 1.5, -2.0], [3.0, -0.5, 0.25], [40.0, -30.0, 100.0], [-1.0, 1.0, 0.125]]),
    "targets": np.array([[1.0, 1.0, -2.5], [0.0, -0.5, 0.5], [38.0, -30.0, -100.0], [-1.5, 0.0, 0.25]]),
    "logits": np.array([[0.0, 1.5, -2.0], [3.0, -0.5, 0.25], [40.0, -30.0, 100.0], [-1000.0, 1000.0, 0.125]]),
    "probabilities": np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [1e-9, 0.3, 0.5], [0.75, 0.125, 2.0]]),
    "truths": np.array([[0.0, 1.0, 1.0], [1.0, 1.0, 0.0], [0.25, 0.5, 0.75], [1.0, 1.0, 0.0]]),
    "one_hot": np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.25, 0.5, 0.25], [0.0, 1.0, 0.0]]),
    "labels": np.array([1, 0, 1, 1]),
    "weights": np.array([1.0, 0.5, 2.0, 0.0]),
}

losses = keras.losses

# Loss, prediction, target. Labels for probabilities above 1 make no sense, but must not differ.
LOSSES = {
    "mean_squared_error": (losses.MeanSquaredError, {}, "values", "targets"),
    "mean_absolute_error": (losses.MeanAbsoluteError, {}, "values", "targets"),
    "huber": (losses.Huber, {}, "values", "targets"),
    "huber_delta": (losses.Huber, {"delta": 0.25}, "values", "targets"),
    "binary": (losses.BinaryCrossentropy, {}, "probabilities", "truths"),
    "binary_logits": (losses.BinaryCrossentropy, {"from_logits": True}, "logits", "truths"),
    "binary_smooth": (losses.BinaryCrossentropy, {"from_logits": True, "label_smoothing": 0.125}, "logits", "truths"),
    "categorical": (losses.CategoricalCrossentropy, {}, "probabilities", "one_hot"),
    "categorical_logits": (losses.CategoricalCrossentropy, {"from_logits": True}, "logits", "one_hot"),
    "categorical_smooth": (losses.CategoricalCrossentropy, {"label_smoothing": 0.125}, "probabilities", "one_hot"),
    "sparse": (losses.SparseCategoricalCrossentropy, {}, "probabilities", "labels"),
    "sparse_logits": (losses.SparseCategoricalCrossentropy, {"from_logits": True}, "logits", "labels"),
}


def loss_values(kind, options, prediction, target):
    prediction, target = tf.constant(INPUTS[prediction]), tf.constant(INPUTS[target])
    each = kind(reduction="none", **options)(target, prediction)
    with tf.GradientTape() as tape:
        tape.watch(prediction)
        mean = kind(**options)(target, prediction, sample_weight=tf.constant(INPUTS["weights"]))
    return np.concatenate([each, [mean], np.ravel(tape.gradient(mean, prediction))])


def wave(shape, start=0.0):
    """As in tests/nn/layers/layers.h."""
    return np.sin(start + 1.7 * np.arange(np.prod(shape, dtype=int))).reshape(shape)


MASK = np.array([[True, False, True, True], [False, True, False, False], [True, True, False, False]])

# Options of the layer, inputs, options of the call.
ATTENTION = {
    "itself": ({"num_heads": 2, "key_dim": 3}, [[2, 3, 6]] * 2, {}),
    "causal": ({"num_heads": 2, "key_dim": 3}, [[2, 3, 6]] * 2, {"use_causal_mask": True}),
    "other": ({"num_heads": 2, "key_dim": 4}, [[2, 3, 6], [2, 4, 5]], {}),
    "keys": ({"num_heads": 2, "key_dim": 4, "use_bias": False}, [[2, 3, 6], [2, 4, 5], [2, 4, 5]], {}),
    "masked": ({"num_heads": 2, "key_dim": 4}, [[2, 3, 6], [2, 4, 5]], {"attention_mask": MASK[None]}),
    "masked_causal": (
        {"num_heads": 2, "key_dim": 4},
        [[2, 3, 6], [2, 4, 5]],
        {"attention_mask": MASK[None], "use_causal_mask": True},
    ),
}


def attention(options, shapes, call):
    """Inputs are wave(shape, 1), wave(shape, 2), ... (both the same of `itself`), variables wave(shape, 10), ..."""
    layer = keras.layers.MultiHeadAttention(**options)
    inputs = [tf.constant(wave(shape, 1.0 + i)) for i, shape in enumerate(shapes)]
    if shapes[0] == shapes[1]:
        inputs[1] = inputs[0]
    layer(*inputs, **call)
    by_name = {v.path.split("/", 1)[1]: v for v in layer.weights}
    names = [f"{part}/{kind}" for part in ("query", "key", "value", "attention_output") for kind in ("kernel", "bias")]
    present = [name for name in names if name in by_name]
    assert len(present) == len(by_name), by_name.keys()
    for i, name in enumerate(present):
        by_name[name].assign(wave(by_name[name].shape, 10.0 + i))
    return layer(*inputs, **call).numpy()


def make(path):
    before = keras.config.floatx()
    keras.config.set_floatx("float64")
    arrays = {"steps": np.array(STEPS), "rate_steps": np.array(RATE_STEPS)}
    for name, maker in OPTIMIZERS.items():
        arrays[f"optimizer/{name}"] = train(maker())
    for name, maker in SCHEDULES.items():
        schedule = maker()
        arrays[f"schedule/{name}"] = np.array([float(schedule(step)) for step in RATE_STEPS])
    for name, case in LOSSES.items():
        arrays[f"loss/{name}"] = loss_values(*case)
    for name, array in INPUTS.items():
        arrays[f"input/{name}"] = array
    for name, case in ATTENTION.items():
        arrays[f"attention/{name}"] = attention(*case)
    keras.config.set_floatx(before)
    save_arrays(path, arrays)
    return arrays
