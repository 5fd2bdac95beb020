#include "panto/device/shape/gemm_size.h"

#include <algorithm>
#include <utility>

#include "panto/lib/base/text/format.h"

namespace panto {

namespace {

// Apart: where an error's text is put together, every call pays for the registers that this takes.
[[noreturn, gnu::noinline]] void no_product(const PartialShape& a, const PartialShape& b, int64_t k, int64_t other) {
  if (std::min(a.rank(), b.rank()) < 2) invalid("expected matrices, got {} and {}", a.to_string(), b.to_string());
  invalid("inner dimensions: expected {}, got {}", k, other);
}

}  // namespace

GemmSize gemm_size(const PartialShape& a, const PartialShape& b, bool transpose_a, bool transpose_b) {
  const auto x = a.dims(), y = b.dims();
  if (std::min(x.size(), y.size()) < 2) [[unlikely]]
    no_product(a, b, 0, 0);
  const auto [rows, inner] = std::pair(x[x.size() - (transpose_a ? 1 : 2)], x[x.size() - (transpose_a ? 2 : 1)]);
  const auto [k, columns] = std::pair(y[y.size() - (transpose_b ? 1 : 2)], y[y.size() - (transpose_b ? 2 : 1)]);
  if (k != inner) [[unlikely]]
    no_product(a, b, inner, k);
  GemmSize s;
  s.transpose_a = transpose_a;
  s.transpose_b = transpose_b;
  s.m = rows;
  s.k = inner;
  s.n = columns;
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
