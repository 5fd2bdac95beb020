// What ops of segments share. Internal.
#pragma once

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// `per_row`, with dimensions of 1 behind its own, so that it broadcasts along the rows of `data`.
PANTO_EXPORT Tensor beside_rows(const Tensor& per_row, const Tensor& data);

}  // namespace panto
