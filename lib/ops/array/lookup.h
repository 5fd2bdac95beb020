// Shared code of the gradients of lookups. Internal.
#pragma once

#include <optional>

#include "panto/lib/core/op/gradient.h"

namespace panto {

// Returns the gradient of a table from which rows `indices` (of any shape) were taken, as rows. `num_rows`: the number
// of rows of the table, an integer scalar; `dy`: the gradient of the result [indices..., row...]. Returns nullopt if
// the trace does not know a row's shape.
std::optional<IndexedSlices> rows_of(const Tensor& dy, const Tensor& indices, const Tensor& num_rows);

}  // namespace panto
