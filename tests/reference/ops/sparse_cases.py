"""Calls of ops of sparse tensors and of segments of chosen rows, for op_cases.py.

Left out: gradients of segments without any indices, of which TensorFlow leaves the result uninitialised.
"""

import numpy as np

F2, F4, F8, I1, I4, I8 = np.float16, np.float32, np.float64, np.int8, np.int32, np.int64
INF, NAN = np.inf, np.nan


def ints(*values, dtype=I8):
    return np.array(values, dtype)


INDICES, SHAPE = ints([0, 0], [0, 2], [1, 1]), ints(2, 3)
NONE = np.zeros((0, 2), I8)


def segments(cases):
    data = np.array([[1, 2.5], [3, -4], [5, 6], [0.25, 1]], F4)
    indices, ids = ints(3, 0, 3, 1, 1), ints(0, 0, 1, 3, 3)
    for dtype, tolerance in ((F2, dict(rtol=1e-3)), (F4, dict(rtol=1e-6)), (F8, dict(rtol=1e-15))):
        name = np.dtype(dtype).name
        for op in ("Sum", "Mean", "SqrtN"):
            chosen = dict(data=data.astype(dtype), indices=indices, segment_ids=ids)
            cases.add(f"SparseSegment{op}", name, **chosen, **tolerance)
            cases.add(f"SparseSegment{op}WithNumSegments", name, **chosen, num_segments=I4(6), **tolerance)
            cases.add(
                f"SparseSegment{op}Grad",
                name,
                grad=data[:3].astype(dtype),
                indices=ints(0, 1, 1, 3, 0, dtype=I4),
                segment_ids=ints(0, 2, 0, 2, 2, dtype=I4),
                output_dim0=I4(5),
                **tolerance,
            )
    for dtype in (I1, I4):
        rows = np.array([100, 100, -3], dtype)
        cases.add("SparseSegmentSum", np.dtype(dtype).name, data=rows, indices=ints(0, 1, 2), segment_ids=ints(0, 0, 2))
    for op in ("Sum", "Mean", "SqrtN"):
        nothing = dict(data=data, indices=ints(), segment_ids=ints())
        cases.add(f"SparseSegment{op}", "nothing", **nothing)
        cases.add(f"SparseSegment{op}WithNumSegments", "nothing", **nothing, num_segments=I8(2))
    many = np.full((3000, 1), 1, F2)
    order = np.arange(3000, dtype=I4)
    cases.add("SparseSegmentSum", "float16 many", data=many, indices=order, segment_ids=0 * order)


def dense(cases):
    def to_dense(label, indices, shape, values, default, **attrs):
        cases.add(
            "SparseToDense",
            label,
            sparse_indices=indices,
            output_shape=shape,
            sparse_values=values,
            default_value=default,
            **attrs,
        )

    to_dense("matrix", INDICES, SHAPE, np.array([5, 6, 7], F4), F4(-1))
    to_dense("vector", ints(1, 3, dtype=I4), ints(4, dtype=I4), np.array([5, 6], I1), I1(0))
    to_dense("one value", ints(1, 3), ints(4), F8(2), F8(0))
    to_dense("scalar", I8(2), ints(4), F4(2), F4(1))
    to_dense("scalar and vector", I8(2), ints(4), np.array([2], F4), F4(1))
    to_dense("repeated", ints(3, 1, 3), ints(4), np.array([5, 6, 7], F4), F4(0), validate_indices=False)
    to_dense("nothing", NONE, ints(0, 3), np.array([], F4), F4(0))

    entries = ints([2, 1], [0, 0], [2, 1], [0, 1])
    for dtype in (F4, F8, I4, np.complex64):
        values = np.array([2, -3, 5, 0.5], dtype)
        b = np.arange(6).reshape(2, 3).astype(dtype)
        if dtype == np.complex64:
            values, b = values * (1 + 2j), b - 1j
        for adjoint_a in (False, True):
            for adjoint_b in (False, True):
                other = b.T if adjoint_a != adjoint_b else b
                other = np.concatenate([other, other], 1) if adjoint_b else other
                rows = 3 if adjoint_a else 2
                full = np.resize(other, (4, rows) if adjoint_b else (rows, 4)).astype(dtype)
                cases.add(
                    "SparseTensorDenseMatMul",
                    f"{np.dtype(dtype).name} {adjoint_a} {adjoint_b}",
                    a_indices=entries,
                    a_values=values,
                    a_shape=ints(3, 2),
                    b=full,
                    adjoint_a=adjoint_a,
                    adjoint_b=adjoint_b,
                    rtol=1e-6,
                    atol=1e-6,
                )
    special = np.array([[NAN, INF], [1, 2]], F4)
    cases.add(
        "SparseTensorDenseMatMul",
        "special",
        a_indices=ints([0, 0]),
        a_values=np.array([0], F4),
        a_shape=ints(2, 2),
        b=special,
    )

    values = np.array([2, 3, 5], F4)
    for axes in ([0], [1], [-1], [0, 1], [], [1, -1], 0):
        for keep in (False, True):
            cases.add(
                "SparseReduceSum",
                f"{axes} {keep}",
                input_indices=INDICES,
                input_values=values,
                input_shape=SHAPE,
                reduction_axes=np.array(axes, I4),
                keep_dims=keep,
            )
    for label, numbers in (("negative", -values), ("NaN first", np.array([NAN, 1, 2], F4)), ("int8", np.array([-1, -2, -3], I1))):
        for axes in ([0], [1], [0, 1]):
            cases.add(
                "SparseReduceMax",
                f"{label} {axes}",
                input_indices=INDICES,
                input_values=numbers,
                input_shape=SHAPE,
                reduction_axes=np.array(axes, I4),
            )
    for label, indices, numbers in (
        ("unordered", ints([1, 1], [0, 2], [0, 0], [1, 1]), np.array([1, 2, 3, 4], F4)),
        ("int8 wraps", INDICES, np.array([100, 100, 3], I1)),
        ("nothing", NONE, np.array([], F4)),
        ("beyond what is reduced", ints([0, 0], [0, 7], [1, 1]), values),
    ):
        cases.add(
            "SparseReduceSum",
            label,
            input_indices=indices,
            input_values=numbers,
            input_shape=SHAPE,
            reduction_axes=ints(1, dtype=I4),
        )

    full = np.array([[1, 2, 4], [0.5, 8, -2]], F4)
    for op in ("Add", "Mul", "Div"):
        for label, other in (("whole", full), ("row", full[0]), ("column", full[:, :1]), ("scalar", F4(4))):
            cases.add(
                f"SparseDenseCwise{op}", label, sp_indices=INDICES, sp_values=values, sp_shape=SHAPE, dense=other, rtol=1e-7
            )
        cases.add(
            f"SparseDenseCwise{op}",
            "int8",
            sp_indices=INDICES,
            sp_values=np.array([100, -7, 7], I1),
            sp_shape=SHAPE,
            dense=np.array([100, 1, 2], I1),
        )


def entries(cases):
    values = np.array([2, 3, 5], F4)
    for label, indices, numbers in (
        ("mixed", ints([1, 0], [0, 2], [0, 1]), values),
        ("in order", INDICES, np.array([1, 2, 3], I4)),
        ("beyond the shape", ints([1, 0], [0, 5], [0, -1]), values),
        ("nothing", NONE, np.array([], F4)),
    ):
        cases.add("SparseReorder", label, input_indices=indices, input_values=numbers, input_shape=SHAPE)

    def add(label, a, x, b, y, thresh):
        cases.add(
            "SparseAdd", label, a_indices=a, a_values=x, a_shape=SHAPE, b_indices=b, b_values=y, b_shape=SHAPE, thresh=thresh
        )

    two = ints([0, 0], [1, 1])
    add("float32", two, values[:2], INDICES, values, F4(0))
    add("threshold", two, values[:2], INDICES, np.array([-2, 0.1, 0.2], F4), F4(0.5))
    add("equal to the threshold", two, values[:2], two, values[:2], F4(4))
    add("special", two, np.array([NAN, INF], F4), two, values[:2], F4(0))
    add("negative threshold", two, np.array([0, 1], F4), two, np.array([0, -1], F4), F4(-1))
    add("complex", two, np.array([3j, 1], np.complex64), two, np.array([1j, 1], np.complex64), F4(3))
    add("int32", two, np.array([1, 3], I4), two, np.array([0, 4], I4), I4(2))
    add("unordered", two[::-1].copy(), values[:2], INDICES, values, F4(0))
    add("repeated", ints([0, 0], [0, 0]), values[:2], INDICES, values, F4(0))
    add("nothing", NONE, values[:0], NONE, values[:0], F4(0))
    for label, a, total in (
        ("all", two, INDICES),
        ("some", two, INDICES[1:]),
        ("unordered", two[::-1].copy(), INDICES),
        ("repeated", ints([0, 0], [0, 0]), INDICES),
        ("foreign", two, ints([0, 0], [0, 1])),
        ("nothing", two, NONE),
    ):
        cases.add(
            "SparseAddGrad", label, backprop_val_grad=values[: len(total)], a_indices=a, b_indices=INDICES, sum_indices=total
        )

    for label, indices, numbers, shape in (
        ("in order", ints([0, 1], [2, 0], [2, 2]), values, ints(4, 3)),
        ("unordered", ints([2, 1], [0, 0], [2, 0]), values, ints(4, 3)),
        ("full", INDICES, values, SHAPE),
        ("one dimension", ints([1]), np.array([7], I4), ints(3)),
        ("three dimensions", ints([1, 1, 9]), values[:1], ints(3, 2, 2)),
        ("nothing", NONE, values[:0], SHAPE),
        ("no rows", NONE, values[:0], ints(0, 3)),
    ):
        cases.add(
            "SparseFillEmptyRows",
            label,
            indices=indices,
            values=numbers,
            dense_shape=shape,
            default_value=numbers.dtype.type(9),
        )
    for label, places, grads in (
        ("some", ints(0, 2, 3), np.arange(1, 6, dtype=F4)),
        ("repeated", ints(1, 1), np.arange(1, 6, dtype=F8)),
        ("int8 wraps", ints(0), np.array([1, 100, 100], I1)),
        ("nothing", ints(), np.zeros(0, F4)),
    ):
        cases.add("SparseFillEmptyRowsGrad", label, reverse_index_map=places, grad_values=grads)

    for label, indices, numbers in (
        ("float32", INDICES, values),
        ("float64", INDICES, values.astype(F8)),
        ("float16", INDICES, values.astype(F2)),
        ("rows not in order", ints([1, 1], [0, 2], [0, 0]), values),
        ("beyond the shape", ints([0, 0], [0, 3], [5, 1]), values),
        ("NaN", INDICES, np.array([NAN, 1, 2], F4)),
        ("infinity", INDICES, np.array([INF, 1, -INF], F4)),
        ("nothing", NONE, values[:0]),
    ):
        cases.add("SparseSoftmax", label, sp_indices=indices, sp_values=numbers, sp_shape=SHAPE, rtol=1e-3 if "16" in label else 1e-6)


def shapes(cases):
    for label, indices, shape, new in (
        ("smaller", INDICES, SHAPE, ints(3, 2)),
        ("vector", INDICES, SHAPE, ints(-1)),
        ("the rest", INDICES, SHAPE, ints(1, -1, 2)),
        ("beyond the shape", ints([5, 0], [0, -1]), SHAPE, ints(6)),
        ("beyond the same shape", ints([5, 0]), SHAPE, SHAPE),
        ("nothing", NONE, ints(0, 3), ints(-1, 3)),
        ("scalar", ints([0]), ints(1), ints()),
    ):
        cases.add("SparseReshape", label, input_indices=indices, input_shape=shape, new_shape=new)
    values = np.array([2, 3, 5], F4)
    for label, indices, start, size in (
        ("part", INDICES, ints(0, 1), ints(2, 2)),
        ("beyond the end", INDICES, ints(1, 1), ints(9, 9)),
        ("behind the end", INDICES, ints(5, 0), ints(1, 1)),
        ("before the beginning", INDICES, ints(-1, 0), ints(2, 2)),
        ("unordered", INDICES[::-1].copy(), ints(0, 0), ints(2, 2)),
        ("no size", INDICES, ints(0, 0), ints(0, 2)),
        ("beyond the shape", ints([0, 0], [0, 7], [0, -7]), ints(0, 0), ints(2, 9)),
    ):
        cases.add("SparseSlice", label, indices=indices, values=values, shape=SHAPE, start=start, size=size)
    for label, grads, indices, start, part in (
        ("part", values[:2], INDICES, ints(0, 1), ints([0, 1], [1, 0])),
        ("nothing", values[:0], INDICES, ints(0, 1), NONE),
        ("unordered", values[:2], INDICES[::-1].copy(), ints(0, 1), ints([1, 0], [0, 1])),
    ):
        cases.add(
            "SparseSliceGrad",
            label,
            backprop_val_grad=grads,
            input_indices=indices,
            input_start=start,
            output_indices=part,
        )


def sparse_family(cases):
    for part in (segments, dense, entries, shapes):
        part(cases)
