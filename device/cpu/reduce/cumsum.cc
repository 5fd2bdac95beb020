// Kernels of running sums and products.
#include <algorithm>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/reduce/reduce.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/reducers.h"
#include "panto/device/op_kernels.h"
#include "panto/device/shape/axes.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/math_types.h"

namespace panto {
namespace {

constexpr int64_t kColumns = 256;    // columns per tile
constexpr int64_t kPiece = 1 << 16;  // rows, of one column or of kColumns, between two checks for cancellation

// Running sums or products of kLines contiguous rows of n elements. Several rows run side by side, since each sum must
// wait for the one before it in its row only. `y` may be `x`.
template <class Op, int kLines, bool kExclusive, class T>
void running_rows(const T* x, T* y, int64_t n, bool reverse) {
  Running<T> now[kLines];  // not captured by a lambda, so that the compiler keeps them in registers
#pragma GCC unroll 4
  for (int l = 0; l < kLines; ++l) now[l] = Op::template nothing<Running<T>>();
  const int64_t step = reverse ? -1 : 1;
  int64_t at = reverse ? n - 1 : 0;
  for (int64_t left = n; left > 0; left -= kPiece) {
    if (left < n) throw_if_cancelled();
    for (int64_t i = std::min(left, kPiece); i-- > 0; at += step) {
#pragma GCC unroll 4
      for (int l = 0; l < kLines; ++l) {
        const Running<T> before = now[l];
        now[l] = Op::join(before, convert<Running<T>>(x[l * n + at]));
        y[l * n + at] = convert<T>(kExclusive ? before : now[l]);
      }
    }
  }
}

template <class Op, bool kExclusive, class T>
void all_running_rows(const T* x, T* y, int64_t rows, int64_t n, bool reverse, int64_t work) {
  constexpr int kTogether = 4;
  const auto run = [&](int64_t begin, int64_t end) {
    int64_t r = begin;
    for (; r + kTogether <= end; r += kTogether) {
      running_rows<Op, kTogether, kExclusive>(x + r * n, y + r * n, n, reverse);
    }
    for (; r < end; ++r) running_rows<Op, 1, kExclusive>(x + r * n, y + r * n, n, reverse);
  };
  cpu::parallel_ranges(rows, work, run, std::max<int64_t>(1, 256 / n));
}

// Running sums or products of several columns side by side.
template <class Op, class T>
void running_columns(const T* x, T* y, int64_t n, int64_t stride, int64_t columns, bool exclusive) {
  Running<T> states[kColumns];
  std::fill_n(states, columns, Op::template nothing<Running<T>>());
  cpu::in_pieces(n, kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i, x += stride, y += stride) {
      for (int64_t j = 0; j < columns; ++j) {
        const Running<T> before = states[j];
        states[j] = Op::join(before, convert<Running<T>>(x[j]));
        y[j] = convert<T>(exclusive ? before : states[j]);
      }
    }
  });
}

// Computes y[i + 1] = a[i] y[i] + b[i] from y[0] = 0, for several columns side by side.
template <class T>
void recurrence_columns(const T* a, const T* b, T* y, int64_t n, int64_t stride, int64_t columns) {
  Running<T> states[kColumns];
  std::fill_n(states, columns, Running<T>(0));
  cpu::in_pieces(n, kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i, a += stride, b += stride, y += stride) {
      for (int64_t j = 0; j < columns; ++j) {
        y[j] = convert<T>(states[j]);
        states[j] = k::add(k::mul(convert<Running<T>>(a[j]), states[j]), convert<Running<T>>(b[j]));
      }
    }
  });
}

// Calls run(first element, step, columns) for each line along the axis, or for several neighbouring lines at once.
template <class Body>
void for_each_line(const AlongAxis& s, bool reverse, int64_t work, const Body& run) {
  const int64_t tiles = ceil_div(s.inner, kColumns);
  // A range has several short rows, so that threads do not write to the same cache line.
  const int64_t together = std::max<int64_t>(1, 256 / (s.size * std::min(s.inner, kColumns)));
  cpu::parallel_ranges(
      s.outer * tiles, work,
      [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
          const int64_t column = task % tiles * kColumns;
          const int64_t first = task / tiles * s.size * s.inner + column;
          const int64_t start = reverse ? first + (s.size - 1) * s.inner : first;
          run(start, reverse ? -s.inner : s.inner, std::min(kColumns, s.inner - column));
        }
      },
      together);
}

template <class Op>
struct Cumulative {
  template <class T>
  static void run(KernelContext& c) {
    const AlongAxis s(c.shape(0), axis_at(c, 1, 0, c.shape(0).rank()));
    if (c.numel(0) == 0) return;
    const T* x = c.data<T>(0);
    T* y = c.out_data<T>(0);
    const bool exclusive = c.flag("exclusive"), reverse = c.flag("reverse");
    const int64_t work = c.numel(0) * 4 * static_cast<int64_t>(sizeof(T));
    if (s.inner == 1) {
      return exclusive ? all_running_rows<Op, true>(x, y, s.outer, s.size, reverse, work)
                       : all_running_rows<Op, false>(x, y, s.outer, s.size, reverse, work);
    }
    for_each_line(s, reverse, work, [&](int64_t start, int64_t step, int64_t columns) {
      running_columns<Op>(x + start, y + start, s.size, step, columns, exclusive);
    });
  }
};
const CpuKernel cumsum_kernel("Cumsum", types::of<"Cumsum">{}, Cumulative<RunningSum>{});
const CpuKernel cumprod_kernel("Cumprod", types::of<"Cumprod">{}, Cumulative<RunningProduct>{});

const CpuKernel logsumexp_kernel("CumulativeLogsumexp", types::of<"CumulativeLogsumexp">{},
                                 Cumulative<RunningLogSum>{});

struct LinearRecurrence {
  template <class T>
  static void run(KernelContext& c) {
    const AlongAxis s(c.shape(0), axis_at(c, 2, 0, c.shape(0).rank()));
    if (c.numel(0) == 0) return;
    const T* a = c.data<T>(0);
    const T* b = c.data<T>(1);
    T* y = c.out_data<T>(0);
    for_each_line(s, c.flag("reverse"), c.numel(0) * 6 * static_cast<int64_t>(sizeof(T)),
                  [&](int64_t start, int64_t step, int64_t columns) {
                    recurrence_columns(a + start, b + start, y + start, s.size, step, columns);
                  });
  }
};
const CpuKernel recurrence_kernel("_LinearRecurrence", types::of<"_LinearRecurrence">{}, LinearRecurrence{});

}  // namespace
}  // namespace panto
