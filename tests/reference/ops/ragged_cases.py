"""Calls of ops of ragged tensors, for op_cases.py.

Left out: partitions that do not go together, with which TensorFlow reads and writes what it should not, and
RaggedFillEmptyRows of no rows, whose numbers of rows TensorFlow gives as a matrix.
"""

import numpy as np

F4, F8, I4, I8 = np.float32, np.float64, np.int32, np.int64
VALUES = np.array([1, 2, 3, 4, 5, 6], F4)
SPLITS = np.array([0, 3, 3, 4, 6], I8)


def ints(*values, dtype=I8):
    return np.array(values, dtype)


def floats(*values, dtype=F4):
    return np.array(values, dtype)


def ranges(cases):
    for label, starts, limits, deltas in (
        ("vectors", ints(2, 5, 8, dtype=I4), ints(3, 5, 12, dtype=I4), ints(1, 1, 2, dtype=I4)),
        ("scalars", I8(1), I8(4), I8(2)),
        ("broadcast", I4(1), ints(3, 5, 0, dtype=I4), I4(2)),
        ("backwards", ints(5, 5), ints(0, 9), ints(-2, -1)),
        ("fractions", floats(0, 1), floats(1, -0.5), floats(0.3, -0.4)),
        ("many", floats(0), floats(2.1), floats(0.1)),
        ("float64", floats(0, dtype=F8), floats(2.1, dtype=F8), floats(0.1, dtype=F8)),
        ("infinite delta", floats(0), floats(3), floats(np.inf)),
        ("extremes", I8(-(2**63)), I8(2**63 - 1), I8(2**62)),
        ("nothing", ints(), ints(), ints()),
    ):
        for type_name in ("int32", "int64"):
            cases.add(
                "RaggedRange", f"{label} {type_name}", starts=starts, limits=limits, deltas=deltas, Tsplits=np.dtype(type_name)
            )


def gathers(cases):
    two = [ints(0, 2, 3), ints(0, 3, 3, 6)]
    for label, splits, values, indices in (
        ("vector", [SPLITS], VALUES, ints(3, 0, 1, dtype=I4)),
        ("int32 splits", [SPLITS.astype(I4)], VALUES, ints(3, 0, 1)),
        ("two dimensions", two, VALUES, ints(1, 0, 1)),
        ("matrix", [SPLITS], VALUES, ints([3, 0], [1, 2])),
        ("cube", [SPLITS], VALUES, ints([[3, 0], [1, 2]], [[0, 0], [1, 1]])),
        ("scalar", [SPLITS], VALUES, I4(3)),
        ("scalar of two dimensions", two, VALUES, I4(0)),
        ("rows", [ints(0, 1, 3)], VALUES.reshape(3, 2), ints(1, 0)),
        ("part of the values", [ints(1, 1, 2)], VALUES.reshape(3, 2), ints(1, 0)),
        ("nothing", [ints(0, 1, 3)], VALUES.reshape(3, 2), ints()),
        ("no rows", [ints(0, 1, 3)], VALUES.reshape(3, 2), np.zeros((0, 2), I8)),
        ("empty rows", [ints(0, 1, 3)], VALUES.reshape(3, 2), np.zeros((2, 0), I8)),
        ("strings", [ints(0, 1, 3)], np.array([b"a", b"b", b"c"]), ints(1)),
    ):
        cases.add(
            "RaggedGather",
            label,
            params_nested_splits=splits,
            params_dense_values=values,
            indices=indices,
            OUTPUT_RAGGED_RANK=len(splits) + indices.ndim - 1,
        )
    for label, splits, values in (
        ("one dimension", [SPLITS], VALUES),
        ("two dimensions", [ints(0, 2, 2, 3), ints(0, 3, 3, 6)], VALUES),
        ("rows", [ints(0, 1, 3, dtype=I4)], VALUES.reshape(3, 2)),
        ("cubes", [ints(0, 0, 1, 3)], np.arange(12).reshape(3, 2, 2)),
        ("nothing", [ints(0)], floats()),
        ("no values", [ints(0, 0)], np.zeros((0, 2), F4)),
    ):
        cases.add("RaggedTensorToSparse", label, rt_nested_splits=splits, rt_dense_values=values)


def written_out(cases):
    splits, ids = ["ROW_SPLITS"], ["FIRST_DIM_SIZE", "VALUE_ROWIDS"]
    outer, inner, row_ids = ints(0, 2, 2, 3), ints(0, 3, 3, 6), ints(0, 0, 0, 2, 3, 3)
    nine = F4(9)
    for label, shape, values, default, partitions, types in (
        ("any", ints(-1, -1), VALUES, nine, [SPLITS], splits),
        ("int32", ints(-1, -1, dtype=I4), VALUES, nine, [SPLITS.astype(I4)], splits),
        ("smaller", ints(2, 2), VALUES, nine, [SPLITS], splits),
        ("larger", ints(6, 5), VALUES, nine, [SPLITS], splits),
        ("rows given", ints(5, -1), VALUES, nine, [SPLITS], splits),
        ("row ids", ints(-1, -1), VALUES, nine, [I8(4), row_ids], ids),
        ("row ids, smaller", ints(3, 2), VALUES, nine, [I8(4), row_ids], ids),
        ("two dimensions", ints(-1, -1, -1), VALUES, nine, [outer, inner], splits * 2),
        ("two dimensions, smaller", ints(3, 1, 2), VALUES, nine, [outer, inner], splits * 2),
        ("two of row ids", ints(-1, -1, -1), VALUES, nine, [I8(3), ints(0, 0, 2), ints(0, 0, 0, 2, 2, 2)], ids + ids[1:]),
        ("splits, then row ids", ints(-1, -1, -1), VALUES, nine, [outer, ints(0, 0, 0, 2, 2, 2)], splits + ids[1:]),
        ("row ids, then splits", ints(-1, -1, -1), VALUES, nine, [I8(3), ints(0, 0, 2), inner], ids + splits),
        ("rows", ints(-1, -1, 2), VALUES.reshape(3, 2), nine, [ints(0, 1, 3)], splits),
        ("default of a row", ints(-1, -1, -1), VALUES.reshape(3, 2), floats(7, 8), [ints(0, 1, 3)], splits),
        ("default of one", ints(-1, -1, -1), VALUES.reshape(3, 2), floats(7), [ints(0, 1, 3)], splits),
        (
            "default of a column",
            ints(-1, -1, -1, -1),
            np.arange(12, dtype=F4).reshape(3, 2, 2),
            floats([7], [8]),
            [ints(0, 1, 3)],
            splits,
        ),
        ("no values", ints(2, 2), floats(), nine, [I8(2), ints()], ids),
        ("no values and no shape", ints(-1, -1), floats(), nine, [ints(0, 0, 0)], splits),
        ("no columns", ints(-1, 0), VALUES, nine, [SPLITS], splits),
        ("strings", ints(-1, -1), np.array([b"a", b"b"]), np.array(b"-"), [ints(0, 2, 2)], splits),
    ):
        cases.add(
            "RaggedTensorToTensor",
            label,
            shape=shape,
            values=values,
            default_value=default,
            row_partition_tensors=partitions,
            row_partition_types=types,
        )


def filled(cases):
    for label, rows, values, count in (
        ("in order", ints(0, 0, 2), floats(1, 2, 3), 4),
        ("unordered", ints(2, 0, 2), floats(1, 2, 3), 4),
        ("full", ints(0, 1), ints(1, 2), 2),
        ("nothing", ints(), floats(), 2),
    ):
        cases.add(
            "RaggedFillEmptyRows",
            label,
            value_rowids=rows,
            values=values,
            nrows=I8(count),
            default_value=values.dtype.type(9),
        )
    cases.add("RaggedFillEmptyRowsGrad", "some", reverse_index_map=ints(0, 2, 3), grad_values=floats(1, 2, 3, 4, 5))


def ragged_family(cases):
    for part in (ranges, gathers, written_out, filled):
        part(cases)
