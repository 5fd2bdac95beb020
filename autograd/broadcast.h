// Reverses broadcasting: the only place that sums gradients to the shape of their input.
#pragma once

#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// Sums `gradient` over the dimensions along which an input of shape `shape` was broadcast. If `shape` has unknown
// dimensions, `input` must be the symbolic input; its shape is then read when the graph runs.
Tensor sum_to(Tensor gradient, const PartialShape& shape, const Tensor& input);

}  // namespace panto
