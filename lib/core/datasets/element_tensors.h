// What datasets do with the tensors of elements: slices of one, and elements side by side in one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/datasets/dataset_value.h"

namespace panto {

// Component k. Throws InvalidArgument where there is none: what a file says of elements may be wrong.
PANTO_EXPORT const Tensor& component_of(const ElementTensors& element, size_t k);
// A handle of its own on the same elements: nobody may write over it while others have the first.
PANTO_EXPORT Tensor shared_tensor(const Tensor& t);
// Row `i` of the first dimension, without a copy where it is large. Precondition: there is one.
PANTO_EXPORT Tensor row_of(const Tensor& t, int64_t i);
// So many rows, from `first` on. Precondition: there are as many.
PANTO_EXPORT Tensor rows_of(const Tensor& t, int64_t first, int64_t count);
// Tensors of one type and shape along a new first dimension. Throws InvalidArgument for others: `what` names them.
// Precondition: there are some.
PANTO_EXPORT Tensor stacked_rows(std::span<const Tensor> rows, std::string_view what);
// The elements of tensors of one type, one after the other: [their number]. Throws InvalidArgument for others.
// Precondition: there are some.
PANTO_EXPORT Tensor joined_elements(std::span<const Tensor> tensors, std::string_view what);
// Component k of all elements, for each k. Throws InvalidArgument where their numbers, types or shapes differ.
PANTO_EXPORT ElementTensors stacked_elements(std::span<const ElementTensors> elements);
// The same with rows of different sizes, each put into the corner of a tensor of `shape` that is `padding`, a scalar,
// elsewhere. Precondition: rows have its rank and are not larger.
PANTO_EXPORT Tensor padded_rows(std::span<const Tensor> rows, const Shape& shape, const Tensor& padding);

}  // namespace panto
