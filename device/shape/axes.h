// Reading axes from an input in host memory, and shapes seen along an axis.
#pragma once

#include <cstdint>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/call.h"

namespace panto {

// Returns element i of the index tensor `input` as an axis in [0, rank). Reads the element once. Throws InvalidArgument
// if it is out of range: the shape function of a prepared call may not have seen the values.
PANTO_EXPORT int64_t axis_at(const KernelContext& c, int input, int64_t i, int rank);

// The axes of input 0 that input 1 lists.
PANTO_EXPORT AxisFlags reduced_axes(const KernelContext& c);

// Throws InvalidArgument if the size is 0, or if positions along a dimension of this size do not fit integer type
// `type`.
PANTO_EXPORT void expect_positions(int64_t size, DType type);

// A shape as [outer, size, inner], where `size` is the dimension `axis`.
struct AlongAxis {
  int64_t outer = 1, size = 1, inner = 1;
  AlongAxis(const Shape& shape, int64_t axis) : size(shape[static_cast<int>(axis)]) {
    for (int k = 0; k < shape.rank(); ++k) (k < axis ? outer : inner) *= k == axis ? 1 : shape[k];
  }
};

}  // namespace panto
