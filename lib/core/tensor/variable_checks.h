// What is said of a variable that does not fit, wherever it is found out: by shape functions, by kernels, by the
// variable itself.
#pragma once

#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/dtype.h"
#include "panto/lib/core/tensor/shape.h"

namespace panto {

// Of a variable of type `dtype` and of shape `shape`, as far as that is known. Throw InvalidArgument.
PANTO_EXPORT void expect_variable_dtype(DType dtype, DType wanted);
PANTO_EXPORT void expect_variable_shape(const PartialShape& shape, const PartialShape& wanted,
                                        std::string_view argument);

}  // namespace panto
