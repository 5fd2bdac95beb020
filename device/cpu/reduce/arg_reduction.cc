// Kernels of ArgMax and ArgMin.
#include <algorithm>
#include <limits>

#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/reduce/reduce.h"
#include "panto/device/math/reducers.h"
#include "panto/device/op_kernels.h"
#include "panto/device/shape/axes.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/math_types.h"

namespace panto {
namespace {

constexpr int64_t kColumns = 256;    // columns per tile
constexpr int64_t kPiece = 1 << 16;  // rows, of one column or of kColumns, between two checks for cancellation

template <class Order, class T>
int64_t best_of_row(const T* x, int64_t n) {
  T best = Order::template worst<T>();
  int64_t i = 0;
  if (n >= 2 * cpu::kLanes) {
    T lanes[cpu::kLanes];
    for (T& l : lanes) l = best;
    cpu::in_pieces(n / cpu::kLanes, kPiece, [&](int64_t, int64_t last) {
      for (; i < last * cpu::kLanes; i += cpu::kLanes) {
        for (int64_t l = 0; l < cpu::kLanes; ++l) lanes[l] = Order::better(x[i + l], lanes[l]) ? x[i + l] : lanes[l];
      }
    });
    for (const T& l : lanes) best = Order::better(l, best) ? l : best;
  }
  for (; i < n; ++i) best = Order::better(x[i], best) ? x[i] : best;
  if (!Order::better(best, Order::template worst<T>())) return 0;  // all are the worst value, or NaN
  i = 0;
  while (x[i] != best) ++i;
  return i;
}

// Positions are as wide as the elements, so that the same masks select both.
template <class T>
using Position = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;

template <class Order, class T, class Index>
void best_of_columns(const T* x, int64_t rows, int64_t stride, int64_t columns, Index* out) {
  T best[kColumns];
  Position<T> at[kColumns];
  std::fill_n(best, columns, Order::template worst<T>());
  std::fill_n(at, columns, Position<T>{0});
  cpu::in_pieces(rows, kPiece, [&](int64_t first, int64_t last) {
    for (auto i = static_cast<Position<T>>(first); i < last; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        const T value = x[i * stride + j];
        const bool better = Order::better(value, best[j]);
        best[j] = better ? value : best[j];
        at[j] = better ? i : at[j];
      }
    }
  });
  for (int64_t j = 0; j < columns; ++j) out[j] = static_cast<Index>(at[j]);
}

template <class Order, class T, class Index>
void arg_best(KernelContext& c) {
  if (c.out_numel(0) == 0) return;
  const AlongAxis s(c.shape(0), axis_at(c, 1, 0, c.shape(0).rank()));
  // The shape function of a prepared call may not have known the axis.
  expect_positions(s.size, dtype_of<Index>);
  if (s.inner > 1 && s.size > std::numeric_limits<Position<T>>::max()) {
    failf(Code::kUnimplemented, "dimension: expected a size below 2^31 where it is not the last, got {}", s.size);
  }
  const T* x = c.data<T>(0);
  Index* out = c.out_data<Index>(0);
  const int64_t work = c.numel(0) * static_cast<int64_t>(sizeof(T));
  if (s.inner == 1) {
    cpu::parallel_ranges(s.outer, work, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) out[r] = static_cast<Index>(best_of_row<Order>(x + r * s.size, s.size));
    });
    return;
  }
  const int64_t tiles = ceil_div(s.inner, kColumns);
  cpu::parallel_ranges(
      s.outer * tiles, work,
      [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
          const int64_t outer = task / tiles, column = task % tiles * kColumns;
          best_of_columns<Order>(x + outer * s.size * s.inner + column, s.size, s.inner,
                                 std::min(kColumns, s.inner - column), out + outer * s.inner + column);
        }
      },
      1);
}

template <class Order>
struct ArgBest {
  template <class T>
  static void run(KernelContext& c) {
    switch (c.out(0).dtype()) {
      case DType::kInt16: return arg_best<Order, T, int16_t>(c);
      case DType::kUint16: return arg_best<Order, T, uint16_t>(c);
      case DType::kInt32: return arg_best<Order, T, int32_t>(c);
      default: return arg_best<Order, T, int64_t>(c);
    }
  }
};
const CpuKernel argmax_kernel("ArgMax", types::of<"ArgMax">{}, InWider<ArgBest<Greater>, AsCommon>{});
const CpuKernel argmin_kernel("ArgMin", types::of<"ArgMin">{}, InWider<ArgBest<Less>, AsCommon>{});

}  // namespace
}  // namespace panto
