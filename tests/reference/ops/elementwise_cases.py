"""Calls of elementwise ops that are called seldom, for op_cases.py: every pair of special values, and ordinary ones."""

import numpy as np

F4, F8, I1, I4, I8, U1 = np.float32, np.float64, np.int8, np.int32, np.int64, np.uint8
SPECIAL = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 0.5]
UNARY = "Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh".split()
ACTIVATIONS = "Elu Selu Relu6 Softsign LeakyRelu".split()
PAIRS = "Xdivy Xlogy Xlog1py DivNoNan MulNoNan TruncateDiv TruncateMod".split()
SPECIAL_FUNCTIONS = """Lgamma Digamma Erfinv Ndtri Expint Dawsn Spence BesselJ0 BesselJ1 BesselY0 BesselY1 BesselI0 BesselI1
    BesselI0e BesselI1e BesselK0 BesselK1 BesselK0e BesselK1e""".split()
BITS = "BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift".split()


def pairs(values, dtype):
    left, right = np.meshgrid(np.array(values, dtype), np.array(values, dtype))
    return left.ravel(), right.ravel()


def elementwise(cases):
    for dtype in (F4, F8):
        name = np.dtype(dtype).name
        tolerance = dict(rtol=1e-6, atol=1e-7) if dtype == F4 else dict(rtol=1e-14, atol=1e-15)
        x = np.array(SPECIAL, dtype)
        left, right = pairs(SPECIAL, dtype)
        ordinary = np.linspace(-3, 3, 13, dtype=dtype)
        for op in UNARY:
            cases.add(op, f"special {name}", x=x, **tolerance)
            cases.add(op, f"ordinary {name}", x=ordinary, **tolerance)
        for op in ACTIVATIONS:
            cases.add(op, f"special {name}", features=x, **tolerance)
            cases.add(op, f"ordinary {name}", features=ordinary * dtype(3), **tolerance)
        cases.add("LeakyRelu", f"alpha {name}", features=ordinary, alpha=1.5, **tolerance)
        for op in PAIRS:
            cases.add(op, f"special {name}", x=left, y=right, **tolerance)
        cases.add("Atan2", f"special {name}", y=left, x=right, **tolerance)
        for op in ("EluGrad", "SeluGrad"):
            cases.add(op, f"special {name}", gradients=left, outputs=right, **tolerance)
        for op in ("Relu6Grad", "SoftsignGrad", "LeakyReluGrad"):
            cases.add(op, f"special {name}", gradients=left, features=right, **tolerance)
    # In float64: TensorFlow's float32 has other formulas, and is less exact.
    ends = np.array(SPECIAL + [-2, -0.5, -1.5, 0.25, 2, 3.75, 20, 100], F8)
    for op in SPECIAL_FUNCTIONS:
        cases.add(op, "ends", x=ends, rtol=1e-12, atol=1e-14)
    order, x = np.array([0, 1, 2, 1.5, -1, 3, np.nan, 0, 2, 4], F8), np.array([1, 1, 2.5, 1, 1, -0.5, 1, 0, 0, 0.25], F8)
    cases.add("Polygamma", "ends", a=order, x=x, rtol=1e-12)
    order, x = np.array([2, 1, 0.5, 2, 3, 2, 3, 1.5], F8), np.array([1, 1, 1, 0, -1, -0.5, -1.5, -0.5], F8)
    cases.add("Zeta", "ends", x=order, q=x, rtol=1e-12)
    z = np.array([0.5 + 0.25j, -1.5 + 2j, 3 - 0.5j, -0.25 - 1j], np.complex64)
    for op in UNARY:
        cases.add(op, "complex", x=z, rtol=2e-6, atol=1e-6)
    for dtype in (I1, U1, I4, I8):
        name = np.dtype(dtype).name
        info = np.iinfo(dtype)
        values = [info.min, 0, 1, 7, 8, 100, info.max] + ([-1] if info.min < 0 else [])
        left, right = pairs(values, dtype)
        for op in BITS:
            cases.add(op, name, x=left, y=right)
        cases.add("Invert", name, x=np.array(values, dtype))
        cases.add("PopulationCount", name, x=np.array(values, dtype))
        # TensorFlow divides the lowest number by -1 as the processor does, which stops the process.
        divisor = np.array([v for v in values if v not in (0, -1)], dtype)
        left, right = (a.ravel() for a in np.meshgrid(np.array(values, dtype), divisor))
        cases.add("TruncateDiv", name, x=left, y=right)
    for dtype in (I4, I8):
        x = np.array([-7, 7, -7, 7, 0, -8], dtype)
        cases.add("TruncateMod", np.dtype(dtype).name, x=x, y=np.array([2, -2, -2, 2, -3, 4], dtype))
