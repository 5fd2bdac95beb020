// Kernels of the reductions, of ArgMax and ArgMin, and of running sums and products.
#include <type_traits>

#include "panto/device/axes.h"
#include "panto/device/convert.h"
#include "panto/device/cpu/as_floats.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/reduce.h"
#include "panto/device/reducers.h"
#include "panto/lib/base/format.h"
#include "panto/lib/core/call.h"

namespace panto {
namespace {

template <class R>
void reduce_axes(KernelContext& c) {
  using Out = std::remove_cvref_t<decltype(R::finish(R::total(), int64_t{}))>;
  cpu::reduce<R>(c.data<typename R::Element>(0), c.shape(0), reduced_axes(c), c.out_data<Out>(0), c.out_numel(0),
                 c.device());
}

// 16-bit types are reduced as floats: the result is rounded once.
template <template <class> class R>
struct Reduction {
  template <class T>
  static void run(KernelContext& c) {
    if constexpr (is_half_type<T>) {
      const cpu::AsFloats<T> in(c.data<T>(0), c.numel(0), c.device()), out(nullptr, c.out_numel(0), c.device());
      cpu::reduce<R<float>>(in.data(), c.shape(0), reduced_axes(c), out.data(), c.out_numel(0), c.device());
      out.write(c.out_data<T>(0));
    } else {
      reduce_axes<R<T>>(c);
    }
  }
};

using Reducible = TypeList<Half, BFloat16, float, double, int32_t, int64_t>;
const CpuKernel sum_kernel("Sum", Reducible{}, Reduction<SumOf>{});
const CpuKernel mean_kernel("Mean", Reducible{}, Reduction<MeanOf>{});
const CpuKernel prod_kernel("Prod", Reducible{}, Reduction<ProdOf>{});
const CpuKernel complex_sum_kernel("Sum", types::complex{}, Reduction<SumOf>{});
const CpuKernel complex_mean_kernel("Mean", types::complex{}, Reduction<MeanOf>{});
const CpuKernel complex_prod_kernel("Prod", types::complex{}, Reduction<ProdOf>{});
const CpuKernel max_kernel("Max", Reducible{}, Reduction<MaxOf>{});
const CpuKernel min_kernel("Min", Reducible{}, Reduction<MinOf>{});
const CpuKernel all_kernel("All", dtypes::kIndex, reduce_axes<AllOf>);
const CpuKernel any_kernel("Any", dtypes::kIndex, reduce_axes<AnyOf>);

constexpr int64_t kColumns = 256;    // treated at a time
constexpr int64_t kPiece = 1 << 16;  // rows, of one column or of kColumns, before a request to stop is looked for

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
  if (!Order::better(best, Order::template worst<T>())) return 0;  // all are the worst there is, or NaN
  i = 0;
  while (x[i] != best) ++i;
  return i;
}

// Positions as wide as the elements are selected by the same masks.
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
  // A prepared call's shape function may not have known the axis.
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
const CpuKernel argmax_kernel("ArgMax", types::numeric_and_bool{}, ArgBest<Greater>{});
const CpuKernel argmin_kernel("ArgMin", types::numeric_and_bool{}, ArgBest<Less>{});

// One column of a running sum or product. `y` may be `x`.
template <class Op, class T>
void running(const T* x, T* y, int64_t n, int64_t stride, bool exclusive) {
  auto state = Op::template nothing<Running<T>>();
  cpu::in_pieces(n, kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Running<T> before = state;
      state = Op::join(before, static_cast<Running<T>>(x[i * stride]));
      y[i * stride] = static_cast<T>(exclusive ? before : state);
    }
  });
}

// Several side by side.
template <class Op, class T>
void running_columns(const T* x, T* y, int64_t n, int64_t stride, int64_t columns, bool exclusive) {
  Running<T> states[kColumns];
  std::fill_n(states, columns, Op::template nothing<Running<T>>());
  cpu::in_pieces(n, kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i, x += stride, y += stride) {
      for (int64_t j = 0; j < columns; ++j) {
        const Running<T> before = states[j];
        states[j] = Op::join(before, static_cast<Running<T>>(x[j]));
        y[j] = static_cast<T>(exclusive ? before : states[j]);
      }
    }
  });
}

// y[i + 1] = a[i] y[i] + b[i] from y[0] = 0, several columns side by side.
template <class T>
void recurrence_columns(const T* a, const T* b, T* y, int64_t n, int64_t stride, int64_t columns) {
  Running<T> states[kColumns];
  std::fill_n(states, columns, Running<T>(0));
  cpu::in_pieces(n, kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i, a += stride, b += stride, y += stride) {
      for (int64_t j = 0; j < columns; ++j) {
        y[j] = static_cast<T>(states[j]);
        states[j] = k::add(k::mul(static_cast<Running<T>>(a[j]), states[j]), static_cast<Running<T>>(b[j]));
      }
    }
  });
}

// Calls run(first element, step, columns) for each line along the axis, or several that are side by side.
template <class Body>
void for_each_line(const AlongAxis& s, bool reverse, int64_t work, const Body& run) {
  const int64_t tiles = ceil_div(s.inner, kColumns);
  // Ranges of several short rows, so that threads do not write to one cache line.
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
    const bool exclusive = c.flag("exclusive");
    for_each_line(s, c.flag("reverse"), c.numel(0) * 4 * static_cast<int64_t>(sizeof(T)),
                  [&](int64_t start, int64_t step, int64_t columns) {
                    if (s.inner == 1) {
                      running<Op>(x + start, y + start, s.size, step, exclusive);
                    } else {
                      running_columns<Op>(x + start, y + start, s.size, step, columns, exclusive);
                    }
                  });
  }
};
const CpuKernel cumsum_kernel("Cumsum", types::numeric{}, Cumulative<RunningSum>{});
const CpuKernel cumprod_kernel("Cumprod", types::numeric{}, Cumulative<RunningProduct>{});
const CpuKernel complex_cumsum_kernel("Cumsum", types::complex{}, Cumulative<RunningSum>{});
const CpuKernel complex_cumprod_kernel("Cumprod", types::complex{}, Cumulative<RunningProduct>{});

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
const CpuKernel recurrence_kernel("_LinearRecurrence", types::floating{}, LinearRecurrence{});
const CpuKernel complex_recurrence_kernel("_LinearRecurrence", types::complex{}, LinearRecurrence{});

}  // namespace
}  // namespace panto
