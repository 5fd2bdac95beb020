// What gradients of lookups share. Internal.
#pragma once

#include <optional>

#include "panto/lib/core/op/gradient.h"

namespace panto {

// The gradient, as rows, of rows numbered `indices` (of any shape) taken from a table of `num_rows` (an integer
// scalar), from `dy`, the gradient of the result [indices..., row...]. None where the trace does not know a row's
// shape.
std::optional<IndexedSlices> rows_of(const Tensor& dy, const Tensor& indices, const Tensor& num_rows);

}  // namespace panto
