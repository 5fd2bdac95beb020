"""The op calls of ops.json: what is tedious to derive in C++, or where TensorFlow's choice is not the obvious one.

Left out because TensorFlow's own answer depends on where in the vector unit an element falls: Cast of floats that do
not fit to 8- and 16-bit integers and to uint32, and of negative ones to unsigned types; ArgMax and ArgMin of NaN.
Denormals are left out as well: TensorFlow's kernels run with flush-to-zero.
"""

import numpy as np
import tensorflow as tf

from array_cases import arrays
from cases import Cases, Variable
from cross_cases import cross_family
from ctc_cases import connectionist, decoders
from elementwise_cases import elementwise
from fft_cases import fourier
from image_cases import images
from linalg_cases import linalg_family
from quantization_cases import quantization
from ragged_cases import ragged_family
from recurrent_cases import recurrent_family
from segment_cases import segment_family
from set_cases import set_family
from sparse_cases import sparse_family
from sparse_join_cases import sparse_join_family
from string_cases import ngrams, string_family, unicode
from update_cases import update_family

F4, F8, I4, I8 = np.float32, np.float64, np.int32, np.int64
nan, inf = np.nan, np.inf
# Tolerances. Libraries differ by an ulp or two in transcendental functions, and sums may take another order.
FEW_ULP4 = dict(rtol=1e-6, atol=1e-7)
FEW_ULP8 = dict(rtol=1e-14, atol=1e-15)


def few_ulp(dtype):
    return FEW_ULP8 if np.dtype(dtype) == F8 else FEW_ULP4


def numbers(*shape, dtype=F4, seed=0, low=-2.0, high=2.0):
    """Reproducible numbers with few digits; the same seed and shape give the same ones."""
    generator = np.random.Generator(np.random.PCG64(seed))
    return np.round(generator.uniform(low, high, shape), 3).astype(dtype)


def count_up(*shape, dtype=I4):
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


def strided_slice(cases):
    x = count_up(4, 5, 6)

    def add(label, begin, end, strides, x=x, index=I4, **masks):
        cases.add(
            "StridedSlice",
            label,
            input=x,
            begin=np.array(begin, index),
            end=np.array(end, index),
            strides=np.array(strides, index),
            **masks,
        )

    add("plain", [1, 0, 2], [3, 4, 5], [1, 1, 1])
    add("strides", [0, 1, 0], [4, 5, 6], [2, 3, 4])
    add("fewer indices than dimensions", [1], [3], [1])
    add("negative strides", [3, 4, 5], [0, 0, 1], [-1, -2, -3])
    add("negative indices", [-3, -4, -2], [-1, -1, 6], [1, 1, 1])
    add("clamped", [-9, 2, 3], [9, 99, 1000], [1, 1, 1])
    add("clamped backwards", [9, 9, 9], [-9, -9, 0], [-1, -3, -2])
    add("empty", [2, 3, 1], [2, 1, 5], [1, 1, 1])
    add("int64 indices", [1, 1, 1], [4, 5, 6], [1, 2, 1], index=I8)
    add("begin_mask", [3, 3, 3], [4, 5, 6], [1, 1, 1], begin_mask=0b101)
    add("end_mask", [1, 1, 1], [2, 2, 2], [1, 1, 1], end_mask=0b110)
    add("masks with negative strides", [1, 1, 1], [2, 2, 2], [-1, -1, -2], begin_mask=0b111, end_mask=0b011)
    add("shrink", [1, 0, 2], [2, 5, 3], [1, 1, 1], shrink_axis_mask=0b101)
    add("shrink to scalar", [-1, 2, -6], [0, 0, 0], [1, 1, 1], shrink_axis_mask=0b111)
    add("shrink ignores begin_mask", [2, 0, 0], [3, 1, 1], [1, 1, 1], shrink_axis_mask=0b001, begin_mask=0b111)
    add("new axis", [0, 0, 1, 0], [0, 4, 3, 6], [1, 1, 1, 1], new_axis_mask=0b0001)
    add("new axis last", [0, 0], [0, 0], [1, 1], ellipsis_mask=0b01, new_axis_mask=0b10)
    add("ellipsis first", [0, 2], [0, 4], [1, 1], ellipsis_mask=0b01)
    add("ellipsis middle", [1, 0, 3], [3, 0, 5], [1, 1, 1], ellipsis_mask=0b010)
    add("ellipsis last", [1, 0], [2, 0], [1, 1], ellipsis_mask=0b10)
    add("ellipsis of nothing", [1, 0, 1, 1], [3, 0, 3, 3], [1, 1, 1, 1], ellipsis_mask=0b0010)
    add(
        "x[..., None, 1]",
        [0, 0, 1],
        [0, 0, 2],
        [1, 1, 1],
        ellipsis_mask=0b001,
        new_axis_mask=0b010,
        shrink_axis_mask=0b100,
    )
    add(
        "x[2, None, ..., 1:5:2, None]",
        [2, 0, 0, 1, 0],
        [3, 0, 0, 5, 0],
        [1, 1, 1, 2, 1],
        ellipsis_mask=0b00100,
        new_axis_mask=0b10010,
        shrink_axis_mask=0b00001,
    )
    add("new axis wins over shrink", [0, 1], [1, 2], [1, 1], new_axis_mask=0b01, shrink_axis_mask=0b11)
    add("float64", [0, 5], [3, 0], [2, -2], x=numbers(3, 6, dtype=F8))
    add("bool", [1], [9], [3], x=np.array([True, False, False, True, True, False, True]))


def movement(cases):
    x = numbers(2, 3, 4)
    cube = count_up(2, 3, 4)
    add = cases.add
    add("GatherV2", "axis 0", params=x, indices=np.array([1, 0, 1], I4), axis=I4(0))
    add("GatherV2", "axis 1, int64", params=cube, indices=np.array([2, 0], I8), axis=I8(1))
    add("GatherV2", "negative axis, 2-d indices", params=cube, indices=np.array([[3, 0], [1, 1]], I4), axis=I4(-1))
    add("GatherV2", "scalar index", params=cube, indices=I4(2), axis=I4(1))
    add("GatherV2", "no indices", params=cube, indices=np.zeros([0], I4), axis=I4(2))
    add(
        "GatherV2",
        "batch_dims 1, axis 1",
        params=cube,
        indices=np.array([[2, 0], [1, 1]], I4),
        axis=I4(1),
        batch_dims=1,
    )
    add(
        "GatherV2",
        "batch_dims 1, axis 2",
        params=cube,
        indices=np.array([[3, 0, 0], [1, 2, 1]], I4),
        axis=I4(2),
        batch_dims=1,
    )
    add("GatherV2", "batch_dims 2", params=cube, indices=np.array([[3, 0, 1], [1, 2, 0]], I4), axis=I4(2), batch_dims=2)
    add("GatherV2", "negative batch_dims", params=cube, indices=np.array([[2], [0]], I4), axis=I4(1), batch_dims=-1)

    add("OneHot", "last axis", indices=np.array([0, 2, 1], I4), depth=I4(3), on_value=F4(1), off_value=F4(0), axis=-1)
    add(
        "OneHot",
        "first axis",
        indices=np.array([[0, 2], [1, 3]], I8),
        depth=I4(4),
        on_value=I4(5),
        off_value=I4(-1),
        axis=0,
    )
    add(
        "OneHot",
        "middle axis",
        indices=np.array([[0, 2], [1, 0]], I4),
        depth=I4(3),
        on_value=F8(2),
        off_value=F8(0.5),
        axis=1,
    )
    add(
        "OneHot",
        "out of range",
        indices=np.array([-1, 3, 1, 99], I4),
        depth=I4(3),
        on_value=True,
        off_value=False,
        axis=-1,
    )
    add("OneHot", "scalar, uint8", indices=np.uint8(1), depth=I4(3), on_value=F4(1), off_value=F4(0), axis=-1)
    add("OneHot", "depth 0", indices=np.array([0, 1], I4), depth=I4(0), on_value=F4(1), off_value=F4(0), axis=-1)

    add("Pad", "all sides", input=cube, paddings=np.array([[1, 0], [0, 2], [2, 1]], I4))
    add("Pad", "int64 paddings", input=numbers(2, 3), paddings=np.array([[0, 1], [3, 0]], I8))
    add("Pad", "scalar", input=F4(3), paddings=np.zeros([0, 2], I4))
    add("Pad", "empty input", input=np.zeros([0, 2], F4), paddings=np.array([[1, 1], [0, 1]], I4))
    add("Tile", "every axis", input=count_up(2, 3), multiples=np.array([2, 3], I4))
    add("Tile", "int64, once", input=cube, multiples=np.array([1, 1, 2], I8))
    add("Tile", "zero times", input=cube, multiples=np.array([1, 0, 2], I4))
    add("Tile", "bool", input=np.array([True, False]), multiples=np.array([3], I4))
    add("Split", "axis 2", split_dim=I4(2), value=cube, num_split=2)
    add("Split", "negative axis", split_dim=I4(-2), value=x, num_split=3)
    add("Split", "one part", split_dim=I4(0), value=x, num_split=1)
    add("Pack", "axis 0", values=[count_up(2, 2), count_up(2, 2) + 10, count_up(2, 2) + 20], axis=0)
    add("Pack", "axis 1", values=[count_up(2, 2), count_up(2, 2) + 10, count_up(2, 2) + 20], axis=1)
    add("Pack", "negative axis", values=[numbers(2, 2), numbers(2, 2, seed=1)], axis=-1)
    add("Pack", "scalars", values=[I8(1), I8(2), I8(3)], axis=0)
    add("Unpack", "axis 0", value=cube, num=2, axis=0)
    add("Unpack", "axis -1", value=cube, num=4, axis=-1)
    add("Unpack", "vector", value=numbers(3), num=3, axis=0)
    add("ConcatV2", "axis 1", values=[count_up(2, 1), count_up(2, 3) + 10, count_up(2, 0)], axis=I4(1))
    add("ConcatV2", "negative axis, int64", values=[x, numbers(2, 3, 1, seed=1)], axis=I8(-1))
    add("Transpose", "perm", x=cube, perm=np.array([2, 0, 1], I4))
    add("Transpose", "matrix, int64", x=numbers(3, 4), perm=np.array([1, 0], I8))
    add("Transpose", "five dimensions", x=count_up(2, 1, 3, 2, 2), perm=np.array([4, 2, 0, 3, 1], I4))
    add("Slice", "rest", input=cube, begin=np.array([1, 0, 2], I4), size=np.array([-1, 2, -1], I4))
    add("Slice", "empty", input=cube, begin=np.array([2, 0, 0], I8), size=np.array([0, 3, 4], I8))
    add("Squeeze", "all", input=count_up(1, 3, 1, 2))
    add("Squeeze", "negative", input=count_up(1, 3, 1, 2), squeeze_dims=[-2])
    add("ExpandDims", "negative", input=count_up(3, 2), dim=I4(-2))
    add("BroadcastTo", "both ways", input=count_up(3, 1), shape=np.array([2, 3, 4], I4))
    add("BroadcastTo", "scalar, int64", input=F4(1.5), shape=np.array([2, 2], I8))
    add("Range", "int32", start=I4(2), limit=I4(17), delta=I4(4))
    add("Range", "backwards", start=I8(5), limit=I8(-6), delta=I8(-3))
    add("Range", "float32", start=F4(0), limit=F4(1), delta=F4(0.1))
    add("Range", "float64", start=F8(1), limit=F8(-1), delta=F8(-0.25))
    add("Range", "empty", start=I4(3), limit=I4(3), delta=I4(1))
    condition = np.array([[True], [False]])
    add("SelectV2", "broadcasts", condition=condition, t=numbers(1, 3), e=numbers(2, 1, 1, seed=1))
    add("SelectV2", "same shape", condition=np.array([True, False, True]), t=count_up(3), e=-count_up(3))
    add("SelectV2", "scalar condition", condition=np.bool_(False), t=count_up(2, 2), e=I4(9))
    add(
        "SelectV2",
        "NaN stays out",
        condition=np.array([True, False]),
        t=np.array([1, nan], F4),
        e=np.array([nan, 2], F4),
    )


def cumulative(cases):
    for exclusive in (False, True):
        for reverse in (False, True):
            label = ("exclusive " if exclusive else "") + ("reverse " if reverse else "")
            for axis in (0, -1):
                cases.add(
                    "Cumsum",
                    f"{label}axis {axis}",
                    x=count_up(3, 4),
                    axis=I4(axis),
                    exclusive=exclusive,
                    reverse=reverse,
                )
    cases.add("Cumsum", "float32", x=numbers(2, 3, 4), axis=I8(1), exclusive=False, reverse=False, **FEW_ULP4)
    cases.add("Cumsum", "float64 reverse", x=numbers(5, dtype=F8), axis=I4(0), exclusive=True, reverse=True, **FEW_ULP8)


def division_and_power(cases):
    add = cases.add
    for dtype in (I4, I8):
        x = np.array([-7, 7, -7, 7, 0, -8, 8, -1, np.iinfo(dtype).min], dtype)
        y = np.array([2, -2, -2, 2, -3, 4, -4, 5, 2], dtype)
        for op in ("FloorDiv", "FloorMod", "Div"):
            add(op, np.dtype(dtype).name, x=x, y=y)
        add("FloorDiv", f"broadcast {np.dtype(dtype).name}", x=x[:4, None], y=np.array([3, -5], dtype))
        add(
            "Pow",
            f"{np.dtype(dtype).name}, wraps",
            x=np.array([2, -2, 0, 3, -3, -1], dtype),
            y=np.array([3, 3, 0, 41, 2, 7], dtype),
        )
    for dtype in (F4, F8):
        name = np.dtype(dtype).name
        x = np.array([-7.5, 7.5, -7.5, 7.5, 0, -6, 5.5, -0.25], dtype)
        y = np.array([2, -2, -2, 2, 3, 3, 0.5, 8], dtype)
        for op in ("FloorDiv", "FloorMod", "Div", "RealDiv"):
            add(op, name, x=x, y=y)
        add("Pow", name, x=numbers(3, 1, dtype=dtype, low=0.1), y=numbers(1, 4, dtype=dtype, seed=1), **few_ulp(dtype))
        add(
            "SquaredDifference", name, x=numbers(2, 1, dtype=dtype), y=numbers(3, dtype=dtype, seed=1), **few_ulp(dtype)
        )
    x, y = np.array([1, -1, 0, -1, 1, 3, nan, inf], F4), np.array([0, 0, 0, inf, inf, -inf, 1, 2], F4)
    for op in ("FloorDiv", "FloorMod", "RealDiv"):
        add(op, "special", x=x, y=y)
    add(
        "Pow",
        "special",
        x=np.array([-2, -8, 0, 0, -0.0, 2, inf, 1, -1, -2], F4),
        y=np.array([0.5, 1 / 3, 0, -1, -1, nan, 0, nan, inf, 3], F4),
    )
    add("SquaredDifference", "int32", x=np.array([3, -4, 2**30], I4), y=np.array([-3, 4, 1], I4))


def special_values(cases):
    """NaN, infinities, signed zeros, and arguments near the ends of a function's domain."""
    add = cases.add
    for dtype in (F4, F8):
        name = np.dtype(dtype).name
        tiny = np.array(
            [0, 1e-3, -1e-3, 1e-5, -1e-5, 1e-7, -1e-7, 1e-10, -1e-10, 1e-20, -1e-20, 0.1, -0.1, 0.5, -0.5], dtype
        )
        # No absolute tolerance here: the point of these functions is the relative one.
        rtol = dict(rtol=1e-6 if dtype == F4 else 1e-14)
        add("Expm1", f"near 0 {name}", x=tiny, **rtol)
        add("Log1p", f"near 0 {name}", x=tiny, **rtol)
    add("Expm1", "far", x=np.array([-50, -inf, 20, 50, inf, nan], F4), rtol=1e-6)
    add("Log1p", "far", x=np.array([-1, -2, 1e10, inf, nan], F4), rtol=1e-6)
    ends = np.array([-100, -30, -8, -1, 0, 1, 8, 30, 100, inf, -inf, nan], F4)
    add("Tanh", "ends", x=ends, **FEW_ULP4)
    add("Sigmoid", "ends", x=ends, rtol=1e-6, atol=1e-38)
    add("Relu", "special", features=ends)
    add("Sign", "special", x=ends)
    positive = np.array([0, 1, 4, 0.25, inf, -1, nan], F4)
    for op in ("Sqrt", "Rsqrt", "Reciprocal", "Log"):
        add(op, "special", x=positive, **FEW_ULP4)
    add("Exp", "special", x=np.array([0, 1, -1, inf, -inf, nan, 5.5, -20], F4), **FEW_ULP4)
    left, right = np.array([1, nan, 2, -inf, nan], F4), np.array([nan, 1, -2, inf, nan], F4)
    for op in ("Maximum", "Minimum", "Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"):
        add(op, "NaN", x=left, y=right)


def softmaxes(cases):
    add = cases.add
    large = np.array([[1000, 1001, 999], [-1000, -1001, -999], [1e30, 0, -1e30], [-inf, 0, 1]], F4)
    for op in ("Softmax", "LogSoftmax"):
        add(op, "large", logits=large, **FEW_ULP4)
        add(op, "3-d", logits=numbers(2, 2, 3), **FEW_ULP4)
        add(op, "vector", logits=numbers(4), **FEW_ULP4)
    add(
        "SoftmaxCrossEntropyWithLogits",
        "large",
        features=large[:2],
        labels=np.array([[1, 0, 0], [0, 1, 0]], F4),
        **FEW_ULP4,
    )
    add(
        "SparseSoftmaxCrossEntropyWithLogits",
        "large, int64",
        features=large[:2],
        labels=np.array([1, 0], I8),
        **FEW_ULP4,
    )
    for dtype in (F4, F8):
        name, tolerance = np.dtype(dtype).name, few_ulp(dtype)
        logits = numbers(3, 5, dtype=dtype, low=-4, high=4)
        labels = np.array([[1, 0, 0, 0, 0], [0, 0.5, 0, 0.25, 0.25], [0.2, 0.2, 0.2, 0.2, 0.2]], dtype)
        add("Softmax", name, logits=logits, **tolerance)
        add("LogSoftmax", name, logits=logits, **tolerance)
        add("SoftmaxCrossEntropyWithLogits", name, features=logits, labels=labels, **tolerance)
        add(
            "SparseSoftmaxCrossEntropyWithLogits",
            f"int32 {name}",
            features=logits,
            labels=np.array([0, 4, 2], I4),
            **tolerance,
        )
    add("SoftmaxCrossEntropyWithLogits", "one row of labels", features=logits, labels=labels[1:2], **FEW_ULP8)
    add("SoftmaxCrossEntropyWithLogits", "one row of logits", features=logits[:1], labels=labels, **FEW_ULP8)


def arg_reductions(cases):
    ties = np.array([[1, 3, 3, 2], [0, 0, -1, -1], [5, 5, 5, 5]], F4)
    for op in ("ArgMax", "ArgMin"):
        cases.add(op, "ties, last axis", input=ties, dimension=I4(1))
        cases.add(op, "ties, first axis, int32 out", input=ties, dimension=I8(0), output_type=tf.int32)
        cases.add(op, "negative axis, int32", input=ties.astype(I4), dimension=I4(-1))
        cases.add(op, "3-d", input=numbers(2, 3, 4), dimension=I4(1))
        cases.add(op, "infinities", input=np.array([[-inf, -inf], [inf, -inf]], F8), dimension=I4(1))


def reductions(cases):
    add = cases.add
    x = numbers(2, 3, 4)
    choices = {"all": [0, 1, 2], "first": [0], "last": [-1], "outer two": [0, -1], "none": []}
    for op in ("Sum", "Mean", "Prod", "Max", "Min"):
        for label, axes in choices.items():
            add(op, label, input=x, reduction_indices=np.array(axes, I4), keep_dims=False, **FEW_ULP4)
        add(op, "all kept", input=x, reduction_indices=np.array([0, 1, 2], I4), keep_dims=True, **FEW_ULP4)
        add(op, "middle kept", input=x, reduction_indices=np.array([1], I4), keep_dims=True, **FEW_ULP4)
        add(
            op,
            "scalar axis, int64",
            input=numbers(4, 3, dtype=F8),
            reduction_indices=I8(0),
            keep_dims=False,
            **FEW_ULP8,
        )
        add(
            op,
            "int32",
            input=np.array([[-7, 2, 9], [-2, -6, 4]], I4),
            reduction_indices=np.array([0], I4),
            keep_dims=False,
        )
        add(
            op,
            "int64",
            input=np.array([[-7, 2], [-2, -6], [-1, 2]], I8),
            reduction_indices=np.array([1], I4),
            keep_dims=True,
        )
        add(op, "of nothing, float32", input=np.zeros([0, 2], F4), reduction_indices=np.array([0], I4), keep_dims=False)
        add(op, "of nothing, int32", input=np.zeros([2, 0], I4), reduction_indices=np.array([1], I4), keep_dims=False)
        add(op, "to nothing", input=np.zeros([3, 0], F4), reduction_indices=np.array([0], I4), keep_dims=False)
        add(
            op,
            "NaN",
            input=np.array([[1, nan, 3], [4, 5, 6]], F4),
            reduction_indices=np.array([1], I4),
            keep_dims=False,
            **FEW_ULP4,
        )
        add(
            op,
            "infinities",
            input=np.array([[inf, 1], [inf, -inf], [-inf, 2]], F4),
            reduction_indices=np.array([1], I4),
            keep_dims=False,
        )
    add(
        "Mean",
        "int32, the sum does not fit",
        input=np.array([2**31 - 1, 2**31 - 1, 2**31 - 3], I4),
        reduction_indices=np.array([0], I4),
        keep_dims=False,
    )
    add("Sum", "int32 wraps", input=np.array([2**31 - 1, 1], I4), reduction_indices=np.array([0], I4), keep_dims=False)
    flags = np.array([[True, True, False], [True, False, False]])
    for op in ("All", "Any"):
        add(op, "axis 0", input=flags, reduction_indices=np.array([0], I4), keep_dims=False)
        add(op, "all kept", input=flags, reduction_indices=np.array([0, 1], I4), keep_dims=True)
        add(op, "of nothing", input=np.zeros([2, 0], bool), reduction_indices=np.array([1], I4), keep_dims=False)
    add("L2Loss", "float32", t=numbers(3, 4), **FEW_ULP4)
    add("AddN", "three", inputs=[numbers(2, 2), numbers(2, 2, seed=1), numbers(2, 2, seed=2)], **FEW_ULP4)


def products(cases):
    add = cases.add
    for transpose_a in (False, True):
        for transpose_b in (False, True):
            label = f"{'a' if transpose_a else '-'}{'b' if transpose_b else '-'}"
            a, b = numbers(3, 4), numbers(4, 2, seed=1)
            add(
                "MatMul",
                f"transposed {label}",
                a=a.T.copy() if transpose_a else a,
                b=b.T.copy() if transpose_b else b,
                transpose_a=transpose_a,
                transpose_b=transpose_b,
                **FEW_ULP4,
            )
            a, b = numbers(2, 3, 4, dtype=F8), numbers(2, 4, 2, dtype=F8, seed=1)
            add(
                "BatchMatMulV2",
                f"adjoint {label}",
                x=a.swapaxes(1, 2).copy() if transpose_a else a,
                y=b.swapaxes(1, 2).copy() if transpose_b else b,
                adj_x=transpose_a,
                adj_y=transpose_b,
                **FEW_ULP8,
            )
    add("MatMul", "float64", a=numbers(2, 3, dtype=F8), b=numbers(3, 2, dtype=F8, seed=1), **FEW_ULP8)
    add("MatMul", "int32", a=count_up(2, 3) - 2, b=count_up(3, 2))
    add("MatMul", "inner dimension 0", a=np.zeros([2, 0], F4), b=np.zeros([0, 3], F4))
    add("MatMul", "no rows", a=np.zeros([0, 2], F4), b=numbers(2, 3))
    add("BatchMatMulV2", "broadcasts", x=numbers(2, 1, 3, 4), y=numbers(3, 4, 2, seed=1), **FEW_ULP4)
    add("BatchMatMulV2", "matrix times batch", x=numbers(3, 4), y=numbers(2, 4, 2, seed=1), **FEW_ULP4)
    add("BatchMatMulV2", "plain matrices", x=numbers(3, 4), y=numbers(4, 2, seed=1), **FEW_ULP4)
    add("BatchMatMulV2", "no batch at all", x=np.zeros([0, 3, 4], F4), y=numbers(4, 2), **FEW_ULP4)
    add("BatchMatMulV2", "int32", x=count_up(2, 2, 3), y=count_up(2, 3, 1))
    add("BiasAdd", "NHWC", value=numbers(2, 2, 3), bias=numbers(3, seed=1))
    add("BiasAdd", "NCHW", value=numbers(2, 3, 2, 2), bias=numbers(3, seed=1), data_format="NCHW")


def error_functions(cases):
    ends = np.array([-30, -8, -1, 0, 1, 8, 30, inf, -inf, nan], F4)
    for op in ("Erf", "Erfc"):
        for dtype in (F4, F8):
            cases.add(op, np.dtype(dtype).name, x=numbers(9, dtype=dtype), **few_ulp(dtype))
        cases.add(op, "ends", x=ends, **FEW_ULP4)


def convolutions(cases):
    """What TensorFlow has on a CPU: channels last, and gradients without dilations and groups."""
    padding = [0, 0, 1, 2, 0, 1, 0, 0]
    choices = {
        "valid": ((2, 5, 4, 2), (3, 2, 2, 3), dict(strides=[1, 1, 1, 1], padding="VALID")),
        "same": ((1, 5, 4, 2), (3, 2, 2, 3), dict(strides=[1, 1, 1, 1], padding="SAME")),
        "same, strides": ((1, 6, 5, 1), (2, 3, 1, 2), dict(strides=[1, 3, 2, 1], padding="SAME")),
        "valid, strides": ((1, 6, 5, 1), (2, 2, 1, 2), dict(strides=[1, 3, 2, 1], padding="VALID")),
        "explicit": ((1, 4, 4, 1), (3, 2, 1, 2), dict(strides=[1, 2, 1, 1], padding="EXPLICIT", explicit_paddings=padding)),
        "dilations": ((1, 6, 5, 1), (2, 3, 1, 2), dict(strides=[1, 1, 1, 1], padding="VALID", dilations=[1, 3, 2, 1])),
        "same, dilations": ((1, 5, 5, 1), (3, 2, 1, 2), dict(strides=[1, 1, 1, 1], padding="SAME", dilations=[1, 2, 3, 1])),
        "groups": ((1, 3, 3, 4), (2, 2, 2, 6), dict(strides=[1, 1, 1, 1], padding="SAME")),
    }
    for dtype in (F4, F8):
        # Sums of up to 16 products.
        tolerance = dict(rtol=3e-6, atol=3e-6) if dtype == F4 else dict(rtol=1e-14, atol=1e-14)
        for label, (input_shape, filter_shape, attrs) in choices.items():
            image, weights = numbers(*input_shape, dtype=dtype), numbers(*filter_shape, dtype=dtype, seed=1)
            label = f"{label} {np.dtype(dtype).name}"
            (output,), _ = cases.add("Conv2D", label, input=image, filter=weights, **attrs, **tolerance)
            if "dilations" in attrs or "groups" in label:
                continue
            dy = numbers(*output.shape, dtype=dtype, seed=2)
            sizes, filter_sizes = np.array(input_shape, I4), np.array(filter_shape, I4)
            cases.add(
                "Conv2DBackpropInput",
                label,
                input_sizes=sizes,
                filter=weights,
                out_backprop=dy,
                **attrs,
                **tolerance,
            )
            cases.add(
                "Conv2DBackpropFilter",
                label,
                input=image,
                filter_sizes=filter_sizes,
                out_backprop=dy,
                **attrs,
                **tolerance,
            )
    cases.add("Conv2D", "int32", input=count_up(1, 3, 3, 2), filter=count_up(2, 2, 2, 1), strides=[1] * 4, padding="SAME")


def pools(cases):
    choices = {
        "valid": dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID"),
        "same": dict(ksize=[1, 3, 2, 1], strides=[1, 2, 1, 1], padding="SAME"),
        "gaps": dict(ksize=[1, 1, 2, 1], strides=[1, 3, 3, 1], padding="SAME"),
        "whole": dict(ksize=[1, 5, 4, 1], strides=[1, 1, 1, 1], padding="VALID"),
    }
    explicit = dict(padding="EXPLICIT", explicit_paddings=[0, 0, 1, 0, 1, 1, 0, 0])
    for dtype in (F4, F8):
        x, name = numbers(2, 5, 4, 3, dtype=dtype), np.dtype(dtype).name
        for label, attrs in {**choices, "explicit": dict(ksize=[1, 2, 3, 1], strides=[1, 2, 2, 1], **explicit)}.items():
            (most,), _ = cases.add("MaxPool", f"{label} {name}", input=x, **attrs)
            dy = numbers(*most.shape, dtype=dtype, seed=1)
            add = dict(orig_input=x, orig_output=most, **attrs, **few_ulp(dtype))
            cases.add("MaxPoolGrad", f"{label} {name}", grad=dy, **add)
            if label == "explicit":
                continue
            cases.add("MaxPoolGradGrad", f"{label} {name}", grad=numbers(*x.shape, dtype=dtype, seed=2), **add)
            cases.add("AvgPool", f"{label} {name}", value=x, **attrs, **few_ulp(dtype))
            sizes = np.array(x.shape, I4)
            cases.add("AvgPoolGrad", f"{label} {name}", orig_input_shape=sizes, grad=dy, **attrs, **few_ulp(dtype))
    equal = np.array([[[3, 3, 1, 1], [3, 0, 1, 1]]], F4)[..., None]
    cases.add("MaxPool", "int32", input=count_up(1, 4, 3, 2) % 7, **choices["valid"])
    cases.add(
        "MaxPoolGrad",
        "equal elements",
        orig_input=equal,
        orig_output=np.array([3, 1], F4).reshape(1, 1, 2, 1),
        grad=np.array([5, 7], F4).reshape(1, 1, 2, 1),
        **choices["valid"],
    )


def batch_norms(cases):
    """Outputs that TensorFlow leaves uninitialised (what inference and an empty batch keep) are not compared: those
    cases are not here."""
    x, vectors = numbers(2, 3, 2, 3), dict(scale=numbers(3, seed=1), offset=numbers(3, seed=2))
    old = dict(mean=numbers(3, seed=3), variance=numbers(3, seed=4, low=0.5))
    none = dict(mean=np.zeros([0], F4), variance=np.zeros([0], F4))
    tolerance = dict(rtol=3e-6, atol=3e-6)
    add = cases.add
    add("FusedBatchNormV3", "training", x=x, **vectors, **none, epsilon=0.01, **tolerance)
    add("FusedBatchNormV3", "moving", x=x, **vectors, **old, exponential_avg_factor=0.25, **tolerance)
    add("FusedBatchNormV3", "NCHW", x=x, scale=x[0, 0, 0], offset=x[0, 0, 1], mean=x[0, 1, 0], variance=np.abs(x[0, 1, 1]), data_format="NCHW", **tolerance)
    add("FusedBatchNormV3", "one element", x=x[:1, :1, :1], **vectors, **none, **tolerance)
    kept = dict(reserve_space_1=old["mean"], reserve_space_2=old["variance"], reserve_space_3=F4(0))
    for training in (True, False):
        add(
            "FusedBatchNormGradV3",
            "training" if training else "inference",
            y_backprop=numbers(2, 3, 2, 3, seed=5),
            x=x,
            scale=vectors["scale"],
            **kept,
            is_training=training,
            epsilon=0.01,
            **tolerance,
        )


def einsums(cases):
    def add(equation, *shapes, dtype=F4):
        inputs = [numbers(*shape, dtype=dtype, seed=seed) for seed, shape in enumerate(shapes)]
        cases.add("Einsum", f"{equation} {np.dtype(dtype).name}", inputs=inputs, equation=equation, **few_ulp(dtype))

    for dtype in (F4, F8):
        add("ij,jk->ik", (2, 3), (3, 4), dtype=dtype)
        add("bhqd,bhkd->bhqk", (1, 2, 2, 3), (1, 2, 3, 3), dtype=dtype)
    add("ij->ji", (2, 3))
    add("ij->", (2, 3))
    add("ii->i", (3, 3))
    add("iij->ij", (3, 3, 2))
    add("aab,bcc->ac", (2, 2, 3), (3, 4, 4))
    add("i,j->ij", (2,), (3,))
    add("i,->i", (3,), ())
    add("...ij,...jk->...ik", (2, 1, 2, 3), (3, 3, 2))
    add("...i,...j->...ij", (2, 1, 3), (4, 2))
    add("ab...,bc->ac...", (3, 4, 2), (4, 5))
    add("i...i->...", (2, 3, 2))
    add("Ij,jI->I", (2, 3), (3, 2))


def rows_of_variables(cases):
    table = numbers(4, 2, 2)
    for dtype, label in ((I4, "int32"), (I8, "int64")):
        rows = np.array([3, 0, 3], dtype)
        cases.add("ResourceGather", label, resource=Variable(table), indices=rows, dtype=tf.float32)
        for op in ("ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterUpdate"):
            cases.add(op, label, resource=Variable(table), indices=rows, updates=numbers(3, 2, 2, seed=1), **FEW_ULP4)
    cases.add("ResourceScatterAdd", "a scalar", resource=Variable(table), indices=np.array([1, 2], I4), updates=F4(0.5))


def updates(cases):
    """Three steps each; every step is a case of its own that begins where the one before ended."""
    for dtype, nesterov in ((F4, False), (F4, True), (F8, False)):
        label = f"{'nesterov ' if nesterov else ''}{np.dtype(dtype).name}"
        state = [numbers(2, 3, dtype=dtype), np.zeros([2, 3], dtype), np.zeros([2, 3], dtype)]
        for step in range(1, 4):
            _, state = cases.add(
                "ResourceApplyAdam",
                f"{label} step {step}",
                var=Variable(state[0]),
                m=Variable(state[1]),
                v=Variable(state[2]),
                beta1_power=dtype(0.9**step),
                beta2_power=dtype(0.999**step),
                lr=dtype(0.01),
                beta1=dtype(0.9),
                beta2=dtype(0.999),
                epsilon=dtype(1e-7),
                grad=numbers(2, 3, dtype=dtype, seed=step),
                use_nesterov=nesterov,
                **few_ulp(dtype),
            )
    for op, options in (
        ("Momentum", {"lr": 0.1, "momentum": 0.9, "use_nesterov": False}),
        ("Momentum", {"lr": 0.1, "momentum": 0.9, "use_nesterov": True}),
        ("KerasMomentum", {"lr": 0.1, "momentum": 0.9, "use_nesterov": False}),
        ("KerasMomentum", {"lr": 0.1, "momentum": 0.9, "use_nesterov": True}),
        ("RMSProp", {"lr": 0.01, "rho": 0.9, "momentum": 0.5, "epsilon": 1e-7}),
        ("CenteredRMSProp", {"lr": 0.01, "rho": 0.9, "momentum": 0.5, "epsilon": 1e-7}),
        ("AdagradV2", {"lr": 0.1, "epsilon": 1e-7, "update_slots": True}),
        ("AdagradV2", {"lr": 0.1, "epsilon": 1e-7, "update_slots": False}),
    ):
        slots = {
            "Momentum": ["accum"],
            "KerasMomentum": ["accum"],
            "RMSProp": ["ms", "mom"],
            "CenteredRMSProp": ["mg", "ms", "mom"],
            "AdagradV2": ["accum"],
        }[op]
        flags = [name for name, value in options.items() if isinstance(value, bool)]
        for dtype in (F4, F8):
            label = " ".join([f"{name}={options[name]}" for name in flags] + [np.dtype(dtype).name])
            start = np.full([2, 3], 0.1 if op == "AdagradV2" else 0, dtype)
            state = [numbers(2, 3, dtype=dtype)] + [start] * len(slots)
            for step in range(1, 3):
                _, state = cases.add(
                    f"ResourceApply{op}",
                    f"{label} step {step}",
                    **{name: Variable(value) for name, value in zip(["var", *slots], state, strict=True)},
                    **{name: value if name in flags else dtype(value) for name, value in options.items()},
                    grad=numbers(2, 3, dtype=dtype, seed=step),
                    **few_ulp(dtype),
                )
    for dtype in (F4, F8):
        value = numbers(2, 3, dtype=dtype)
        for step in range(1, 4):
            _, (value,) = cases.add(
                "ResourceApplyGradientDescent",
                f"{np.dtype(dtype).name} step {step}",
                var=Variable(value),
                alpha=dtype(0.1),
                delta=numbers(2, 3, dtype=dtype, seed=step),
                **few_ulp(dtype),
            )
    cases.add("AssignAddVariableOp", "int64", resource=Variable(np.array([1, 2], I8)), value=np.array([10, -20], I8))
    cases.add("AssignSubVariableOp", "float32", resource=Variable(numbers(2, 2)), value=numbers(2, 2, seed=1))


def casts(cases):
    def add(x, target, label):
        cases.add("Cast", f"{x.dtype.name} to {target.name}, {label}", x=x, DstT=target)

    whole = np.array([-0.5, 0.9, -0.9, 1.5, -1.9, 2.5, 127.9, 100, 0, -0.0], F8)
    # What does not fit gives the lowest number of the type, as x86 instructions do.
    edges = np.array(
        [nan, inf, -inf, 1e10, -1e10, 2147483648.0, -2147483648.0, -2147483904.0, 9.3e18, -9.3e18, 1e20, -1e20], F8
    )
    for source in (F4, F8):
        for target in (tf.int32, tf.int64):
            add(whole.astype(source), target, "truncates")
            add(edges.astype(source), target, "out of range")
        for target in (tf.int8, tf.int16):
            add(whole.astype(source), target, "truncates")
        for target in (tf.uint8, tf.uint16, tf.uint32, tf.uint64):
            add(np.abs(whole).astype(source), target, "truncates")
        add(np.array([0, -0.0, nan, inf, 1e-30, -3], source), tf.bool, "anything but zero")
        add(
            np.array([1, 65504, 65519, 65520, 1e-5, 6e-8, 2049, 2051, nan, -inf, 0.1], source),
            tf.float16,
            "rounds to even",
        )
        add(
            np.array([1, 3.3895314e38, 1.00390625, 1.01171875, 1.0078125, nan, -inf, 0.1], source),
            tf.bfloat16,
            "rounds to even",
        )
    add(np.array([1e300, -1e300, 0.1, 1 + 2.0**-24, 1 + 3 * 2.0**-24, 1e-30], F8), tf.float32, "rounds to even")
    integers = np.array([0, 1, -1, 127, 128, -129, 255, 256, 65535, -32769, 2**31 - 1, -(2**31)], I8)
    for target in (tf.int8, tf.uint8, tf.int16, tf.uint16, tf.uint32, tf.uint64):
        add(integers.astype(I4), target, "wraps")
    add(np.append(integers, [2**32 + 5, -(2**32) - 5, 2**63 - 1]), tf.int32, "wraps")
    add(np.append(integers, [2**24 + 1, 2**53 + 1]), tf.float32, "rounds")
    add(np.append(integers, [2**53 + 1, 2**63 - 1]), tf.float64, "rounds")
    add(np.array([0, 2**63, 2**64 - 1], np.uint64), tf.float64, "rounds")
    add(np.array([0, 2**63, 2**64 - 1], np.uint64), tf.int64, "wraps")
    add(integers.astype(I4), tf.bool, "anything but zero")
    for target in (tf.float32, tf.int32, tf.int64, tf.uint8, tf.complex64):
        add(np.array([True, False]), target, "one and zero")
    add(np.array([1.5 - 2j, -0.25 + 1j], np.complex64), tf.float32, "real part")
    add(np.array([1.5 - 2j, -0.25 + 1j], np.complex128), tf.complex64, "both parts")
    add(np.array([1.5, -65504, nan, 6e-8], np.float16), tf.float32, "exact")
    add(np.array([1.5, -2.5, 100], np.float16), tf.int32, "truncates")
    add(np.array([1.5, -3.390625, 1e30], tf.bfloat16.as_numpy_dtype), tf.float32, "exact")
    add(np.array([1.5, 2, 3], np.float16), tf.bfloat16, "through float")


def recurrent(cases):
    """The kernel ends the process for inputs of wrong ranks: they are not here."""
    x, state = numbers(2, 3), dict(cs_prev=numbers(2, 2, seed=1), h_prev=numbers(2, 2, seed=2))
    weights = dict(w=numbers(5, 8, seed=3), b=numbers(8, seed=4))
    peepholes = {name: numbers(2, seed=seed) for seed, name in enumerate(("wci", "wcf", "wco"), 5)}
    for label, attrs in {
        "plain": {},
        "peepholes": dict(use_peephole=True),
        "clipped": dict(cell_clip=0.25, forget_bias=0.5, use_peephole=True),
        "not clipped": dict(cell_clip=-1.0),
    }.items():
        cases.add("LSTMBlockCell", label, x=x, **state, **weights, **peepholes, **attrs, rtol=2e-6, atol=2e-6)


def make():
    cases = Cases()
    for family in (
        strided_slice,
        movement,
        cumulative,
        division_and_power,
        special_values,
        softmaxes,
        arg_reductions,
        reductions,
        products,
        updates,
        casts,
        error_functions,
        convolutions,
        pools,
        batch_norms,
        einsums,
        rows_of_variables,
        recurrent,
        elementwise,
        arrays,
        cross_family,
        ragged_family,
        segment_family,
        set_family,
        sparse_family,
        sparse_join_family,
        connectionist,
        decoders,
        recurrent_family,
        fourier,
        images,
        quantization,
        linalg_family,
        update_family,
        string_family,
        unicode,
        ngrams,
    ):
        family(cases)
    return cases
