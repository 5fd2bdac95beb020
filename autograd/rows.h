// Helpers for gradients as rows (GradientTape::sparse_gradient). Internal.
#pragma once

#include <span>

#include "panto/autograd/tape.h"
#include "panto/lib/core/op/gradient.h"

namespace panto {

// Adds `parts` to `gradient`. If it is a whole tensor, it stays one; if it is undefined, it becomes the concatenated
// rows of all parts.
void add_rows(Gradient& gradient, std::span<const IndexedSlices> parts);

}  // namespace panto
