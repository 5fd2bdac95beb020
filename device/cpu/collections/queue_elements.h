// Elements of queues as tensors, and the other way.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "panto/lib/core/collections/queue.h"

namespace panto {

// The tensor, or a copy of one whose memory is somebody else's, which may change.
Tensor own_memory(const Tensor& t);
// Those along the first dimension of all components.
std::vector<QueueElement> elements_along(const QueueElement& components);
// Component k of all elements, along a new first dimension. Those that are smaller than the largest have zeros behind.
Tensor stacked_component(std::span<const QueueElement> elements, size_t k, DType dtype, const PartialShape& declared);

}  // namespace panto
