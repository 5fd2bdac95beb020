// What shape functions know of variables through their handles. Internal.
#pragma once

#include <memory>

#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {

// What is known of the variable that input i refers to; null if nothing.
std::shared_ptr<const HandleInfo> variable_info(const ShapeContext& c, int i);

// The shape function of an optimizer step: inputs are `slots` variables, then scalars and the gradient, input
// `gradient`.
void apply_shape(ShapeContext& c, int slots, int gradient);
// The same for a sparse step: the row indices are the input after the gradient.
void sparse_apply_shape(ShapeContext& c, int slots, int gradient);

}  // namespace panto
