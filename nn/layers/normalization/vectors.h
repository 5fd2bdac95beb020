// Vectors that normalisation layers learn or keep. Internal.
#pragma once

#include <cstdint>
#include <string>

#include "panto/lib/core/tensor/variable.h"
#include "panto/nn/layers/initializers.h"

namespace panto::detail {

// A variable of `elements` equal values.
inline Variable vector_of(double value, int64_t elements, DType dtype, const std::string& name) {
  return Variable(constant_initializer(value)({elements}, dtype), name);
}

}  // namespace panto::detail
