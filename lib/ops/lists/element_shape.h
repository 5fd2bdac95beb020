// The argument `element_shape` of ops on lists.
#pragma once

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// The shape that an integer vector spells, in which -1 is any size, or a scalar -1: any shape. What is not known of a
// symbolic one is left open. Throws InvalidArgument for anything else.
PANTO_EXPORT PartialShape spelled_element_shape(const Tensor& t);

}  // namespace panto
