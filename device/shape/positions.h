// Index rows that address several dimensions at once, as GatherNd and ScatterNd take them, on all devices.
#pragma once

#include <cstddef>
#include <cstdint>

#include "panto/lib/base/export.h"
#include "panto/lib/base/small_vector.h"
#include "panto/lib/core/tensor/shape.h"

namespace panto {

// Throws InvalidArgument for an index that is not in [0, limit): number d of index row r.
[[noreturn]] PANTO_EXPORT void bad_position(int64_t r, int64_t d, int64_t limit, int64_t index);

// Each index row addresses the first `depth` dimensions of tensor `whole`; `inner` elements lie at that position.
struct Positions {
  int64_t rows = 0, depth = 0, inner = 1;
  SmallVector<int64_t, 8> dims, strides;  // of the first `depth` dimensions

  Positions(const Shape& indices, const Shape& whole) : depth(indices.dim(indices.rank() - 1)) {
    rows = 1;
    for (int i = 0; i + 1 < indices.rank(); ++i) rows *= indices.dim(i);
    const int first = static_cast<int>(depth);
    for (int i = first; i < whole.rank(); ++i) inner *= whole.dim(i);
    strides.resize(static_cast<size_t>(first));
    int64_t stride = inner;
    for (int i = first; i-- > 0;) {
      strides[static_cast<size_t>(i)] = stride;
      stride *= whole.dim(i);
    }
    for (int i = 0; i < first; ++i) dims.push_back(whole.dim(i));
  }

  // Returns the offset of the first element that row `r` addresses. Throws InvalidArgument if an index is out of range.
  template <class Index>
  int64_t at(const Index* indices, int64_t r) const {
    int64_t position = 0;
    for (int64_t d = 0; d < depth; ++d) {
      const auto k = static_cast<size_t>(d);
      const auto i = static_cast<int64_t>(indices[r * depth + d]);
      if (i < 0 || i >= dims[k]) [[unlikely]]
        bad_position(r, d, dims[k], i);
      position += i * strides[k];
    }
    return position;
  }
};

}  // namespace panto
