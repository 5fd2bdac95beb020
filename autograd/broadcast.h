// Where broadcasting is undone: the one place that sums gradients to the shape of the input they belong to.
#pragma once

#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// Sums `gradient` over the dimensions along which an input of shape `shape` was broadcast. Where `shape` has unknowns,
// `input` is the symbolic input itself: its shape is asked for when the graph runs.
Tensor sum_to(Tensor gradient, const PartialShape& shape, const Tensor& input);

}  // namespace panto
