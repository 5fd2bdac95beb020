"""Calls of ops of sets, for op_cases.py.

Left out: entries that are not in order, which TensorFlow takes for more rows than there are.
"""

import numpy as np


def ints(*values, dtype=np.int64):
    return np.array(values, dtype)


INDICES, SHAPE, NONE = ints([0, 0], [0, 2], [1, 1]), ints(2, 3), np.zeros((0, 2), np.int64)
MATRIX = ints([3, 1, 1], [4, 5, 6])


def set_family(cases):
    for label, indices, values, shape in (
        ("two", INDICES, ints(5, 5, 7), SHAPE),
        ("int8", INDICES, ints(5, 6, 7, dtype=np.int8), SHAPE),
        ("strings", ints([0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 0, 2]), np.array([b"a", b"b", b"a", b"a"]), ints(2, 2, 3)),
        ("nothing", NONE, ints(), SHAPE),
        ("no rows", NONE, ints(), ints(0, 3)),
    ):
        cases.add("SetSize", label, set_indices=indices, set_values=values, set_shape=shape)
    for operation in ("a-b", "b-a", "intersection", "union"):
        for label, one, two in (
            ("matrices", MATRIX, ints([1, 9], [6, 6])),
            ("cubes", ints([[3, 1], [1, 1]], [[4, 5], [6, 6]]), ints([[1], [9]], [[6], [6]])),
            ("empty rows", np.zeros((2, 0), np.int64), ints([1, 9], [6, 6])),
            ("no rows", np.zeros((0, 2), np.int64), np.zeros((0, 3), np.int64)),
            ("strings", np.array([[b"b", b"a", b"\xc3"]]), np.array([[b"c", b"b", b"Z"]])),
        ):
            cases.add("DenseToDenseSetOperation", f"{label} {operation}", set1=one, set2=two, set_operation=operation)
        for label, indices, values, shape in (
            ("entries", INDICES, ints(1, 9, 6), SHAPE),
            ("one row", ints([1, 0]), ints(6), ints(2, 1)),
            ("nothing", NONE, ints(), SHAPE),
        ):
            cases.add(
                "DenseToSparseSetOperation",
                f"{label} {operation}",
                set1=MATRIX,
                set2_indices=indices,
                set2_values=values,
                set2_shape=shape,
                set_operation=operation,
            )
            cases.add(
                "SparseToSparseSetOperation",
                f"{label} {operation}",
                set1_indices=ints([0, 1], [1, 0], [1, 2]),
                set1_values=ints(9, 6, 6),
                set1_shape=SHAPE,
                set2_indices=indices,
                set2_values=values,
                set2_shape=shape,
                set_operation=operation,
            )
