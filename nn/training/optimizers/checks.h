// Whether gradients fit their variables. Internal.
#pragma once

#include <span>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/core/tensor/variable.h"

namespace panto {

// Throws InvalidArgument unless the gradient, dense or sparse, has the variable's dtype, and a shape that the
// variable's gradient may have. An undefined gradient fits.
void expect_gradient_fits(const Variable& v, const Gradient& g);
// The same for all; also throws FailedPrecondition if there are no variables, InvalidArgument unless there is one
// gradient for each.
void expect_gradients_fit(const std::vector<Variable>& variables, std::span<const Gradient> gradients);

}  // namespace panto
