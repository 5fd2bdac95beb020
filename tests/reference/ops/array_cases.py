"""Calls of ops that take arrays apart, put them together and fill them, for op_cases.py."""

import numpy as np
import tensorflow as tf

F4, F8, I1, I4, I8, U1 = np.float32, np.float64, np.int8, np.int32, np.int64, np.uint8
nan, inf = np.nan, np.inf


def count_up(*shape, dtype=F4):
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


def ints(*values, dtype=I4):
    return np.array(values, dtype)


def shapes(cases):
    add = cases.add
    add("ShapeN", "three", input=[count_up(2, 3), F4(1), count_up(0, 2)])
    add("ShapeN", "int64", input=[count_up(2, 3), count_up(4)], out_type=tf.int64)
    for dtype in (I4, I8):
        name = np.dtype(dtype).name
        for label, a, b in (("stretched", [2, 1], [4, 1, 3]), ("scalar", [], [0, 3]), ("equal", [2, 3], [2, 3])):
            add("BroadcastArgs", f"{label} {name}", s0=np.array(a, dtype), s1=np.array(b, dtype))
    add("ConcatOffset", "middle", concat_dim=I4(1), shape=[ints(2, 3, 1), ints(2, 5, 1), ints(2, 0, 1)])
    add("ConcatOffset", "negative", concat_dim=I4(-2), shape=[ints(4, 1), ints(2, 1)])
    for dtype in (F4, F8):
        name = np.dtype(dtype).name
        tolerance = dict(rtol=2e-7, atol=1e-7) if dtype == F4 else dict(rtol=4e-16, atol=1e-16)
        for start, stop, num in ((0, 1, 5), (3, -2, 7), (2, 5, 1), (-1, 1, 2)):
            add("LinSpace", f"{start} {stop} {num} {name}", start=dtype(start), stop=dtype(stop), num=I4(num), **tolerance)
    values = np.array([[1, -2], [0.1, nan]], F4)
    for target in (tf.int32, tf.uint32, tf.uint8, tf.int16):
        add("Bitcast", f"float32 to {target.name}", input=values, type=target)
    add("Bitcast", "float32 to float64", input=values, type=tf.float64)
    add("Bitcast", "float32 to complex64", input=values, type=tf.complex64)
    add("Bitcast", "float32 to int64", input=values, type=tf.int64)
    add("Bitcast", "int64 to float32", input=ints(1, 2**33, dtype=I8), type=tf.float32)
    add("Bitcast", "float16 to bfloat16", input=np.array([1.5, -2], np.float16), type=tf.bfloat16)


def parts(cases):
    add = cases.add
    cube = count_up(2, 5, 3)
    for dtype in (I1, I4, I8):
        add("SplitV", f"sizes {np.dtype(dtype).name}", value=cube, size_splits=ints(2, 0, 3, dtype=dtype), split_dim=I4(1), num_split=3)
    add("SplitV", "the rest", value=cube, size_splits=ints(1, -1), split_dim=I4(-1), num_split=2)
    add("SplitV", "first axis", value=cube, size_splits=ints(1, 1), split_dim=I4(0), num_split=2)
    pads = ints([1, 1], [3, 2], [0, 2])
    for mode in ("REFLECT", "SYMMETRIC"):
        add("MirrorPad", mode, input=cube, paddings=pads, mode=mode)
        add("MirrorPad", f"{mode} int64", input=count_up(4, dtype=I4), paddings=ints([3, 2], dtype=I8), mode=mode)
        add("MirrorPadGrad", mode, input=count_up(4, 10, 5), paddings=pads, mode=mode)
        add("MirrorPadGrad", f"{mode} int64", input=count_up(9, dtype=F8), paddings=ints([3, 2], dtype=I8), mode=mode)
    add("MirrorPad", "bool", input=np.array([True, False]), paddings=ints([1, 1]), mode="REFLECT")
    add("ReverseSequence", "rows", input=count_up(3, 4), seq_lengths=ints(2, 0, 4, dtype=I8), seq_dim=1)
    add("ReverseSequence", "columns", input=count_up(4, 3, 2), seq_lengths=ints(1, 3, 4), seq_dim=0, batch_dim=1)
    add("ReverseSequence", "inner", input=count_up(2, 3, 4), seq_lengths=ints(1, 3, 4, 0)[:3], seq_dim=2, batch_dim=1)
    add("DynamicPartition", "rows", data=count_up(5, 2), partitions=ints(2, 0, 2, 0, 2), num_partitions=3)
    add("DynamicPartition", "matrix", data=count_up(2, 3), partitions=ints([0, 1, 1], [1, 0, 1]), num_partitions=4)
    add("DynamicPartition", "none", data=count_up(0, 3), partitions=ints(), num_partitions=2)
    for op in ("DynamicStitch", "ParallelDynamicStitch"):
        add(op, "rows", indices=[ints(2, 0), ints(1)], data=[count_up(2, 3), count_up(1, 3) + 10])
        add(op, "scalar and matrix", indices=[I4(4), ints([0, 3], [2, 1])], data=[count_up(2), count_up(2, 2, 2) + 10])
    # The parallel one does not say which counts.
    add("DynamicStitch", "twice", indices=[ints(0, 1, 0), ints(1)], data=[count_up(3), count_up(1) + 10])


def diagonals(cases):
    add = cases.add
    for align in ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"):
        sizes = dict(num_rows=I4(-1), num_cols=I4(-1), padding_value=F4(-1))
        add("MatrixDiagV3", align, diagonal=count_up(2, 3, 3), k=ints(-1, 1), **sizes, align=align)
        add("MatrixDiagPartV3", align, input=count_up(2, 3, 4), k=ints(-2, 2), padding_value=F4(-1), align=align)
        add("MatrixSetDiagV3", align, input=count_up(3, 4), diagonal=-count_up(4, 3), k=ints(-1, 2), align=align)
    for k, rows, columns in ((0, 3, 5), (2, -1, -1), (-1, -1, 3), (1, 4, -1)):
        sizes = dict(num_rows=I4(rows), num_cols=I4(columns), padding_value=I4(7))
        add("MatrixDiagV3", f"{k} {rows} {columns}", diagonal=count_up(2, 3, dtype=I4), k=I4(k), **sizes)
    sizes = dict(num_rows=I4(-1), num_cols=I4(-1), padding_value=F4(0))
    add("MatrixDiagV2", "several", diagonal=count_up(3, 3), k=ints(0, 2), **sizes)
    add("MatrixDiagPartV2", "several", input=count_up(4, 3), k=ints(-3, 1), padding_value=F4(9))
    add("MatrixSetDiagV2", "several", input=count_up(4, 3), diagonal=-count_up(2, 3), k=ints(-1, 0))
    add("MatrixDiag", "main", diagonal=count_up(2, 3))
    add("MatrixDiagPart", "main", input=count_up(2, 3, 4))
    add("MatrixSetDiag", "main", input=count_up(3, 2), diagonal=ints(8, 9, dtype=F4))


def scatters(cases):
    tensor, updates = count_up(4, 3) - 5, np.array([[1, -9, 2], [0, 5, -7], [3, 3, 3]], F4)
    for op in ("TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin"):
        for dtype in (I4, I8):
            rows = ints([3], [0], [3], dtype=dtype)
            cases.add(op, f"rows {np.dtype(dtype).name}", tensor=tensor, indices=rows, updates=updates)
        cases.add(op, "elements", tensor=tensor.astype(I4), indices=ints([3, 1], [0, 0]), updates=ints(-20, 20))
        cases.add(op, "none", tensor=tensor, indices=np.zeros([0, 1], I4), updates=np.zeros([0, 3], F4))


def complex_parts(cases):
    for dtype, part in ((np.complex64, F4), (np.complex128, F8)):
        name = np.dtype(dtype).name
        tolerance = dict(rtol=3e-7, atol=1e-7) if part == F4 else dict(rtol=4e-16, atol=1e-16)
        z = np.array([0, 1, -1, 1j, -1j, 3 - 4j, -0.5 + 0.25j, complex(inf, 1), complex(nan, 1), complex(1, -inf)], dtype)
        for op in ("Real", "Imag"):
            cases.add(op, name, input=z, Tout=part)
        # TensorFlow's magnitude of infinity beside NaN is NaN or infinity, as the compiler has it.
        cases.add("Angle", name, input=z[:7], Tout=part, **tolerance)
        cases.add("ComplexAbs", name, x=z, Tout=part, **tolerance)
        cases.add("Complex", name, real=np.array([[1], [-2]], part), imag=np.array([0.5, nan, inf], part), Tout=dtype)


def bounds(cases):
    for dtype in (F4, F8, I4, I8, U1):
        name = np.dtype(dtype).name
        x = np.array([[1, 7, 3], [9, 5, 0]], dtype)
        cases.add("ClipByValue", f"scalars {name}", t=x, clip_value_min=dtype(2), clip_value_max=dtype(6))
        cases.add("ClipByValue", f"elements {name}", t=x, clip_value_min=x - dtype(x > 4), clip_value_max=x)
    for dtype in (F4, F8, I4, I8, np.complex64):
        name = np.dtype(dtype).name
        x = np.array([[3, 4, 0], [1, 2, 2]], dtype)
        tolerance = {} if np.issubdtype(dtype, np.integer) else dict(rtol=1e-6 if dtype != F8 else 1e-15)
        for axes in ([0], [1], [0, 1], [-1]):
            cases.add("EuclideanNorm", f"{axes} {name}", input=x, reduction_indices=ints(*axes), keep_dims=axes == [1], **tolerance)


def arrays(cases):
    for family in (shapes, parts, diagonals, scatters, complex_parts, bounds):
        family(cases)
    cases.add("CheckNumerics", "finite", tensor=count_up(2, 2), message="a tensor")
    cases.add("PreventGradient", "value", input=count_up(2, 2))
