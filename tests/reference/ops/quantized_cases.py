"""Calls of ops on quantized tensors, for quantized.json.

Left out, since TensorFlow's answers have no meaning: qint32 at the upper end of a range (it becomes the lowest integer),
QuantizedAdd with shapes that broadcast other than a vector or a number does, Requantize from a range that is wider by
2^32 and more, and QuantizedResizeBilinear at the ends of qint32.
"""

import itertools

import numpy as np
import tensorflow as tf

from cases import Cases

F4, I4 = np.float32, np.int32
BITS = {"qint8": 8, "quint8": 8, "qint32": 32, "qint16": 16, "quint16": 16}


def integers(dtype, *shape, seed=0, bits=None):
    """Of all values, or of so many bits around 0."""
    info = np.iinfo(dtype[1:])
    low, high = (info.min, info.max) if bits is None else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    values = np.random.Generator(np.random.PCG64(seed)).integers(low, high, shape, endpoint=True)
    return values.astype(dtype[1:]).view(getattr(tf, dtype).as_numpy_dtype)


def numbers(*shape, seed=0, low=-3.0, high=3.0):
    return np.random.Generator(np.random.PCG64(seed)).uniform(low, high, shape).astype(F4)


def ends(low, high, *names):
    return dict(zip(names, (F4(low), F4(high))))


def quantize(cases):
    x = numbers(37)
    inside = np.clip(x, -1.9, 0.9)
    ranges = {"around": (-2, 2.5), "above": (0.5, 1), "below": (-1, -0.5), "none": (0, 0), "uneven": (-2, 1)}
    for dtype, mode, (label, (low, high)) in itertools.product(
        BITS, ("MIN_COMBINED", "MIN_FIRST", "SCALED"), ranges.items()
    ):
        name = f"{dtype}-{mode}-{label}"
        given = ends(low, high, "min_range", "max_range")
        if dtype != "qint32" or label in ("around", "uneven"):
            value = inside if dtype == "qint32" else x
            cases.add("QuantizeV2", name, input=value, **given, T=getattr(tf, dtype), mode=mode)
        q = integers(dtype, 29, seed=1)
        cases.add("Dequantize", name, input=q, **given, mode=mode)
    given = ends(-2, 1, "min_range", "max_range")
    halves = (np.arange(-8, 9) * F4(0.5) * F4(2 / 127)).astype(F4)
    for dtype in ("qint8", "quint8", "qint16"):
        kind = dict(T=getattr(tf, dtype), mode="SCALED")
        cases.add("QuantizeV2", f"{dtype}-even", input=x, **given, **kind, round_mode="HALF_TO_EVEN")
        cases.add("QuantizeV2", f"{dtype}-even-halves", input=halves, **given, **kind, round_mode="HALF_TO_EVEN")
        cases.add("QuantizeV2", f"{dtype}-halves", input=halves, **given, **kind)
        cases.add("QuantizeV2", f"{dtype}-narrow", input=x, **given, **kind, narrow_range=True)
        cases.add(
            "Dequantize", f"{dtype}-narrow", input=integers(dtype, 29), **given, mode="SCALED", narrow_range=True
        )
    cases.add("QuantizeV2", "least", input=x, **ends(0, 0, "min_range", "max_range"), T=tf.quint8, ensure_minimum_range=0.5)
    columns = dict(min_range=np.array([-1, 0, -3, -0.5], F4), max_range=np.array([1, 2, -1, 0.5], F4))
    x = numbers(3, 4, 2)
    for dtype, mode in itertools.product(("qint8", "quint8"), ("MIN_COMBINED", "SCALED")):
        kind = dict(axis=1, mode=mode)
        cases.add("QuantizeV2", f"{dtype}-{mode}-axis", input=x, **columns, **kind, T=getattr(tf, dtype))
        cases.add("Dequantize", f"{dtype}-{mode}-axis", input=integers(dtype, 3, 4, 2), **columns, **kind)
    for dtype in ("qint8", "quint8"):
        cases.add("Dequantize", f"{dtype}-bfloat16", input=integers(dtype, 29), **given, dtype=tf.bfloat16)


def requantize(cases):
    for label, (low, high, out_low, out_high, bits) in {
        "sums": (-1000, 1000, -3, 7, None),
        "wider": (-700, 900, -300, 400, None),
        "flat": (-1, 1, 0, 0, None),
        "narrower": (-3, 3, -10, 10, None),
        "small": (-5e4, 5e4, 0, 6, 20),
    }.items():
        x = integers("qint32", 50, seed=2, bits=bits)
        given = ends(low, high, "input_min", "input_max")
        asked = ends(out_low, out_high, "requested_output_min", "requested_output_max")
        for out in ("quint8", "qint8"):
            cases.add("Requantize", f"{label}-{out}", input=x, **given, **asked, out_type=getattr(tf, out))
        for sign, values in {"both": x.view(I4), "above": np.abs(x.view(I4) // 2), "below": -np.abs(x.view(I4) // 2)}.items():
            q = values.astype(I4).view(tf.qint32.as_numpy_dtype)
            cases.add("RequantizationRange", f"{label}-{sign}", input=q, **given)
            cases.add("QuantizeDownAndShrinkRange", f"{label}-{sign}", input=q, **given, out_type=tf.quint8)


def requantize_channels(cases):
    widths = np.array([1000, 3, 2e5, 70, 0], np.float32)
    for label, (share, out_low, out_high, bits) in {
        "sums": (-1, -3, 7, None),
        "wider": (-0.3, -2e6, 10, None),
        "small": (0.5, -6, 1, 24),
    }.items():
        x = integers("qint32", 2, 3, 5, 5, seed=2, bits=bits)
        given = {"input_min": widths * np.float32(share), "input_max": widths}
        asked = ends(out_low, out_high, "requested_output_min", "requested_output_max")
        for out in ("quint8", "qint8"):
            cases.add("RequantizePerChannel", f"{label}-{out}", input=x, **given, **asked, out_type=getattr(tf, out))


PAIRS = {"around": (-1.3, 2.1, -0.4, 3.7), "from0": (0, 1, 0, 7), "outside": (1, 2, -3, -1)}


def arithmetic(cases):
    for label, (low, high, second_low, second_high) in PAIRS.items():
        xy = ends(low, high, "min_x", "max_x") | ends(second_low, second_high, "min_y", "max_y")
        for name, (a, b) in {"same": ((4, 5), (4, 5)), "vector": ((3, 9), (9,)), "number": ((4, 3), ()), "turned": ((), (5,))}.items():
            x, y = integers("quint8", *a, seed=3), integers("quint8", *b, seed=4)
            cases.add("QuantizedAdd", f"{label}-{name}", x=x, y=y, **xy)
            cases.add("QuantizedMul", f"{label}-{name}", x=x, y=y, **xy)
        ab = ends(low, high, "min_a", "max_a") | ends(second_low, second_high, "min_b", "max_b")
        for turns in itertools.product((False, True), repeat=2):
            a = integers("quint8", *((37, 5) if turns[0] else (5, 37)), seed=5)
            b = integers("quint8", *((7, 37) if turns[1] else (37, 7)), seed=6)
            cases.add(
                "QuantizedMatMul",
                f"{label}-{turns[0]}-{turns[1]}",
                a=a,
                b=b,
                **ab,
                transpose_a=turns[0],
                transpose_b=turns[1],
            )
        for dtype in ("quint8", "qint8"):
            cases.add(
                "QuantizedBiasAdd",
                f"{label}-{dtype}",
                input=integers(dtype, 3, 5, seed=7),
                bias=integers(dtype, 5, seed=8),
                **ends(low, high, "min_input", "max_input"),
                **ends(second_low, second_high, "min_bias", "max_bias"),
                out_type=tf.qint32,
            )
    for (low, high), dtype in itertools.product(((-1.3, 9.1), (1, 2), (-4, -1), (0, 0)), ("quint8", "qint32")):
        x = integers(dtype, 40, seed=9)
        for op in ("QuantizedRelu", "QuantizedRelu6"):
            kind = dict(out_type=getattr(tf, dtype))
            cases.add(op, f"{dtype}-{low}", features=x, **ends(low, high, "min_features", "max_features"), **kind)
    for dtype, (label, mins, maxes) in itertools.product(
        ("quint8", "qint32"),
        (
            ("wider", (-1, -3), (2, 1)),
            ("same", (-1, -1), (2, 2)),
            ("above", (1, 0), (2, 4)),
            ("below", (-4, -3), (-1, -2)),
        ),
    ):
        for axis in (0, 1):
            parts = [integers(dtype, 2, 3, seed=10), integers(dtype, *((4, 3) if axis == 0 else (2, 5)), seed=11)]
            cases.add(
                "QuantizedConcat",
                f"{dtype}-{label}-{axis}",
                concat_dim=I4(axis),
                values=parts,
                input_mins=[F4(v) for v in mins],
                input_maxes=[F4(v) for v in maxes],
            )
    for dtype in ("quint8", "qint32"):
        cases.add(
            "QuantizedReshape",
            dtype,
            tensor=integers(dtype, 2, 6),
            shape=np.array([3, -1], I4),
            **ends(-1, 2, "input_min", "input_max"),
        )


def images(cases):
    # Filters of qint8 TensorFlow's own kernel does not convolve.
    for label, (low, high, second_low, second_high) in PAIRS.items():
        given = ends(low, high, "min_input", "max_input") | ends(second_low, second_high, "min_filter", "max_filter")
        for padding, stride, size in (("SAME", 1, (3, 3)), ("VALID", 2, (2, 3)), ("SAME", 2, (1, 1)), ("SAME", 3, (5, 4))):
            cases.add(
                "QuantizedConv2D",
                f"{label}-{padding}-{stride}-{size[0]}",
                input=integers("quint8", 2, 6, 7, 3, seed=12),
                filter=integers("quint8", *size, 3, 4, seed=13),
                **given,
                strides=[1, stride, stride, 1],
                padding=padding,
            )
    for dtype in ("quint8", "qint8"):
        x = integers(dtype, 2, 5, 6, 3, seed=14)
        for size, stride, padding in (((2, 2), 1, "SAME"), ((3, 2), 2, "VALID"), ((3, 3), 2, "SAME")):
            for op in ("QuantizedAvgPool", "QuantizedMaxPool"):
                cases.add(
                    op,
                    f"{dtype}-{padding}-{size[0]}",
                    input=x,
                    **ends(-1, 2, "min_input", "max_input"),
                    ksize=[1, *size, 1],
                    strides=[1, stride, stride, 1],
                    padding=padding,
                )
    for shape, low, high in (((2, 5, 6, 3), -1, 2.5), ((1, 4, 4, 1), 0, 255), ((1, 3, 3, 2), 2, 3)):
        x = integers("quint8", *shape, seed=15)
        given = ends(low, high, "x_min", "x_max")
        # Means and variances are sums in an order of Eigen's.
        label = "x".join(map(str, shape))
        cases.add("QuantizedInstanceNorm", label, x=x, **given, rtol=1e-5)
        cases.add(
            "QuantizedInstanceNorm",
            f"{label}-given",
            x=x,
            **given,
            output_range_given=True,
            given_y_min=-2.0,
            given_y_max=2.0,
            variance_epsilon=0.5,
        )
    same = np.full((1, 2, 2, 1), 7, np.uint8).view(tf.quint8.as_numpy_dtype)
    cases.add("QuantizedInstanceNorm", "flat", x=same, **ends(-1, 2, "x_min", "x_max"), atol=1e-6)
    for label, ranges in {
        "usual": ((-4, 4), (-1, 1), (0, 3), (-2, 2), (0, 2)),
        "large": ((0, 255), (0, 100), (0, 900), (-8, 8), (-1, 2)),
        "huge": ((-4e4, 4e4), (0, 100), (0, 0.001), (-8, 8), (-1, 2)),
    }.items():
        arguments = {"t": integers("quint8", 2, 3, 3, 4, seed=16)}
        for k, (name, (low, high)) in enumerate(zip(("t", "m", "v", "beta", "gamma"), ranges)):
            arguments.setdefault(name, integers("quint8", 4, seed=17 + k))
            arguments |= ends(low, high, f"{name}_min", f"{name}_max")
        for scales in (False, True):
            cases.add(
                "QuantizedBatchNormWithGlobalNormalization",
                f"{label}-{scales}",
                **arguments,
                out_type=tf.qint32,
                variance_epsilon=0.001,
                scale_after_normalization=scales,
            )
    for dtype, size, (align, centers) in itertools.product(
        ("quint8", "qint32", "float32"), ((7, 9), (2, 3), (4, 5), (1, 1)), ((False, False), (True, False), (False, True))
    ):
        x = numbers(2, 4, 5, 3) if dtype == "float32" else integers(dtype, 2, 4, 5, 3, bits=None if dtype == "quint8" else 30)
        cases.add(
            "QuantizedResizeBilinear",
            f"{dtype}-{size[0]}-{align}-{centers}",
            images=x,
            size=np.array(size, I4),
            **ends(-1, 2, "min", "max"),
            align_corners=align,
            half_pixel_centers=centers,
        )


def make():
    cases = Cases()
    quantize(cases)
    requantize(cases)
    requantize_channels(cases)
    arithmetic(cases)
    images(cases)
    return cases
