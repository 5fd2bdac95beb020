"""Calls of ops of several sparse tensors, of sparse reductions and of counts by rows, for op_cases.py.

Left out: what TensorFlow reads beyond the weights of SparseBincount where they are too few; SparseMatMul of infinities
and NaN, which TensorFlow multiplies with 0 or leaves out depending on what it is told of zeros.
"""

import numpy as np

F2, F4, F8, I1, I4, I8 = np.float16, np.float32, np.float64, np.int8, np.int32, np.int64
NAN = np.nan


def ints(*values, dtype=I8):
    return np.array(values, dtype)


def floats(*values, dtype=F4):
    return np.array(values, dtype)


INDICES, SHAPE = ints([0, 0], [0, 2], [1, 1]), ints(2, 3)
OTHERS = ints([0, 0], [0, 1], [1, 1])
NONE = np.zeros((0, 2), I8)


def joined(cases):
    one, two = floats(1, 2, 3), floats(4, 5, 6)
    for label, first, shape, axis in (
        ("rows", INDICES, SHAPE, 0),
        ("columns", INDICES, ints(2, 5), -1),
        ("unordered", INDICES[::-1].copy(), ints(2, 5), 1),
        ("repeated", ints([0, 0], [0, 0], [0, 0]), ints(2, 5), -1),
        ("beyond the shape", ints([0, 7], [0, 0], [-1, 0]), ints(2, 5), -1),
    ):
        cases.add(
            "SparseConcat", label, indices=[first, INDICES], values=[one, two], shapes=[SHAPE, shape], concat_dim=axis
        )
    cases.add(
        "SparseConcat",
        "three",
        indices=[NONE, INDICES, INDICES],
        values=[ints(), ints(1, 2, 3), ints(4, 5, 6)],
        shapes=[ints(0, 3), SHAPE, SHAPE],
        concat_dim=0,
    )
    for label, axis, indices, shape, parts in (
        ("even", 0, INDICES, SHAPE, 2),
        ("uneven", 1, INDICES, SHAPE, 2),
        ("unordered", -1, ints([1, 6], [0, 0], [1, 3]), ints(2, 7), 3),
        ("one", 1, INDICES, SHAPE, 1),
        ("nothing", 1, NONE, SHAPE, 3),
    ):
        cases.add(
            "SparseSplit", label, split_dim=I8(axis), indices=indices, values=one[: len(indices)], shape=shape, num_split=parts
        )


def pairs(cases):
    dense = np.arange(6).reshape(2, 3)
    for dtype in (F2, F4, F8, I1, np.complex64):
        values = np.array([1.5, 100, 3], dtype)
        cases.add(
            "SparseTensorDenseAdd", np.dtype(dtype).name, a_indices=INDICES, a_values=values, a_shape=SHAPE, b=dense.astype(dtype)
        )
    for label, indices, values, shape, b in (
        ("repeated", ints([1, 2], [0, 0], [1, 2], dtype=I4), floats(1, 2, 3), SHAPE.astype(I4), dense.astype(F4)),
        ("int8 wraps", INDICES, np.array([127, 127, 127], I1), SHAPE, dense.astype(I1)),
        ("nothing", NONE, floats(), ints(0, 3), np.zeros((0, 3), F4)),
    ):
        cases.add("SparseTensorDenseAdd", label, a_indices=indices, a_values=values, a_shape=shape, b=b)
    for op in ("SparseSparseMaximum", "SparseSparseMinimum"):
        for label, a, x, b, y in (
            ("float32", INDICES, floats(1, -2, 3), OTHERS, floats(4, -1, 2)),
            ("float16", INDICES, floats(1, -2, 3, dtype=F2), OTHERS, floats(4, -1, 2, dtype=F2)),
            ("int8", INDICES, ints(1, -2, 3, dtype=I1), OTHERS, ints(4, -1, 2, dtype=I1)),
            ("NaN", INDICES, floats(NAN, NAN, 3), OTHERS, floats(4, -1, NAN)),
            ("unordered", INDICES[::-1].copy(), floats(1, -2, 3), OTHERS, floats(4, -1, 2)),
            ("repeated", ints([0, 0], [0, 0], [1, 1]), floats(1, -2, 3), OTHERS, floats(4, -1, 2)),
            ("one empty", NONE, floats(), OTHERS, floats(4, -1, 2)),
            ("nothing", NONE, floats(), NONE, floats()),
        ):
            cases.add(op, label, a_indices=a, a_values=x, a_shape=SHAPE, b_indices=b, b_values=y, b_shape=SHAPE)
    a, b = floats([0, 1.5, 0], [2, 0, -1]), floats([1, 0], [0, 2.5], [3, 0])
    for transpose_a, transpose_b in ((False, False), (True, False), (False, True), (True, True)):
        cases.add(
            "SparseMatMul",
            f"{transpose_a} {transpose_b}",
            a=a.T.copy() if transpose_a else a,
            b=b.T.copy() if transpose_b else b,
            transpose_a=transpose_a,
            transpose_b=transpose_b,
            a_is_sparse=True,
        )


def groups(cases):
    cube = ints([0, 1, 0], [1, 0, 2], [1, 1, 1], [0, 1, 2], [0, 1, 0])
    for op in ("SparseReduceSumSparse", "SparseReduceMaxSparse"):

        def add(label, indices, values, shape, axes, **attrs):
            cases.add(
                op,
                label,
                input_indices=indices,
                input_values=values,
                input_shape=shape,
                reduction_axes=np.array(axes, I4),
                **attrs,
            )

        for keep in (False, True):
            for axes in ([0], [-1], [0, 1], [], [1, -1], 0):
                add(f"{axes} {keep}", INDICES, floats(-2, -3, 5), SHAPE, axes, keep_dims=keep)
            for axes in ([0], [1], [2], [0, 2], [2, 1]):
                add(f"cube {axes} {keep}", cube, floats(1, 2, 3, 4, 5), ints(2, 2, 3), axes, keep_dims=keep)
        add("nothing", NONE, floats(), SHAPE, [0])
        add("nothing at all", NONE, floats(), SHAPE, [0, 1])
        add("repeated", ints([0, 0], [0, 0]), floats(1, 2), SHAPE, [])
        add("NaN first", INDICES, floats(NAN, 1, 2), SHAPE, [1])
        add("int8", INDICES, ints(100, 100, 3, dtype=I1), SHAPE, [1])
        add("vector", ints([0], [2]), floats(1, 3), ints(4), [0])


def gradients(cases):
    grad = np.array([[1, 2.5], [3, -4], [5, 6]], F4)
    for op in ("Sum", "Mean", "SqrtN"):
        for label, dtype, indices, ids, tolerance in (
            ("float32", F4, ints(3, 1, 1, 0, 3, dtype=I4), ints(0, 0, 1, 2, 2, dtype=I4), 1e-6),
            ("float16", F2, ints(3, 1, 1, 0, 3, dtype=I4), ints(0, 0, 1, 2, 2, dtype=I4), 2e-3),
            ("float64", F8, ints(3, 1, 1, 0, 3), ints(2, 0, 1, 0, 2), 1e-15),
            ("nothing", F4, ints(), ints(), 0.0),
        ):
            cases.add(
                f"SparseSegment{op}GradV2",
                label,
                grad=grad.astype(dtype),
                indices=indices,
                segment_ids=ids,
                dense_output_dim0=I4(5),
                rtol=tolerance,
            )


def counts(cases):
    for binary in (False, True):
        for label, indices, values, shape, size, weights in (
            ("matrix", INDICES, ints(2, 0, 5, dtype=I4), SHAPE, I4(4), floats()),
            ("weights", INDICES, ints(2, 0, 5), SHAPE, I8(6), floats(0.5, 2, 3)),
            ("vector", ints([0], [2], [3]), ints(2, 2, 1), ints(5), I8(4), ints(1, 2, 3)),
            ("negative in a matrix", INDICES, ints(1, -1, 1), SHAPE, I8(4), floats()),
            ("three dimensions", ints([0, 0, 0], [1, 0, 1]), ints(1, 0), ints(2, 1, 2), I8(2), ints(dtype=I4)),
            ("no bins", INDICES, ints(2, 0, 5), SHAPE, I8(0), floats()),
            ("nothing", NONE, ints(), SHAPE, I8(3), floats(dtype=F8)),
        ):
            cases.add(
                "SparseBincount",
                f"{label} {binary}",
                indices=indices,
                values=values,
                dense_shape=shape,
                size=size,
                weights=weights,
                binary_output=binary,
            )
        for label, splits, values, weights in (
            ("counts", ints(0, 2, 2, 4), ints(2, 0, 5, 9), floats()),
            ("weights", ints(0, 2, 2, 4), ints(2, 2, 1, 9), floats(1, 2, 3, 4)),
            ("nothing", ints(0), ints(), ints()),
        ):
            cases.add(
                "RaggedBincount",
                f"{label} {binary}",
                splits=splits,
                values=values,
                size=I8(6),
                weights=weights,
                binary_output=binary,
            )


def sparse_join_family(cases):
    for part in (joined, pairs, groups, gradients, counts):
        part(cases)
