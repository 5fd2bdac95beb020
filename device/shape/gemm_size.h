// Sizes of matrix products, read from a call on any device.
#pragma once

#include <cstdint>

#include "panto/device/shape/broadcast.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/shape.h"

namespace panto {

// c[m, n] = a[m, k] b[k, n]; `a` lies in memory as [k, m] if transpose_a, `b` as [n, k] if transpose_b.
struct GemmSize {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;

  bool operator==(const GemmSize&) const = default;
  // The number of multiplications, saturated.
  int64_t work() const {
    int64_t result;
    if (__builtin_mul_overflow(m, n, &result) || __builtin_mul_overflow(result, k, &result)) return INT64_MAX;
    return result;
  }
};

// The size of a product over the last two dimensions. Throws InvalidArgument if the rank is below 2 or the inner
// dimensions differ.
PANTO_EXPORT GemmSize gemm_size(const PartialShape& a, const PartialShape& b, bool transpose_a, bool transpose_b);

// How the two batches of matrices broadcast to the batch of results. Strides count matrices.
PANTO_EXPORT BroadcastMap<2> batch_map(const PartialShape& x, const PartialShape& y, const PartialShape& out);

}  // namespace panto
