#include "panto/device/shape/gemm_size.h"

#include <algorithm>

#include "panto/lib/base/text/format.h"

namespace panto {
namespace {

// A separate function: otherwise every call would save the registers that building the message needs.
[[noreturn, gnu::noinline]] void not_matrices(const PartialShape& a, const PartialShape& b) {
  invalid("expected matrices, got {} and {}", a.to_string(), b.to_string());
}

}  // namespace

GemmSize gemm_size(const PartialShape& a, const PartialShape& b, bool transpose_a, bool transpose_b) {
  const auto x = a.dims(), y = b.dims();
  if (std::min(x.size(), y.size()) < 2) [[unlikely]]
    not_matrices(a, b);
  GemmSize s;
  s.transpose_a = transpose_a;
  s.transpose_b = transpose_b;
  s.m = x[x.size() - (transpose_a ? 1 : 2)];
  s.k = x[x.size() - (transpose_a ? 2 : 1)];
  s.n = y[y.size() - (transpose_b ? 2 : 1)];
  const int64_t k = y[y.size() - (transpose_b ? 1 : 2)];
  if (k != s.k) [[unlikely]]
    invalid("inner dimensions: expected {}, got {}", s.k, k);
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
