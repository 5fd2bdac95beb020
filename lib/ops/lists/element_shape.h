// Decodes the argument `element_shape` of list ops.
#pragma once

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// The shape in an integer vector, in which -1 is any size; a scalar -1 means any shape. Unknown elements of a symbolic
// tensor become unknown dimensions. Throws InvalidArgument for anything else.
PANTO_EXPORT PartialShape spelled_element_shape(const Tensor& t);

}  // namespace panto
