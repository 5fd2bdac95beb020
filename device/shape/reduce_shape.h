// The dimensions over which a reduction loops.
#pragma once

#include <cstdint>

#include "panto/lib/base/small_vector.h"
#include "panto/lib/core/call/call.h"

namespace panto {

// Dimensions of size 1 are dropped; neighbouring dimensions that are both kept or both reduced are merged.
struct ReduceShape {
  struct Dim {
    int64_t size, stride;
  };
  using Dims = SmallVector<Dim, 4>;  // innermost first

  Dims kept, reduced;
  int64_t results = 1;        // product of the kept dimensions
  int64_t count = 1;          // product of the reduced ones
  bool inner_reduced = true;  // the innermost dimension is reduced

  ReduceShape(const PartialShape& shape, const AxisFlags& axes) {
    int64_t stride = 1;
    bool first = true, previous = false;
    for (int k = shape.rank() - 1; k >= 0; --k) {
      const int64_t size = shape.dim(k);
      const bool is_reduced = axes[static_cast<size_t>(k)];
      (is_reduced ? count : results) *= size;
      if (size == 1) continue;
      Dims& dims = is_reduced ? reduced : kept;
      if (!first && is_reduced == previous) {
        dims.back().size *= size;
      } else {
        dims.push_back({size, stride});
      }
      if (first) inner_reduced = is_reduced;
      first = false;
      previous = is_reduced;
      stride *= size;
    }
  }
};

}  // namespace panto
