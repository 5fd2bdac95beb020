// Ops that look up places or rows, on every back-end: their dimensions and index types.
#pragma once

#include <cstdint>
#include <string>

#include "panto/lib/base/error.h"
#include "panto/lib/core/call/call.h"

namespace panto {

template <class F>
void with_index_type(DType type, F&& f) {
  switch (type) {
    case kInt8: return f.template operator()<int8_t>();
    case kUint8: return f.template operator()<uint8_t>();
    case kInt16: return f.template operator()<int16_t>();
    case kInt32: return f.template operator()<int32_t>();
    case kInt64: return f.template operator()<int64_t>();
    default: fail(Code::kInternal, "indices: expected an integer type, got " + std::string(dtype_name(type)));
  }
}

// Returns `shape` with dimension `first` in the place of its first `replaced` ones.
PANTO_EXPORT Shape with_first(int64_t first, const Shape& shape, int replaced = 1);
// Returns the product of the dimensions from `rank` on.
PANTO_EXPORT int64_t numel_behind(const Shape& shape, int rank);
// Returns the number of elements of a row along the first dimension.
inline int64_t row_size(const Shape& shape) { return numel_behind(shape, 1); }

// GatherV2: params [batch, outer, limit, inner], indices [batch, each], output [batch, outer, each, inner].
struct GatherDims {
  int64_t batch, outer, limit, inner, each;
};

// Throws InvalidArgument if the axis is out of range or lies before the batch dimensions.
PANTO_EXPORT GatherDims gather_dims(const KernelContext& c);

// OneHot: indices [outer, inner], output [outer, depth, inner].
struct OneHotDims {
  int64_t outer, depth, inner;
};

PANTO_EXPORT OneHotDims one_hot_dims(const KernelContext& c);

// NthElement: the position of the element in a row of `size` elements, of which the smallest is first. Throws
// InvalidArgument if there is none.
PANTO_EXPORT int64_t nth_of(const KernelContext& c, int64_t size);

// ReverseSequence: the size of the dimension that is reversed and the number of lengths, and how far apart neighbours
// are along both.
struct ReversedDims {
  int64_t size, examples, step, example;

  explicit ReversedDims(const KernelContext& c) {
    const Shape& shape = c.shape(0);
    const auto normal = [&](int64_t axis) { return static_cast<int>(axis < 0 ? axis + shape.rank() : axis); };
    const int along = normal(c.integer("seq_dim")), batch = normal(c.integer("batch_dim"));
    size = shape.dim(along);
    examples = shape.dim(batch);
    step = numel_behind(shape, along + 1);
    example = numel_behind(shape, batch + 1);
  }
};

}  // namespace panto
