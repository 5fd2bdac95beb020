"""Calls of the plainest ops, and of those that are windows of images, for ops.json: every op has at least one."""

import numpy as np
import tensorflow as tf

from cases import Variable

F2, F4, F8, I1, I4, I8, U1 = np.float16, np.float32, np.float64, np.int8, np.int32, np.int64, np.uint8
SPECIAL = [0, -0.0, 1, -1, 2.5, -2.5, 0.5, 1.5, -0.5, np.inf, -np.inf, np.nan, 1e30]


def numbers(*shape, dtype=F4, seed=0, low=-2.0, high=2.0):
    generator = np.random.Generator(np.random.PCG64(seed))
    return np.round(generator.uniform(low, high, shape), 3).astype(dtype)


def elements(cases):
    add = cases.add
    for dtype in (F4, F8):
        name = np.dtype(dtype).name
        near = dict(rtol=1e-6, atol=1e-7) if dtype == F4 else dict(rtol=1e-14, atol=1e-15)
        x = np.array(SPECIAL, dtype)
        left, right = (a.ravel() for a in np.meshgrid(x, x))
        for op in "Abs Neg Ceil Floor Rint Round Square IsFinite IsInf IsNan".split():
            add(op, f"special {name}", x=x)
        for op in ("Sin", "Cos"):
            add(op, f"special {name}", x=np.where(np.abs(x) > 1e9, dtype(3), x), **near)
        for op in ("Sub", "Mul", "AddV2", "Add"):
            add(op, f"special {name}", x=left, y=right)
        add("Softplus", f"special {name}", features=x, **near)
        add("ReluGrad", f"special {name}", gradients=left, features=right)
        add("OnesLike", name, x=x)
        add("ZerosLike", name, x=x)
    add("Conj", "complex64", input=numbers(4).astype(np.complex64) * (1 + 2j))
    ends = np.array([-(2**31), 2**31 - 1, -1, 0, 1, 7], I4)
    left, right = (a.ravel() for a in np.meshgrid(ends, ends))
    for op in ("Sub", "Mul", "AddV2", "Add"):
        add(op, "int32 wraps", x=left, y=right)
        add(op, "broadcast", x=numbers(2, 1, 3), y=numbers(4, 1, seed=1))
    for op in ("Abs", "Neg", "Square"):
        add(op, "int32", x=ends[1:])
    flags = np.array([True, False, True, False])
    for op in ("LogicalAnd", "LogicalOr"):
        add(op, "all", x=flags, y=np.array([[True], [False]]))
    add("LogicalNot", "all", x=flags)
    add("Add", "strings", x=np.array([b"a", b""]), y=np.array([b"bc", b"\xff"]))


def shapes(cases):
    add = cases.add
    for label, x in {"cube": numbers(2, 3, 4), "scalar": F4(3), "empty": np.zeros([3, 0], I4)}.items():
        for op in ("Rank", "Shape", "Size"):
            add(op, label, input=x)
    x = np.arange(24, dtype=I4).reshape(2, 3, 4)
    add("Reshape", "known", tensor=x, shape=np.array([4, 6], I4))
    add("Reshape", "one told by the others", tensor=x, shape=np.array([3, -1, 2], I8))
    add("Reshape", "scalar", tensor=np.array([5], I4), shape=np.zeros([0], I4))
    add("ReverseV2", "two", tensor=x, axis=np.array([0, -1], I4))
    add("ReverseV2", "none", tensor=x, axis=np.zeros([0], I8))
    add("Roll", "one", input=x, shift=I4(-1), axis=I4(2))
    add("Roll", "same axis twice", input=x, shift=np.array([1, 5, -7], I8), axis=np.array([1, 2, 1], I4))
    add("Fill", "matrix", dims=np.array([2, 3], I4), value=F4(2.5))
    add("Fill", "scalar", dims=np.zeros([0], I8), value=np.array(b"x"))
    add("InvertPermutation", "int32", x=np.array([3, 0, 2, 1], I4))
    add("InvertPermutation", "int64", x=np.array([0, 1], I8))
    add("BroadcastGradientArgs", "both", s0=np.array([2, 1, 3], I4), s1=np.array([4, 3], I4))
    add("IdentityN", "two", input=[numbers(2), np.array([1, 2], I8)])
    add("PlaceholderWithDefault", "matrix", input=numbers(2, 2), shape=[None, 2])
    add("StridedSliceGrad", "steps", shape=np.array([5, 4], I4), begin=np.array([4, 0], I4), end=np.array([0, 4], I4),
        strides=np.array([-2, 3], I4), dy=numbers(2, 2))
    add("StridedSliceGrad", "masks", shape=np.array([3, 2], I8), begin=np.array([1, 0], I8), end=np.array([2, 0], I8),
        strides=np.array([1, 1], I8), dy=numbers(2), shrink_axis_mask=1, end_mask=2)
    add("BiasAddGrad", "images", out_backprop=numbers(2, 3, 3, 4), rtol=1e-6, atol=1e-6)
    add("BiasAddGrad", "channels first", out_backprop=numbers(2, 4, 3, 3), data_format="NCHW", rtol=1e-6, atol=1e-6)


def indices(cases):
    add = cases.add
    x = np.arange(24, dtype=F4).reshape(2, 3, 4)
    add("GatherNd", "rows", params=x, indices=np.array([[1, 2], [0, 0], [1, 0]], I4))
    add("GatherNd", "elements", params=x, indices=np.array([[[1, 2, 3]], [[0, 0, 1]]], I8))
    add("GatherNd", "whole", params=x, indices=np.zeros([2, 0], I4))
    add("ScatterNd", "repeated", indices=np.array([[1], [3], [1]], I4), updates=numbers(3, 2), shape=np.array([5, 2], I4))
    add("ScatterNd", "elements", indices=np.array([[1, 1], [0, 2]], I8), updates=np.array([4, -1], I4),
        shape=np.array([2, 3], I8))
    add("TensorScatterUpdate", "rows", tensor=x, indices=np.array([[1], [0]], I4), updates=numbers(2, 3, 4))
    add("TensorScatterUpdate", "elements", tensor=x, indices=np.array([[1, 0, 3]], I8), updates=np.array([9], F4))
    add("ResourceGatherNd", "rows", resource=Variable(x), indices=np.array([[1, 2], [0, 1]], I4), dtype=tf.float32)
    for op in ("Add", "Sub", "Update", "Max", "Min"):
        add(f"ResourceScatterNd{op}", "repeated", ref=Variable(x.reshape(6, 4)), indices=np.array([[1], [4]], I4),
            updates=numbers(2, 4, low=-20, high=20))
    ties = np.array([[1, 3, 3, 2, np.inf], [0, 0, -1, -1, 0]], F4)
    for k in (0, 1, 3, 5):
        add("TopKV2", f"{k}", input=ties, k=I4(k))
    add("TopKV2", "int64", input=np.array([5, 9, 9, -1], I8), k=I4(2))
    add("TopKV2", "unsorted", input=ties, k=I4(5), sorted=False)
    add("Unique", "int32", x=np.array([3, 1, 3, 0, 1], I4))
    add("Unique", "strings", x=np.array([b"a", b"", b"a"]), out_idx=tf.int64)
    add("Unique", "zeros", x=np.array([0.0, -0.0, 1, 0], F4))
    add("Where", "floats", input=np.array([[0, -0.0, 2], [np.nan, 0, -1]], F4))
    add("Where", "none", input=np.zeros([0, 3], bool))
    add("Where", "five dimensions", input=(np.arange(24) % 3 == 0).reshape(1, 2, 3, 2, 2))
    for exclusive in (False, True):
        for reverse in (False, True):
            add("Cumprod", f"{exclusive} {reverse}", x=numbers(2, 3, 2), axis=I4(1), exclusive=exclusive,
                reverse=reverse, rtol=1e-6, atol=1e-7)
    values = np.array([[1, 3, 1], [0, 2, 2]], I4)
    for binary in (False, True):
        add("DenseBincount", f"rows {binary}", input=values, size=I4(4), weights=np.zeros([0], F4), binary_output=binary)
        add("DenseBincount", f"all {binary}", input=values[0], size=I4(3), weights=np.zeros([0], I8),
            binary_output=binary)
    add("DenseBincount", "weights", input=values, size=I4(3), weights=numbers(2, 3), rtol=1e-6)


def matrices(cases):
    add = cases.add
    x = numbers(2, 3, 4)
    for lower, upper in ((0, 0), (1, -1), (-1, 1), (-1, -1)):
        add("MatrixBandPart", f"{lower} {upper}", input=x, num_lower=I8(lower), num_upper=I8(upper))
    add("MatrixExponential", "batch", input=numbers(2, 3, 3, dtype=F8), rtol=1e-11, atol=1e-12, producer=26)


def windows(cases):
    """Which parts are drawn, of a seed."""
    add = cases.add
    image = np.arange(60, dtype=F4).reshape(5, 6, 2)
    for seed, seed2, size in ((1, 0, (3, 3)), (7, 2, (5, 1)), (7, 9, (2, 6)), (0, 4, (5, 6)), (3, 3, (1, 1))):
        for dtype in (F4, I4, U1) if seed == 1 else (F4,):
            label = f"{np.dtype(dtype).name} {seed} {seed2}"
            add("RandomCrop", label, image=image.astype(dtype), size=np.array(size, I8), seed=seed, seed2=seed2, producer=7)
    boxes = np.array([[[0.1, 0.2, 0.6, 0.7], [0.5, 0.5, 0.9, 0.95]]], F4)
    rules = {
        "plain": {},
        "wide": dict(aspect_ratio_range=[1.5, 3.0], area_range=[0.1, 0.4]),
        "tall": dict(aspect_ratio_range=[0.2, 0.5], area_range=[0.3, 0.9]),
        "small": dict(area_range=[0.001, 0.01], max_attempts=5),
        "one try": dict(max_attempts=1, area_range=[0.5, 1.0]),
        "turned": dict(area_range=[0.9, 0.1]),
    }
    for label, rule in rules.items():
        for number, (size, seed) in enumerate((((60, 90, 3), 1), ((91, 37, 1), 2), ((7, 5, 3), 3))):
            for least in (0.0, 0.3, 1.0):
                name = f"{label} {number} {least}"
                call = dict(image_size=np.array(size, I4), bounding_boxes=boxes, **rule)
                cover = dict(min_object_covered=F4(least))
                add("SampleDistortedBoundingBoxV2", name, **call, **cover, seed=seed, seed2=5)
                add("StatelessSampleDistortedBoundingBox", name, **call, **cover, seed=np.array([seed, 9], I8))
        add("SampleDistortedBoundingBox", label, **call, min_object_covered=0.2, seed=4, seed2=1)
    none = np.zeros([1, 0, 4], F4)
    for dtype in (U1, I1, I8):
        call = dict(image_size=np.array([60, 90, 3], dtype), bounding_boxes=none, use_image_if_no_bounding_boxes=True)
        add("SampleDistortedBoundingBoxV2", np.dtype(dtype).name, **call, min_object_covered=F4(0.1), seed=3)
    images = numbers(2, 5, 6, 2)
    offsets = np.array([[[0, 0], [0.3, -0.4]], [[-1.2, 0.9], [5, 1]], [[1, 2.6], [-2, -3]]], F4)
    for op in ("ExtractGlimpse", "ExtractGlimpseV2"):
        for centered in (False, True):
            for normalized in (False, True):
                for number, at in enumerate(offsets):
                    for size in ((3, 3), (2, 7), (5, 6)):
                        add(op, f"{centered} {normalized} {number} {size}", input=images, size=np.array(size, I4),
                            offsets=at, centered=centered, normalized=normalized, uniform_noise=False, noise="zero")
    state = np.array([1, 5, 6, 77], I8)
    near = {F4: dict(rtol=2e-6, atol=1e-6), F8: dict(rtol=1e-14, atol=1e-14), F2: dict(rtol=2e-3, atol=2e-3)}
    for dtype in (F4, F8, F2):
        add("StatefulStandardNormal", np.dtype(dtype).name, resource=Variable(state), shape=np.array([3, 5], I8),
            dtype=dtype, producer=28, **near[dtype])


def others(cases):
    add = cases.add
    x = numbers(4, 3)
    for op in ("Mul", "Div", "Min", "Max"):
        for label, rows, updates in (("repeated", [1, 3, 1], numbers(3, 3, seed=1)), ("one for all", [0, 2], F4(0.5))):
            add(f"ResourceScatter{op}", label, resource=Variable(x), indices=np.array(rows, I4), updates=updates,
                rtol=1e-6, atol=1e-7)
    state = np.array([5, 6, 77], I8)
    for delta in (0, 1, 2**40):
        add("RngReadAndSkip", f"{delta}", resource=Variable(state), alg=I4(1), delta=np.uint64(delta))
    key, counter = np.array([12345], np.uint64), np.array([3, 4], np.uint64)
    for dtype in (I4, I8):
        add("StatelessRandomUniformIntV2", np.dtype(dtype).name, shape=np.array([3, 5], I4), key=key, counter=counter,
            alg=I4(1), minval=dtype(3), maxval=dtype(1000))
    # Whose bytes do not end with 0, which arrays of strings do not keep.
    for name, value in {"float32": numbers(3), "strings": np.array([b"a", b"", b"cd"])}.items():
        add("SerializeTensor", name, tensor=value)


def plain(cases):
    for part in (elements, shapes, indices, matrices, windows, others):
        part(cases)
