// Shared code of segment ops. Internal.
#pragma once

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// The shape function of UnsortedSegment ops. Inputs are the data, the ids, whose dimensions are the first of the data,
// and the number of segments, which replaces these dimensions in the result.
void unsorted_segment_shape(ShapeContext& c);

// `per_row` with dimensions of 1 appended, so that it broadcasts along the rows of `data`.
PANTO_EXPORT Tensor beside_rows(const Tensor& per_row, const Tensor& data);

}  // namespace panto
