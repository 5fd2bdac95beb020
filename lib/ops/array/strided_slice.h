// Resolves StridedSlice's begin, end, strides and five masks for one input shape. Used by the shape functions and by
// the kernels of StridedSlice and its gradient.
#pragma once

#include <cstdint>

#include "panto/lib/base/small_vector.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/shape.h"
#include "panto/lib/ops/array/values.h"

namespace panto {

struct SliceMasks {
  int64_t begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink_axis = 0;
};

struct StridedSlice {
  // One for each dimension of the input.
  struct Axis {
    int64_t begin = 0;   // the first element taken
    int64_t stride = 1;  // may be negative
    int64_t size = -1;   // how many; -1: unknown
    bool exact = false;  // begin, stride and size are known
  };
  SmallVector<Axis, 6> axes;
  PartialShape shape;  // of the result: without shrunk axes, with new ones

  bool exact() const {
    for (const Axis& axis : axes) {
      if (!axis.exact) return false;
    }
    return true;
  }
};

// Throws InvalidArgument for a zero stride, a second ellipsis, too many indices, a shrunk index out of range and index
// vectors of different lengths. `input` must have a known rank; the three vectors a known length.
PANTO_EXPORT StridedSlice plan_strided_slice(const PartialShape& input, const KnownIntegers& begin,
                                             const KnownIntegers& end, const KnownIntegers& strides,
                                             const SliceMasks& masks);

// Throws InvalidArgument unless `value` broadcasts to the shape of the slice. Passes if the slice is empty or not
// known.
PANTO_EXPORT void expect_slice(const StridedSlice& slice, const PartialShape& value);

// The masks of a call of StridedSlice or a related op.
inline SliceMasks masks_of(const CallView& c) {
  return {c.integer("begin_mask"), c.integer("end_mask"), c.integer("ellipsis_mask"), c.integer("new_axis_mask"),
          c.integer("shrink_axis_mask")};
}

}  // namespace panto
