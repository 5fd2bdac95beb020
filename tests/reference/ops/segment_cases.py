"""Calls of ops that join rows by segment, count, search, or move blocks of elements, for op_cases.py."""

import numpy as np

F2, F4, F8, I1, I4, I8 = np.float16, np.float32, np.float64, np.int8, np.int32, np.int64
INF, NAN = np.inf, np.nan


def segments(cases):
    for dtype in (F2, F4, I1, I4):
        name = np.dtype(dtype).name
        rows = np.array([[1, 2], [3, -4], [5, 6], [0, 1], [-7, 2]], dtype)
        for op in ("Sum", "Mean", "Prod", "Max", "Min"):
            cases.add("Segment" + op, name, data=rows, segment_ids=np.array([0, 0, 2, 4, 4], I4))
        for op in ("Sum", "Prod", "Max", "Min"):
            arguments = dict(data=rows, segment_ids=np.array([3, 0, -1, 3, 0], I8), num_segments=np.int32(5))
            cases.add("UnsortedSegment" + op, name, **arguments)
    # Not NaN: whether it wins depends on where it stands.
    special = np.array([INF, 1, INF, -INF, -0.0, 0], F4)
    for op in ("Max", "Min"):
        ids = np.array([0, 0, 1, 1, 2, 2], I4)
        cases.add("Segment" + op, "special", data=special, segment_ids=ids)
        cases.add("UnsortedSegment" + op, "special", data=special, segment_ids=ids, num_segments=np.int32(3))
    z = np.array([1 + 2j, 3 - 1j, -2j], np.complex64)
    for op in ("Sum", "Mean", "Prod"):
        cases.add("Segment" + op, "complex", data=z, segment_ids=np.array([0, 0, 1], I4), rtol=1e-6)
    narrow = np.array([100, 100, -4, -5, 1], I1)
    for op in ("Sum", "Mean", "Prod"):
        cases.add("Segment" + op, "int8 wraps", data=narrow, segment_ids=np.array([0, 0, 1, 1, 1], I4))
    for op in ("Sum", "Mean", "Prod", "Max", "Min"):
        cases.add("Segment" + op, "nothing", data=np.zeros((0, 3), F4), segment_ids=np.zeros(0, I4))


def ranks(cases):
    x = np.array([[1, 5, 2, 2, 3], [-1, 0, 7, -3, 2]], F4)
    for reverse in (False, True):
        for n in (0, 3, 4):
            cases.add("NthElement", f"{n}{' reverse' if reverse else ''}", input=x, n=np.int32(n), reverse=reverse)
    rows = np.array([[0.1, 0.5, 0.4], [0.1, 0.5, INF], [0.2, 0.2, 0.2], [1, 2, 3], [NAN, 3, 1], [0.3, 0.2, 0.1]], F4)
    targets = np.array([2, 1, 1, 3, 1, -1], I4)
    for k in (-1, 0, 1, 2, 4):
        cases.add("InTopKV2", f"{k}", predictions=rows, targets=targets, k=np.int32(k))
        cases.add("InTopK", f"{k}", predictions=rows, targets=targets, k=k)
    for dtype in (F2, F4, I4, I8):
        name = np.dtype(dtype).name
        arguments = dict(
            sorted_inputs=np.array([[0, 3, 9, 9, 10], [1, 2, 3, 4, 5]], dtype),
            values=np.array([[2, 4, 9], [0, 2, 6]], dtype),
        )
        cases.add("LowerBound", name, **arguments)
        cases.add("UpperBound", name, **arguments, out_type=I8)
    for dtype in (F4, F8, I4, I8):
        x = np.array([-5, 10000, 150, 10, 5, 100, 16777217], dtype)
        cases.add("Bucketize", np.dtype(dtype).name, input=x, boundaries=[0.0, 10.0, 100.0, 16777216.0])
    cases.add("Bucketize", "special", input=np.array([NAN, INF, -INF, 0, -0.0], F4), boundaries=[0.0, 1.0])
    cases.add("Bucketize", "one bucket", input=np.array([1, 2], I4), boundaries=[])


def counts(cases):
    numbers = np.array([[1, 2], [7, 1]], I4)
    cases.add("Bincount", "counts", arr=numbers, size=np.int32(4), weights=np.zeros(0, F4))
    weights = np.array([[3, 5], [7, 9]], F8)
    cases.add("Bincount", "weights", arr=numbers, size=np.int32(4), weights=weights)
    values = np.array([-1, 0, 1.5, 2, 5, 15, INF, -INF], F4)
    ends = np.array([0, 5], F4)
    cases.add("HistogramFixedWidth", "ends", values=values, value_range=ends, nbins=np.int32(5))
    tenths = np.arange(-2, 13).astype(F4) / F4(10)
    cases.add("HistogramFixedWidth", "edges", values=tenths, value_range=np.array([0, 1], F4), nbins=np.int32(10))
    whole = np.array([[-1, 0, 1], [2, 5, 15]], I4)
    cases.add(
        "HistogramFixedWidth", "integers", values=whole, value_range=np.array([0, 5], I4), nbins=np.int32(3), dtype=I8
    )
    x = np.array([1, 2, 2, 3, 1, NAN], F4)
    cases.add("ListDiff", "special", x=x, y=np.array([1, NAN], F4))
    cases.add("ListDiff", "integers", x=np.array([5, 3, 5, 0], I8), y=np.array([3], I8), out_idx=I8)
    cases.add("UniqueWithCounts", "integers", x=np.array([3, 1, 3, 2, 1, 1], I4))
    cases.add("UniqueWithCounts", "int64", x=np.array([3.5, 1, 3.5], F4), out_idx=I8)


def running(cases):
    for dtype, tolerance in ((F4, 2e-6), (F8, 1e-14)):
        x = np.array([[1, -2, 3.5], [0.25, 4, -1]], dtype)
        for exclusive in (False, True):
            for reverse in (False, True):
                label = f"{np.dtype(dtype).name} {exclusive} {reverse}"
                flags = dict(exclusive=exclusive, reverse=reverse)
                cases.add("CumulativeLogsumexp", label, x=x, axis=np.int32(1), **flags, rtol=tolerance)
        special = np.array([-INF, -INF, 3, INF, 1, NAN, 2], dtype)
        cases.add("CumulativeLogsumexp", f"special {np.dtype(dtype).name}", x=special, axis=np.int32(0))


def blocks(cases):
    image = np.arange(2 * 4 * 6 * 3, dtype=I4).reshape(2, 4, 6, 3)
    cases.add("SpaceToDepth", "2", input=image, block_size=2)
    deep = np.arange(2 * 2 * 3 * 12, dtype=F4).reshape(2, 2, 3, 12)
    cases.add("DepthToSpace", "2", input=deep, block_size=2)
    none, some = np.zeros((2, 2), I4), np.array([[1, 1], [0, 3]], I4)
    cases.add("SpaceToBatch", "2", input=image, paddings=none, block_size=2)
    cases.add("SpaceToBatch", "3", input=image, paddings=some, block_size=3)
    whole = np.arange(9 * 2 * 3 * 2, dtype=I4).reshape(9, 2, 3, 2)
    cases.add("BatchToSpace", "3", input=whole, crops=some, block_size=3)
    sizes = np.array([2, 3], I4)
    paddings, crops = np.array([[1, 1], [0, 0]], I8), np.array([[1, 0], [2, 1]], I4)
    cases.add("SpaceToBatchND", "2 3", input=image.reshape(2, 4, 18), block_shape=sizes, paddings=paddings)
    examples = np.arange(72, dtype=F4).reshape(12, 2, 3)
    cases.add("BatchToSpaceND", "2 3", input=examples, block_shape=sizes, crops=crops)
    ends = np.array([[0, 2]], I4)
    cases.add("SpaceToBatchND", "one dimension", input=image, block_shape=np.array([2], I4), paddings=ends)


def responses(cases):
    random = np.random.RandomState(7)
    x, dy, y = (random.uniform(-2, 2, (2, 2, 1, 9)).astype(F4) for _ in range(3))
    attributes = {"default": {}, "narrow": dict(depth_radius=2, bias=1.5, alpha=0.25, beta=0.75)}
    for label, attrs in attributes.items():
        cases.add("LRN", label, input=x, **attrs, rtol=2e-6, atol=1e-6)
        cases.add("LRNGrad", label, input_grads=dy, input_image=x, output_image=y, **attrs, rtol=4e-6, atol=2e-6)


def segment_family(cases):
    for part in (segments, ranks, counts, running, blocks, responses):
        part(cases)
