// The axes that a call names in an input in host memory.
#pragma once

#include <cstdint>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/call.h"

namespace panto {

// Element i of an index tensor, read once, in [0, rank). Throws InvalidArgument for others: a prepared call's shape
// function may not have seen the values.
PANTO_EXPORT int64_t axis_at(const KernelContext& c, int input, int64_t i, int rank);

// The axes of input 0 that input 1 lists.
PANTO_EXPORT AxisFlags reduced_axes(const KernelContext& c);

// Throws InvalidArgument where positions along a dimension of this size do not fit an integer type, or there are none.
PANTO_EXPORT void expect_positions(int64_t size, DType type);

// A shape seen from one of its dimensions.
struct AlongAxis {
  int64_t outer = 1, size = 1, inner = 1;
  AlongAxis(const Shape& shape, int64_t axis) : size(shape[static_cast<int>(axis)]) {
    for (int k = 0; k < shape.rank(); ++k) (k < axis ? outer : inner) *= k == axis ? 1 : shape[k];
  }
};

}  // namespace panto
