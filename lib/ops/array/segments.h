// What ops of segments share. Internal.
#pragma once

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// Of the ops of unsorted segments: inputs are the data, whose first dimensions are those of the ids, the ids, and the
// number of segments, which take the place of these dimensions.
void unsorted_segment_shape(ShapeContext& c);

// `per_row`, with dimensions of 1 behind its own, so that it broadcasts along the rows of `data`.
PANTO_EXPORT Tensor beside_rows(const Tensor& per_row, const Tensor& data);

}  // namespace panto
