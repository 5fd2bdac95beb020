// What shape functions know of the variables that handles refer to. Internal.
#pragma once

#include <memory>

#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {

// Of the one that input i refers to, null if nothing is known.
std::shared_ptr<const HandleInfo> variable_info(const ShapeContext& c, int i);

// An optimizer's step: `slots` variables, then scalars and, among them, the gradient.
void apply_shape(ShapeContext& c, int slots, int gradient);
// The same of rows, whose numbers are the input behind the gradient.
void sparse_apply_shape(ShapeContext& c, int slots, int gradient);

}  // namespace panto
