// Gradients that came as rows, of a tape that was asked for them. Internal.
#pragma once

#include <span>

#include "panto/autograd/tape.h"
#include "panto/lib/core/op/gradient.h"

namespace panto {

// Adds them to `gradient`, which is whole or none: it stays whole, or becomes the rows of all parts, one after the
// other.
void add_rows(Gradient& gradient, std::span<const IndexedSlices> parts);

}  // namespace panto
