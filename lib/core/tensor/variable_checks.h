// Error checks for variables, shared by shape functions, kernels and the variables themselves.
#pragma once

#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/dtype.h"
#include "panto/lib/core/tensor/shape.h"

namespace panto {

// Check a use against a variable of type `dtype` and shape `shape`, as far as known. Throw InvalidArgument.
PANTO_EXPORT void expect_variable_dtype(DType dtype, DType wanted);
PANTO_EXPORT void expect_variable_shape(const PartialShape& shape, const PartialShape& wanted,
                                        std::string_view argument);

}  // namespace panto
