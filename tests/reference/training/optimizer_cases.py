"""What Keras and TensorFlow 1 compute of optimizers that training_cases.py has not (optimizers.npz, float64).

    optimizer/NAME     the variables a [3] and b [2, 2], one after the other, after the steps in `steps`
    sparse/NAME        the table [8, 2] after the steps in `sparse_steps`, by gradients of looked-up rows
    accumulated/NAME   as optimizer/NAME, where several calls make one step
    average/NAME       the moving average of `a` after the steps in `steps`
    schedule/NAME      the rate of the steps in `rate_steps`

NAMEs are those of the tests that make the same (tests/nn/training/optimizers/), which also say the options. What is
trained is training_cases.loss.
"""

import keras
import numpy as np
import tensorflow as tf
import training_cases
from cases import save_arrays

STEPS = training_cases.STEPS
RATE_STEPS = [0, 1, 9, 10, 11, 29, 30, 31, 50, 69, 71, 99, 101, 130, 209, 211, 1000]
SPARSE_STEPS = [1, 2, 20]
# Rows that are looked up: some twice, some not at each step, some never.
IDS = [[0, 5, 5, 7], [5, 1, 1, 1], [7, 7, 0, 2], [0, 5, 5, 7]]

schedules = keras.optimizers.schedules
optimizers = keras.optimizers
train = tf.compat.v1.train

# Options are sums of few powers of two: Keras passes most of them through float32.
KERAS = {
    "adadelta": lambda: optimizers.Adadelta(0.5, rho=0.9375, epsilon=2**-10),
    "adadelta_defaults": lambda: optimizers.Adadelta(),
    "adadelta_decay": lambda: optimizers.Adadelta(0.125, rho=0.875, epsilon=2**-6, weight_decay=0.125),
    "adamax": lambda: optimizers.Adamax(2**-6, beta_1=0.875, beta_2=0.9375, epsilon=2**-20),
    "adamax_defaults": lambda: optimizers.Adamax(),
    "nadam": lambda: optimizers.Nadam(2**-6, beta_1=0.875, beta_2=0.9375, epsilon=2**-20),
    "nadam_defaults": lambda: optimizers.Nadam(),
    "amsgrad": lambda: optimizers.Adam(2**-4, beta_1=0.875, beta_2=0.75, epsilon=2**-20, amsgrad=True),
    "adamw_amsgrad": lambda: optimizers.AdamW(
        2**-4, weight_decay=0.125, beta_1=0.5, beta_2=0.75, epsilon=2**-12, amsgrad=True
    ),
    "adam_decay": lambda: optimizers.Adam(2**-6, beta_1=0.875, beta_2=0.9375, epsilon=2**-20, weight_decay=0.25),
    "ftrl": lambda: optimizers.Ftrl(0.125, initial_accumulator_value=0.25),
    "ftrl_defaults": lambda: optimizers.Ftrl(),
    "ftrl_regularized": lambda: optimizers.Ftrl(
        0.25,
        learning_rate_power=-0.75,
        initial_accumulator_value=0.5,
        l1_regularization_strength=0.125,
        l2_regularization_strength=0.0625,
        l2_shrinkage_regularization_strength=0.03125,
        beta=0.25,
    ),
    "lion": lambda: optimizers.Lion(2**-9, beta_1=0.875, beta_2=0.9375),
    "lion_decay": lambda: optimizers.Lion(2**-8, beta_1=0.5, beta_2=0.75, weight_decay=0.5),
    "lamb": lambda: optimizers.Lamb(2**-7, beta_1=0.875, beta_2=0.9375, epsilon=2**-12),
    "lamb_decay": lambda: optimizers.Lamb(2**-7, beta_1=0.75, beta_2=0.96875, epsilon=2**-12, weight_decay=0.125),
    # Without a large epsilon_1 the step is noise where the gradient has nearly vanished.
    "adafactor": lambda: optimizers.Adafactor(2**-5, beta_2_decay=-0.75, epsilon_1=2**-4, epsilon_2=2**-8),
    "adafactor_clipped": lambda: optimizers.Adafactor(
        2**-2, beta_2_decay=-0.5, epsilon_1=2**-3, epsilon_2=2**-4, clip_threshold=0.5
    ),
    "muon": lambda: optimizers.Muon(2**-6, adam_beta_1=0.875, adam_beta_2=0.9375, epsilon=2**-20, momentum=0.875),
    "muon_plain": lambda: optimizers.Muon(
        2**-6,
        adam_beta_1=0.875,
        adam_beta_2=0.9375,
        epsilon=2**-20,
        momentum=0.5,
        nesterov=False,
        ns_steps=3,
        rms_rate=None,
        weight_decay=0.25,
        adam_weight_decay=0.25,
        adam_lr_ratio=0.5,
    ),
    "sgd_polynomial": lambda: optimizers.SGD(SCHEDULES["polynomial"]()),
    "sgd_restarts": lambda: optimizers.SGD(SCHEDULES["restarts"](), momentum=0.5),
    "multi": lambda: several(),
}


def several():
    """Adam for the vector, SGD with momentum for the matrix."""
    adam = optimizers.Adam(2**-6, beta_1=0.875, beta_2=0.9375, epsilon=2**-20, weight_decay=0.25)
    sgd = optimizers.SGD(SCHEDULES["polynomial"](), momentum=0.5)
    return optimizers.MultiOptimizer(lambda variable: adam if len(variable.shape) == 1 else sgd)


TF1 = {
    "momentum": lambda: train.MomentumOptimizer(2**-6, 0.875),
    "nesterov": lambda: train.MomentumOptimizer(2**-6, 0.875, use_nesterov=True),
}

RESTARTS = {"t_mul": 2.0, "m_mul": 0.5, "alpha": 0.125}
SCHEDULES = {
    "polynomial": lambda: schedules.PolynomialDecay(2**-4, 50, 2**-8, power=2.0),
    "polynomial_cycle": lambda: schedules.PolynomialDecay(2**-4, 30, 2**-8, cycle=True),
    "inverse_time": lambda: schedules.InverseTimeDecay(2**-4, 30, 0.5),
    "inverse_time_staircase": lambda: schedules.InverseTimeDecay(2**-4, 30, 0.5, staircase=True),
    "restarts": lambda: schedules.CosineDecayRestarts(2**-4, 30, **RESTARTS),
    "restarts_even": lambda: schedules.CosineDecayRestarts(2**-4, 30, t_mul=1.0, m_mul=0.5),
    "linear_cosine": lambda: lambda step: train.linear_cosine_decay(2**-4, step, 90, 1.5, 0.125, 0.25)(),
    "natural_exp": lambda: lambda step: train.natural_exp_decay(2**-4, step, 30, 0.5)(),
    "natural_exp_staircase": lambda: lambda step: train.natural_exp_decay(2**-4, step, 30, 0.5, staircase=True)(),
}


def start():
    return tf.Variable(np.array([0.0, 0.5, 1.0])), tf.Variable(np.array([[0.5, -1.0], [2.0, 0.0]]))


def run(apply, steps=STEPS):
    """`apply` is given a step's number, gradients and variables."""
    a, b = start()
    rows = []
    for step in range(1, steps[-1] + 1):
        with tf.GradientTape() as tape:
            y = training_cases.loss(a, b)
        apply(step, tape.gradient(y, [a, b]), [a, b])
        if step in steps:
            rows.append(np.concatenate([a.numpy(), b.numpy().ravel()]))
    return np.array(rows)


def by_keras(optimizer):
    return training_cases.train(optimizer)


def by_tf1(optimizer):
    return run(lambda _, grads, variables: optimizer.apply_gradients(zip(grads, variables, strict=True)))


def number(x):
    return tf.constant(x, tf.float64)


class Slots:
    """Makes a variable of each name, like `v`, when it is first asked for."""

    def __init__(self, v):
        self.v, self.made = v, {}

    def __call__(self, name, value=0.0):
        if name not in self.made:
            self.made[name] = tf.Variable(np.full(self.v.shape, value))
        return self.made[name].handle


def by_raw_op(apply):
    """`apply(step, gradient, variable, slots)`."""
    slots = {}

    def step_of_all(step, grads, variables):
        for i, (g, v) in enumerate(zip(grads, variables, strict=True)):
            apply(step, g, v, slots.setdefault(i, Slots(v)))

    return run(step_of_all)


def adagrad_da(step, g, v, slot):
    tf.raw_ops.ResourceApplyAdagradDA(
        var=v.handle,
        gradient_accumulator=slot("sum"),
        gradient_squared_accumulator=slot("squares", 0.25),
        grad=g,
        lr=number(0.125),
        l1=number(0.03125),
        l2=number(0.0625),
        global_step=tf.constant(step, tf.int64),
    )


def sign_decay(step):
    """polynomial_decay(1, 64, end 0) of steps from 0."""
    return max(1 - (step - 1) / 64, 0.0)


def add_sign(step, g, v, slot):
    tf.raw_ops.ResourceApplyAddSign(
        var=v.handle,
        m=slot("m"),
        lr=number(2**-6),
        alpha=number(1.0),
        sign_decay=number(sign_decay(step)),
        beta=number(0.875),
        grad=g,
    )


def power_sign(step, g, v, slot):
    tf.raw_ops.ResourceApplyPowerSign(
        var=v.handle,
        m=slot("m"),
        lr=number(2**-6),
        logbase=number(np.log(2.0)),
        sign_decay=number(sign_decay(step)),
        beta=number(0.875),
        grad=g,
    )


# TensorFlow's classes of these do not take float64.
def proximal(_, g, v, slot):
    options = {"var": v.handle, "alpha": number(2**-5), "l1": number(0.125), "l2": number(0.25)}
    if isinstance(g, tf.IndexedSlices):
        tf.raw_ops.ResourceSparseApplyProximalGradientDescent(grad=g.values, indices=g.indices, **options)
    else:
        tf.raw_ops.ResourceApplyProximalGradientDescent(delta=g, **options)


def proximal_adagrad(_, g, v, slot):
    options = {"lr": number(0.125), "l1": number(0.125), "l2": number(0.0625)}
    options |= {"var": v.handle, "accum": slot("accum", 0.25)}
    if isinstance(g, tf.IndexedSlices):
        tf.raw_ops.ResourceSparseApplyProximalAdagrad(grad=g.values, indices=g.indices, **options)
    else:
        tf.raw_ops.ResourceApplyProximalAdagrad(grad=g, **options)


RAW = {
    "adagrad_da": adagrad_da,
    "add_sign": add_sign,
    "power_sign": power_sign,
    "proximal": proximal,
    "proximal_adagrad": proximal_adagrad,
}


class ScheduleFree:
    """Defazio et al. 2024, in NumPy: with TensorFlow below, Keras 3.15 reads `momentum` when it has changed already."""

    rate, beta1, beta2, epsilon, warmup, decay = 2**-4, 0.875, 0.9375, 2**-3, 8, 0.125

    def __init__(self, v):
        self.z, self.x, self.s = v.numpy(), v.numpy(), np.zeros(v.shape)

    def step(self, t, g, v):
        self.s = self.beta2 * self.s + (1 - self.beta2) * g**2
        direction = g / (np.sqrt(self.s / (1 - self.beta2**t)) + self.epsilon) + self.decay * v.numpy()
        self.z = self.z - self.rate * min(t / self.warmup, 1) * direction
        self.x = (1 - 1 / t) * self.x + self.z / t
        v.assign((1 - self.beta1) * self.z + self.beta1 * self.x)


def schedule_free():
    kept = {}

    def apply(t, grads, variables):
        for i, (g, v) in enumerate(zip(grads, variables, strict=True)):
            kept.setdefault(i, ScheduleFree(v)).step(t, g.numpy(), v)

    return run(apply)


class ZeroRms(train.RMSPropOptimizer):
    """Mean squares begin at 0, as Keras's."""

    def _create_slots(self, var_list):
        super()._create_slots(var_list)
        for v in var_list:
            slot = self.get_slot(v, "rms")
            if not hasattr(slot, "cleared"):
                slot.assign(tf.zeros_like(slot))
                slot.cleared = True


def sparse_adagrad_da():
    count = tf.Variable(0, dtype=tf.int64)
    optimizer = train.AdagradDAOptimizer(0.125, count, 0.25, 0.03125, 0.0625)
    return optimizer, count


SPARSE = {
    "sgd": lambda: train.GradientDescentOptimizer(2**-4),
    "momentum": lambda: train.MomentumOptimizer(2**-5, 0.875),
    "nesterov": lambda: train.MomentumOptimizer(2**-5, 0.875, use_nesterov=True),
    "adagrad": lambda: train.AdagradOptimizer(0.125, 0.25),
    "adagrad_da": sparse_adagrad_da,
    "adadelta": lambda: train.AdadeltaOptimizer(0.5, 0.9375, 2**-10),
    "rmsprop": lambda: ZeroRms(2**-6, 0.875, 0.5, 2**-6),
    "rmsprop_centered": lambda: ZeroRms(2**-8, 0.875, 0.5, 2**-6, centered=True),
    "ftrl": lambda: train.FtrlOptimizer(
        0.25,
        initial_accumulator_value=0.5,
        l1_regularization_strength=0.125,
        l2_regularization_strength=0.0625,
        l2_shrinkage_regularization_strength=0.03125,
    ),
    "adam": lambda: train.AdamOptimizer(2**-5, 0.875, 0.9375, 2**-20),
}


def by_rows(optimizer, raw=None):
    count = None
    if isinstance(optimizer, tuple):
        optimizer, count = optimizer
    table = tf.Variable(training_cases.wave([8, 2], 2.0))
    rows, slots = [], Slots(table)
    for step in range(1, SPARSE_STEPS[-1] + 1):
        ids = tf.constant(IDS[(step - 1) % len(IDS)])
        with tf.GradientTape() as tape:
            y = tf.reduce_sum((tf.gather(table, ids) - 0.5) ** 2)
        g = tape.gradient(y, table)
        if raw is not None:
            different, position = tf.unique(g.indices)
            total = tf.math.unsorted_segment_sum(g.values, position, tf.size(different))
            raw(step, tf.IndexedSlices(total, different), table, slots)
        else:
            optimizer.apply_gradients([(g, table)])
        if count is not None:
            count.assign_add(1)
        if step in SPARSE_STEPS:
            rows.append(table.numpy())
    return np.array(rows)


ACCUMULATED = {
    "sgd": lambda: optimizers.SGD(2**-4, momentum=0.5, gradient_accumulation_steps=4),
    "adam": lambda: optimizers.Adam(
        2**-4, beta_1=0.875, beta_2=0.9375, epsilon=2**-20, gradient_accumulation_steps=3
    ),
}


def average(counted):
    count = tf.Variable(0, dtype=tf.int64)
    ema = tf.train.ExponentialMovingAverage(0.9375, num_updates=count if counted else None)
    shadow = []

    def apply(step, grads, variables):
        for g, v in zip(grads, variables, strict=True):
            if step == 1:
                ema.apply([v])  # what it begins with
            v.assign_sub(2**-4 * g)
        count.assign_add(1)
        ema.apply(variables)
        if step in STEPS:
            shadow.append(ema.average(variables[0]).numpy())

    run(apply)
    return np.array(shadow)


def make(path):
    before = keras.config.floatx()
    keras.config.set_floatx("float64")
    arrays = {
        "steps": np.array(STEPS),
        "rate_steps": np.array(RATE_STEPS),
        "sparse_steps": np.array(SPARSE_STEPS),
        "sparse_ids": np.array(IDS),
    }
    for name, maker in KERAS.items():
        arrays[f"optimizer/{name}"] = by_keras(maker())
    for name, maker in TF1.items():
        arrays[f"optimizer/tf1_{name}"] = by_tf1(maker())
    for name, apply in RAW.items():
        arrays[f"optimizer/{name}"] = by_raw_op(apply)
    arrays["optimizer/schedule_free"] = schedule_free()
    for name, maker in SPARSE.items():
        arrays[f"sparse/{name}"] = by_rows(maker())
    for raw in (proximal, proximal_adagrad):
        arrays[f"sparse/{raw.__name__}"] = by_rows(None, raw)
    for name, maker in ACCUMULATED.items():
        arrays[f"accumulated/{name}"] = by_keras(maker())
    arrays["average/plain"] = average(False)
    arrays["average/counted"] = average(True)
    for name, maker in SCHEDULES.items():
        schedule = maker()
        arrays[f"schedule/{name}"] = np.array([float(schedule(step)) for step in RATE_STEPS])
    keras.config.set_floatx(before)
    save_arrays(path, arrays)
    return arrays
