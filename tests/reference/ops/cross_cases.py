"""Calls of ops of crosses of features, for op_cases.py.

Left out: strong hashes of integers of dense columns, which TensorFlow does not survive.
"""

import numpy as np


def ints(*values):
    return np.array(values, np.int64)


FIRST, SECOND, SHAPE = ints([0, 0], [0, 1], [1, 0]), ints([0, 0], [1, 0], [1, 1]), ints(2, 2)
ABC, XYZ, NUMBERS = np.array([b"a", b"b", b"c"]), np.array([b"x", b"y", b"zz"]), ints(5, -6, 2**40 + 7)
PQ, DENSE = np.array([[b"p"], [b"q"]]), ints([1, 2], [3, -4])


def cross_family(cases):
    for label, values, dense in (
        ("strings", [ABC, XYZ], []),
        ("both", [ABC, NUMBERS], [PQ, DENSE]),
        ("numbers", [NUMBERS, NUMBERS], [DENSE]),
        ("one", [NUMBERS], []),
        ("dense", [], [PQ, DENSE]),
        ("numbers of a dense column", [], [DENSE]),
    ):
        columns = dict(
            indices=[FIRST, SECOND][: len(values)], values=values, shapes=[SHAPE] * len(values), dense_inputs=dense
        )
        cases.add("SparseCrossV2", label, **columns, sep=np.array(b"_Y_"))
        texts = all(column.dtype.kind == "S" for column in values + dense)
        for hashed, buckets in ((False, 0), (True, 0), (True, 100)):
            cases.add(
                "SparseCross",
                f"{label} {hashed} {buckets}",
                **columns,
                hashed_output=hashed,
                num_buckets=buckets,
                hash_key=956888297470,
                out_type=np.dtype("int64") if hashed else "string",
                internal_type="string" if texts else np.dtype("int64"),
            )
        for strong in (False, True):
            if strong and any(column.dtype.kind != "S" for column in dense):
                continue
            for buckets in (0, 100):
                cases.add(
                    "SparseCrossHashed",
                    f"{label} {strong} {buckets}",
                    **columns,
                    num_buckets=np.int64(buckets),
                    strong_hash=np.array(strong),
                    salt=ints(137, -173),
                )
