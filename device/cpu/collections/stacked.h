// Stacking tensors of one type and shape; zeros in place of missing tensors.
#pragma once

#include <span>

#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

Tensor zeros_of(DType dtype, const Shape& shape);
// Throws InvalidArgument if `dtype` has no zero, which would stand in for the missing element `i`.
void expect_zeros(DType dtype, int64_t i);
// Stacks along a new first dimension. Undefined elements become zeros. Precondition: all others have this type and
// shape.
Tensor stacked(std::span<const Tensor> elements, DType dtype, const Shape& shape);
// Returns the sum, computed by AddN's kernel. Throws InvalidArgument if shapes differ or the type cannot be added.
Tensor sum_of(const KernelContext& c, std::span<const Tensor* const> terms);

}  // namespace panto
