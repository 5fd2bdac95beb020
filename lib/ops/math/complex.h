// What ops of complex numbers share. Internal.
#pragma once

#include "panto/lib/core/tensor/dtype.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// The complex type of as many bits a part: complex128 of float64 and of itself, else complex64.
inline DType complex_of(DType type) { return type == kFloat64 || type == kComplex128 ? kComplex128 : kComplex64; }

// Real numbers are their own conjugates.
Tensor conjugate(const Tensor& x);

}  // namespace panto
