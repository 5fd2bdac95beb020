#include "panto/device/shape/gemm_size.h"

#include "panto/lib/base/text/format.h"

namespace panto {

GemmSize gemm_size(const PartialShape& a, const PartialShape& b, bool transpose_a, bool transpose_b) {
  const int ra = a.rank(), rb = b.rank();
  GemmSize s;
  s.transpose_a = transpose_a;
  s.transpose_b = transpose_b;
  s.m = a.dim(ra - (transpose_a ? 1 : 2));
  s.k = a.dim(ra - (transpose_a ? 2 : 1));
  s.n = b.dim(rb - (transpose_b ? 2 : 1));
  const int64_t k = b.dim(rb - (transpose_b ? 1 : 2));
  if (k != s.k) invalid("inner dimensions: expected {}, got {}", s.k, k);
  return s;
}

BroadcastMap<2> batch_map(const PartialShape& x, const PartialShape& y, const PartialShape& out) {
  const auto outer = [](const PartialShape& s) { return PartialShape(s.dims().first(s.dims().size() - 2)); };
  const PartialShape bx = outer(x), by = outer(y), bo = outer(out);
  BroadcastMap<2> map;
  make_broadcast_map<2>(bo, {&bx, &by}, map);
  return map;
}

}  // namespace panto
