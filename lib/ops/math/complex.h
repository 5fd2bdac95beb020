// Shared code of ops on complex numbers. Internal.
#pragma once

#include "panto/lib/core/tensor/dtype.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// The complex type with parts of that precision: complex128 for float64 and complex128, else complex64.
inline DType complex_of(DType type) { return type == kFloat64 || type == kComplex128 ? kComplex128 : kComplex64; }

// The conjugate of x; x itself if it is real.
Tensor conjugate(const Tensor& x);

}  // namespace panto
