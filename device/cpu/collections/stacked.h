// Tensors of one type and shape, side by side in a new one; and what stands for tensors that are not there.
#pragma once

#include <span>

#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

Tensor zeros_of(DType dtype, const Shape& shape);
// Throws InvalidArgument where a type has no zero, which element `i`, that is not there, would be.
void expect_zeros(DType dtype, int64_t i);
// Along a new first dimension. Elements that are not defined are zeros. Precondition: the others have this type and
// shape.
Tensor stacked(std::span<const Tensor> elements, DType dtype, const Shape& shape);
// What AddN gives of them, by its kernel. Throws InvalidArgument for other shapes, and types that nothing adds.
Tensor sum_of(const KernelContext& c, std::span<const Tensor* const> terms);

}  // namespace panto
