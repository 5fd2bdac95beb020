"""Calls of ops that put parts into tensors, find equal slices, and take optimizers' steps, for op_cases.py."""

import numpy as np
import tensorflow as tf

from cases import Variable

F2, F4, F8, I4, I8, U1 = np.float16, np.float32, np.float64, np.int32, np.int64, np.uint8
INF, NAN = np.inf, np.nan


def numbers(*shape, dtype=F4, low=-2, high=2, seed=0):
    return np.random.RandomState(seed).uniform(low, high, shape).astype(dtype)


def parts(cases):
    add = cases.add
    x = np.arange(12, dtype=F4).reshape(4, 3)
    for dtype in (I4, I8):
        pads = np.array([[1, 0], [2, 1]], dtype)
        add("PadV2", np.dtype(dtype).name, input=x, paddings=pads, constant_values=F4(7))
    add("PadV2", "bool", input=np.array([True]), paddings=np.array([[1, 2]], I4), constant_values=np.bool_(True))
    masks = {"plain": {}, "masks": dict(begin_mask=1, end_mask=2), "shrunk": dict(shrink_axis_mask=1)}
    for label, attrs in masks.items():
        value = {"plain": [[-1, -2]], "masks": [[-1], [-2], [-3]], "shrunk": [-1, -2]}[label]
        end = [2, 3] if label == "plain" else [3, 3]
        begin = [1, 2] if label == "masks" else [1, 1]
        arguments = dict(
            begin=np.array(begin, I4),
            end=np.array(end, I4),
            strides=np.array([1, 1], I4),
            value=np.array(value, F4),
            **attrs,
        )
        add("TensorStridedSliceUpdate", label, input=x, **arguments)
        add("ResourceStridedSliceAssign", label, ref=Variable(x), **arguments)
    rows, v = np.array([1, -1, 9], I4), -np.ones((3, 3), F4)
    for op in ("InplaceUpdate", "InplaceAdd", "InplaceSub"):
        add(op, "around", x=x, i=rows[:2], v=v[:2])
        add(op, "twice", x=x, i=np.array([2, 2, 0], I4), v=np.arange(9, dtype=F4).reshape(3, 3))
    add("Diag", "matrix", diagonal=x[:2, :2])
    add("Diag", "int64", diagonal=np.array([1, 2], I8))
    add("DiagPart", "cube", input=np.arange(16, dtype=I4).reshape(2, 2, 2, 2))
    add("ParallelConcat", "two", values=[x[:1], x[1:2]], shape=[2, 3])
    add("AccumulateNV2", "three", inputs=[x, x, -3 * x], shape=[4, 3])
    add("UnravelIndex", "vector", indices=np.array([5, 0, 23], I4), dims=np.array([2, 3, 4], I4))
    add("UnravelIndex", "scalar", indices=I8(7), dims=np.array([2, 5], I8))
    add("ScatterNdNonAliasingAdd", "rows", input=x, indices=np.array([[1], [1]], I4), updates=v[:2])
    add("DeepCopy", "a matrix", x=x)
    add("GuaranteeConst", "a matrix", input=x)


def slices(cases):
    add = cases.add
    rows = np.array([[1, 0], [2, 1], [1, 0], [0, 1]], I4)
    for op in ("UniqueV2", "UniqueWithCountsV2"):
        add(op, "rows", x=rows, axis=np.array([0], I8))
        add(op, "columns", x=rows[:, [0, 1, 0]], axis=np.array([-1], I4), out_idx=tf.int64)
        add(op, "no axis", x=np.array([3, 1, 3], F4), axis=np.array([], I8))
        add(op, "special", x=np.array([[0.0], [NAN], [-0.0], [NAN]], F4), axis=np.array([0], I8))


def functions(cases):
    add = cases.add
    for dtype, tolerance in ((F4, dict(rtol=2e-5, atol=1e-7)), (F8, dict(rtol=1e-12, atol=1e-15))):
        name = np.dtype(dtype).name
        a = np.array([0.25, 0.5, 1, 1, 2.5, 10, 10, 30, 100, 3], dtype)
        x = np.array([0.1, 2, 0.5, 4, 2, 5, 14, 31, 80, 0], dtype)
        for op in ("Igamma", "Igammac"):
            add(op, name, a=a, x=x, **tolerance)
            add(op, f"{name} ends", a=np.array([0, -1, 2, NAN, 2, 0], dtype), x=np.array([1, 1, -1, 1, NAN, 0], dtype))
        loose = dict(rtol=2e-3, atol=1e-6) if dtype == F4 else dict(rtol=1e-8, atol=1e-12)
        add("IgammaGradA", name, a=a, x=x, **loose)
        add("RandomGammaGrad", name, alpha=a[:-1], sample=x[:-1], **loose)
        b = np.array([0.5, 2, 3, 2, 1, 5, 0, -1, 2, 2], dtype)
        at = np.array([0.1, 0.5, 0.25, 0.75, 0.9, 0.3, 0.5, 0.5, 0, 1], dtype)
        add("Betainc", name, a=np.array([0.5, 2, 1, 3.5, 4, 10, 1, 1, 2, 2], dtype), b=b, x=at, **tolerance)
        add("Betainc", f"{name} scalars", a=dtype(2), b=dtype(3), x=at[:5], **tolerance)
        for op in ("FresnelCos", "FresnelSin"):
            points = np.array([-3, -1.5, -0.1, 0, 0.5, 1.7, 2.5, 10, 30], dtype)
            add(op, name, x=points, rtol=2e-5 if dtype == F4 else 1e-11, atol=2e-6 if dtype == F4 else 1e-12)
        x1, x2 = np.array([1, 1, -1, INF, NAN], dtype), np.array([2, 0, -2, 0, 1], dtype)
        add("NextAfter", name, x1=x1, x2=x2)
    close = np.array([1, 1 + 1e-6, 1.5, NAN, INF, 1], F4)
    add("ApproximateEqual", "float32", x=close, y=np.ones(6, F4))
    add("ApproximateEqual", "tolerance", x=np.array([1, 2, 3], F4), y=np.array([1.5, 2, 4], F4), tolerance=0.5)


# Of each rule: the slots' names and where they begin, the other arguments, the name of the gradient, flags.
RULES = {
    "Adadelta": (["accum", "accum_update"], dict(lr=0.1, rho=0.9, epsilon=1e-4), "grad", {}),
    "Adagrad": (["accum"], dict(lr=0.1), "grad", {"update_slots": [True, False]}),
    "AdagradV2": (["accum"], dict(lr=0.1, epsilon=1e-3), "grad", {"update_slots": [True, False]}),
    "AdagradDA": (
        ["gradient_accumulator", "gradient_squared_accumulator"],
        dict(lr=0.1, l1=0.05, l2=0.2, global_step=3),
        "grad",
        {},
    ),
    "ProximalAdagrad": (["accum"], dict(lr=0.1, l1=0.2, l2=0.3), "grad", {}),
    "ProximalGradientDescent": ([], dict(alpha=0.1, l1=0.2, l2=0.3), "delta", {}),
    "AdaMax": (["m", "v"], dict(beta1_power=0.81, lr=0.01, beta1=0.9, beta2=0.999, epsilon=1e-4), "grad", {}),
    "AdamWithAmsgrad": (
        ["m", "v", "vhat"],
        dict(beta1_power=0.81, beta2_power=0.998, lr=0.01, beta1=0.9, beta2=0.999, epsilon=1e-4),
        "grad",
        {},
    ),
    "Ftrl": (["accum", "linear"], dict(lr=0.1, l1=0.2, l2=0.3, lr_power=-0.5), "grad", {"multiply_linear_by_lr": [False, True]}),
    "FtrlV2": (
        ["accum", "linear"],
        dict(lr=0.1, l1=0.2, l2=0.3, l2_shrinkage=0.4, lr_power=-0.25),
        "grad",
        {"multiply_linear_by_lr": [False, True]},
    ),
    "AddSign": (["m"], dict(lr=0.1, alpha=1, sign_decay=0.5, beta=0.9), "grad", {}),
    "PowerSign": (["m"], dict(lr=0.1, logbase=1, sign_decay=0.5, beta=0.9), "grad", {}),
    "Momentum": (["accum"], dict(lr=0.1, momentum=0.9), "grad", {"use_nesterov": [False, True]}),
    "KerasMomentum": (["accum"], dict(lr=0.1, momentum=0.9), "grad", {"use_nesterov": [False, True]}),
    "RMSProp": (["ms", "mom"], dict(lr=0.01, rho=0.9, momentum=0.5, epsilon=1e-4), "grad", {}),
    "CenteredRMSProp": (["mg", "ms", "mom"], dict(lr=0.01, rho=0.9, momentum=0.5, epsilon=1e-4), "grad", {}),
}
ONLY_DENSE = {"AdaMax", "AdamWithAmsgrad", "AddSign", "PowerSign"}
IN_OP_CASES = {"AdagradV2", "Momentum", "KerasMomentum", "RMSProp", "CenteredRMSProp"}  # their dense steps


def steps(cases):
    for rule, (slots, scalars, gradient, flags) in RULES.items():
        flag, values = next(iter(flags.items()), (None, [None]))
        for value in values:
            attrs = {} if flag is None else {flag: value}
            for dtype in (F4, F8):
                given = {k: I8(v) if k == "global_step" else dtype(v) for k, v in scalars.items()}
                label = " ".join([f"{k}={v}" for k, v in attrs.items()] + [np.dtype(dtype).name])
                start = dict(var=Variable(numbers(4, 3, dtype=dtype, seed=1)))
                for i, slot in enumerate(slots):
                    positive = dict(low=0.3, high=1) if slot not in ("m", "mg", "mom", "linear") else dict(low=-0.3, high=0.3)
                    start[slot] = Variable(numbers(4, 3, dtype=dtype, seed=2 + i, **positive))
                tolerance = dict(rtol=4e-6, atol=1e-6) if dtype == F4 else dict(rtol=1e-13, atol=1e-14)
                if rule not in IN_OP_CASES:
                    grad = {gradient: numbers(4, 3, dtype=dtype, seed=9)}
                    cases.add(f"ResourceApply{rule}", label, **start, **given, **grad, **attrs, **tolerance)
                if rule in ONLY_DENSE:
                    continue
                for kind, rows in (("once", [3, 0]), ("twice", [1, 3, 1])):
                    cases.add(
                        f"ResourceSparseApply{rule}",
                        f"{label} {kind}",
                        **start,
                        **given,
                        grad=numbers(len(rows), 3, dtype=dtype, seed=9),
                        indices=np.array(rows, I4 if kind == "once" else I8),
                        **attrs,
                        **tolerance,
                    )


def update_family(cases):
    for part in (parts, slices, functions, steps):
        part(cases)
