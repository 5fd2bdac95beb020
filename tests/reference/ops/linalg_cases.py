"""Calls of ops of linear algebra, for op_cases.py: of those whose results have no sign or order of their own choice.

Nor of singular values or eigenvalues alone: TensorFlow's kernels give scalars for what was not asked for, though its
shape functions say that these are empty vectors.
"""

import numpy as np

F2, F4, F8, U1, I4, C8, C16 = np.float16, np.float32, np.float64, np.uint8, np.int32, np.complex64, np.complex128
INF, NAN = np.inf, np.nan
TOLERANCE = {F4: dict(rtol=2e-5, atol=2e-5), F8: dict(rtol=1e-12, atol=1e-12), C8: dict(rtol=2e-5, atol=2e-5),
             C16: dict(rtol=1e-12, atol=1e-12)}


def numbers(shape, dtype, seed=0):
    random = np.random.RandomState(seed)
    x = random.uniform(-2, 2, shape)
    return (x + 1j * random.uniform(-2, 2, shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def each_type(types=(F4, F8, C8, C16)):
    for dtype in types:
        yield dtype, np.dtype(dtype).name, TOLERANCE[dtype]


def regular(shape, dtype, seed=0):
    return (numbers(shape, dtype, seed) + 4 * np.eye(shape[-1])).astype(dtype)


def positive(shape, dtype):
    x = numbers(shape, dtype)
    return (x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1])).astype(dtype)


def factors(cases):
    for dtype, name, near in each_type():
        cases.add("Cholesky", name, input=positive((2, 3, 3), dtype), **near)
        a, b = regular((2, 3, 3), dtype), numbers((2, 3, 2), dtype, 1)
        for adjoint in (False, True):
            label = f"{name} {adjoint}"
            cases.add("MatrixInverse", label, input=a, adjoint=adjoint, **near)
            cases.add("MatrixSolve", label, matrix=a, rhs=b, adjoint=adjoint, **near)
            for lower in (False, True):
                arguments = dict(matrix=a, rhs=b[0], lower=lower, adjoint=adjoint)
                cases.add("MatrixTriangularSolve", f"{label} {lower}", **arguments, **near)
        cases.add("MatrixDeterminant", name, input=a, **near)
        cases.add("LogMatrixDeterminant", name, input=a, **near)
        cases.add("Lu", name, input=numbers((4, 4), dtype), **near)
    for dtype, name, near in each_type((F4, F8)):
        cases.add("CholeskyGrad", name, l=regular((3, 3), dtype), grad=numbers((3, 3), dtype, 1), **near)
    singular = np.array([[1, 2], [2, 4]], F4)
    cases.add("MatrixDeterminant", "singular", input=singular, atol=1e-6)
    cases.add("LogMatrixDeterminant", "singular", input=singular)
    for op in ("MatrixDeterminant", "LogMatrixDeterminant"):
        cases.add(op, "nothing", input=np.zeros((2, 0, 0), F4))
        cases.add(op, "NaN", input=np.array([[1, NAN], [2, 3]], F4))
    diagonal = np.array([[1, 0], [2, 0]], F4)
    cases.add("MatrixTriangularSolve", "zero", matrix=diagonal, rhs=np.array([[1], [1]], F4))
    cases.add("MatrixSolve", "nothing", matrix=singular, rhs=np.zeros((2, 0), F4))
    cases.add("Cholesky", "NaN", input=np.array([[NAN]], F4))


def values(cases):
    for dtype, name, near in each_type():
        zero = np.zeros((), F8)
        for shape in ((4, 2), (2, 3)):
            a, b = numbers(shape, dtype), numbers((shape[0], 2), dtype, 1)
            label = f"{name} {shape}"
            cases.add("MatrixSolveLs", label, matrix=a, rhs=b, l2_regularizer=zero, **near)
            cases.add("MatrixSolveLs", f"{label} l2", matrix=a, rhs=b, l2_regularizer=zero + 0.5, **near)
            if np.dtype(dtype).kind == "f":
                cases.add("MatrixSolveLs", f"{label} slow", matrix=a, rhs=b, l2_regularizer=zero, fast=False, **near)
        cases.add("MatrixSquareRoot", name, input=regular((2, 3, 3), dtype), **near)
        if np.dtype(dtype).kind == "c":
            cases.add("MatrixLogarithm", name, input=regular((2, 3, 3), dtype), **near)
    cases.add("MatrixSquareRoot", "of -1", input=np.array([[-1]], F4))
    cases.add("Svd", "NaN", input=np.array([[1, NAN], [2, 3]], F4))
    cases.add("Svd", "nothing", input=np.zeros((0, 2), F4), full_matrices=True)
    cases.add("Qr", "nothing", input=np.zeros((3, 0), F4), full_matrices=True)


def bands(cases):
    for dtype, name, near in each_type():
        b = numbers((4, 2), dtype, 1)
        cases.add("TridiagonalSolve", name, diagonals=numbers((3, 4), dtype), rhs=b, **near)
        a = (np.abs(numbers((3, 4), dtype)) + np.array([[0], [5], [0]])).astype(dtype)
        cases.add("TridiagonalSolve", f"{name} in order", diagonals=a, rhs=b, partial_pivoting=False, **near)
        above, main, below = (numbers((1, 4), dtype, seed) for seed in (2, 3, 4))
        cases.add("TridiagonalMatMul", name, superdiag=above, maindiag=main, subdiag=below, rhs=b, **near)
        for lower in (False, True):
            for adjoint in (False, True):
                arguments = dict(matrix=(numbers((2, 4), dtype) + 3).astype(dtype), rhs=b)
                label = f"{name} {lower} {adjoint}"
                cases.add("BandedTriangularSolve", label, **arguments, lower=lower, adjoint=adjoint, **near)
    one = np.ones((2, 1), F4)
    cases.add("TridiagonalSolve", "singular", diagonals=np.zeros((3, 2), F4), rhs=one)
    holes = np.array([[0, 0, 0], [1000, 0, 1000], [0, 0, 0]], F4)
    cases.add("TridiagonalSolve", "perturbed", diagonals=holes, rhs=np.ones((3, 1), F4), perturb_singular=True, rtol=1e-6)


def vectors(cases):
    for dtype in (F2, F4, F8, I4):
        a, b = np.array([[1, -2, 3], [4, 5, -6]], dtype), np.array([[7, 8, -9], [-3, 2, 1]], dtype)
        cases.add("Cross", np.dtype(dtype).name, a=a, b=b)
    cases.add("Cross", "uint8 wraps", a=np.array([200, 100, 50], U1), b=np.array([7, 9, 11], U1))
    x = np.array([[1 + 2j, 3, 1j], [4, 5 - 1j, 6]], C8)
    cases.add("ConjugateTranspose", "complex", x=x, perm=np.array([1, 0], I4))
    cases.add("ConjugateTranspose", "integers", x=np.array([[1, 2, 3]], I4), perm=np.array([1, 0], np.int64))


def linalg_family(cases):
    for part in (factors, values, bands, vectors):
        part(cases)
