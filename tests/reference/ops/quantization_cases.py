"""Calls of ops that quantize and go back at once, for op_cases.py."""

import numpy as np

F4, F8, I4, NAN = np.float32, np.float64, np.int32, np.nan


def numbers(*shape, dtype=F4, seed=0, low=-2.0, high=2.0):
    generator = np.random.Generator(np.random.PCG64(seed))
    return np.round(generator.uniform(low, high, shape), 3).astype(dtype)


def fake_quant(cases):
    x, dy = numbers(3, 5, low=-8, high=8), numbers(3, 5, seed=1)
    for label, attrs in {
        "default": {},
        "above": dict(min=1.0, max=3.0),
        "below": dict(min=-3.0, max=-1.0, num_bits=4, narrow_range=True),
        "bits16": dict(min=-0.3, max=5.1, num_bits=16),
    }.items():
        cases.add("FakeQuantWithMinMaxArgs", label, inputs=x, **attrs)
        cases.add("FakeQuantWithMinMaxArgsGradient", label, gradients=dy, inputs=x, **attrs)
    attrs = dict(num_bits=3, narrow_range=True)
    for label, low, high in (("around", -1.3, 3.1), ("above", 0.5, 3.0), ("zero", 0.0, 0.0), ("turned", 3.0, 1.0)):
        ends = dict(min=np.array(low, F4), max=np.array(high, F4))
        cases.add("FakeQuantWithMinMaxVars", label, inputs=x, **ends)
        cases.add("FakeQuantWithMinMaxVarsGradient", label, gradients=dy, inputs=x, **ends, rtol=2e-6)
        cases.add("FakeQuantWithMinMaxVars", label + "-narrow", inputs=x, **ends, **attrs)
    ends = dict(min=np.array([-1, 0, 0.5, -2, -7], F4), max=np.array([1, 0, 4, -1, 5], F4))
    for label, attrs in {"default": {}, "narrow": attrs}.items():
        cases.add("FakeQuantWithMinMaxVarsPerChannel", label, inputs=x, **ends, **attrs)
        cases.add(
            "FakeQuantWithMinMaxVarsPerChannelGradient", label, gradients=dy, inputs=x, **ends, **attrs, rtol=2e-6
        )


def quantize_and_dequantize(cases):
    for dtype in (F4, F8):
        x = numbers(2, 7, dtype=dtype, low=-3, high=3)
        ends = dict(input_min=np.array(-1.3, dtype), input_max=np.array(2.1, dtype))
        columns = dict(input_min=np.linspace(-3, 0, 7).astype(dtype), input_max=np.linspace(1, 2, 7).astype(dtype))
        name = np.dtype(dtype).name
        for label, attrs in {
            "found": {},
            "given": dict(range_given=True),
            "unsigned": dict(range_given=True, signed_input=False, num_bits=5),
            "up": dict(range_given=True, round_mode="HALF_UP", num_bits=2),
            "narrow": dict(narrow_range=True, num_bits=3),
            "one-bit": dict(range_given=True, num_bits=1),
        }.items():
            cases.add("QuantizeAndDequantizeV2", f"{name}-{label}", input=x, **ends, **attrs)
            cases.add("QuantizeAndDequantizeV4", f"{name}-{label}", input=x, **ends, **attrs)
        cases.add("QuantizeAndDequantizeV2", f"{name}-columns", input=x, **columns, axis=1, num_bits=6)
        # V2 and V4 refuse a range for each column where it is given, as well as one for all.
        bits = dict(num_bits=np.array(8, I4))
        cases.add("QuantizeAndDequantizeV3", f"{name}-columns", input=x, **columns, **bits, axis=1)
        cases.add("QuantizeAndDequantizeV3", name, input=x, **ends, num_bits=np.array(5, I4))
        dy = numbers(2, 7, dtype=dtype, seed=1)
        cases.add("QuantizeAndDequantizeV4Grad", name, gradients=dy, input=x, **ends)
        cases.add("QuantizeAndDequantizeV4Grad", f"{name}-columns", gradients=dy, input=x, **columns, axis=1)
    x = np.array([-1.0, 0.25, NAN, 3.0], F4)
    ends = dict(input_min=np.array(-1.0, F4), input_max=np.array(2.0, F4))
    # Where the range is found, NaN is part of it or not as Eigen comes by it.
    cases.add("QuantizeAndDequantizeV4", "nan-given", input=x, **ends, range_given=True)


def quantization(cases):
    fake_quant(cases)
    quantize_and_dequantize(cases)
