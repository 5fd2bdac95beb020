// Slicing and stacking of the tensors of dataset elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/datasets/dataset_value.h"

namespace panto {

// Component k. Throws InvalidArgument if there is none: a file's description of the elements may be wrong.
PANTO_EXPORT const Tensor& component_of(const ElementTensors& element, size_t k);
// A new tensor on the same bytes, so that no one overwrites them while the first tensor is in use.
PANTO_EXPORT Tensor shared_tensor(const Tensor& t);
// Row `i` of the first dimension, without a copy if the row is large. Precondition: it exists.
PANTO_EXPORT Tensor row_of(const Tensor& t, int64_t i);
// `count` rows from `first` on. Precondition: they exist.
PANTO_EXPORT Tensor rows_of(const Tensor& t, int64_t first, int64_t count);
// Stacks tensors of one type and shape along a new first dimension. Throws InvalidArgument if they differ; `what` names
// them. Precondition: `rows` is not empty.
PANTO_EXPORT Tensor stacked_rows(std::span<const Tensor> rows, std::string_view what);
// Concatenates the elements of tensors of one type into a vector. Throws InvalidArgument if types differ. Precondition:
// `tensors` is not empty.
PANTO_EXPORT Tensor joined_elements(std::span<const Tensor> tensors, std::string_view what);
// Stacks component k of all elements, for each k. Throws InvalidArgument if numbers of components, types or shapes
// differ.
PANTO_EXPORT ElementTensors stacked_elements(std::span<const ElementTensors> elements);
// Stacks rows of different sizes: each is put into the corner of a tensor of `shape`, and the rest is `padding`, a
// scalar. Precondition: rows have the rank of `shape` and are not larger.
PANTO_EXPORT Tensor padded_rows(std::span<const Tensor> rows, const Shape& shape, const Tensor& padding);

}  // namespace panto
