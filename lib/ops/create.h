// Creates tensors from a shape, under NumPy's names.
//
//   zeros({2, 3});        ones({2}, kInt32);       // also from a shape that a tensor holds: zeros(shape(x))
//   eye(3);               linspace(0, 1, 5);       // [0. 0.25 0.5 0.75 1.]
//   fill({2}, 7.0f);      range(0, 10, 2);         // ops (ops.h): numpy.full, numpy.arange
//
// The functions are built from ops, so a trace records them.
#pragma once

#include <cstdint>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"

namespace panto {

// `shape`: a list of integers, or an int32 or int64 vector. `dtype`: any type that Cast can convert a number to.
PANTO_EXPORT Tensor zeros(Arg shape, DType dtype = kFloat32);
PANTO_EXPORT Tensor ones(Arg shape, DType dtype = kFloat32);

// [rows, columns]: ones on the main diagonal, zeros elsewhere. Throws InvalidArgument for negative sizes.
PANTO_EXPORT Tensor eye(int64_t rows, int64_t columns, DType dtype = kFloat32);
PANTO_EXPORT Tensor eye(int64_t rows, DType dtype = kFloat32);

// [count]: equally spaced numbers from `start` to `stop` inclusive, computed in float64 as
// start + i (stop - start) / (count - 1). With a count of 1: `start`. Throws InvalidArgument for a count below 1.
PANTO_EXPORT Tensor linspace(double start, double stop, int64_t count, DType dtype = kFloat32);

}  // namespace panto
