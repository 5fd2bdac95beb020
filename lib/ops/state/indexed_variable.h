// Dtype and shape of variables, for ops on parts of variables. Internal.
#pragma once

#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {

// What is known of the variable that input 0 refers to. Throws if its dtype is not attribute `dtype_attr`, or if it is
// a scalar.
HandleInfo indexed_variable(const ShapeContext& c, AttrName dtype_attr = "dtype");
// The same, but for an eager variable the shape is that of its value, as the declared shape may be less precise.
HandleInfo indexed_value(const ShapeContext& c, AttrName dtype_attr = "dtype");

}  // namespace panto
