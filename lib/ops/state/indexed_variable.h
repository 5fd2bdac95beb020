// What ops on parts of variables know of these. Internal.
#pragma once

#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {

// Dtype and shape of the variable that input 0 refers to, as far as they are known. Throws where it has another dtype
// than attribute `dtype_attr`, or no dimensions.
HandleInfo indexed_variable(const ShapeContext& c, AttrName dtype_attr = "dtype");
// The same, but an eager variable's shape is that of its value, which may be declared with less.
HandleInfo indexed_value(const ShapeContext& c, AttrName dtype_attr = "dtype");

}  // namespace panto
