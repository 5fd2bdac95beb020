// Conversion between queue elements and tensors.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "panto/lib/core/collections/queue.h"

namespace panto {

// Returns the tensor, or a copy if its memory belongs to someone else and may change.
Tensor own_memory(const Tensor& t);
// Splits all components along their first dimension into elements.
std::vector<QueueElement> elements_along(const QueueElement& components);
// Stacks component k of all elements along a new first dimension. Smaller components are padded with zeros at the end.
Tensor stacked_component(std::span<const QueueElement> elements, size_t k, DType dtype, const PartialShape& declared);

}  // namespace panto
