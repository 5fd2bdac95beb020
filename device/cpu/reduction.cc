// Kernels of the reductions, of ArgMax and ArgMin, and of Cumsum.
#include <type_traits>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/reduce.h"
#include "panto/device/cpu/reducers.h"
#include "panto/lib/base/format.h"
#include "panto/lib/core/call.h"

namespace panto {
namespace {

// Element i of an index tensor, read once. (A prepared call's shape function may not have seen the values.)
int64_t axis_at(const KernelContext& c, int input, int64_t i, int rank) {
  if (i >= c.numel(input)) invalid("axis: expected a scalar, got no element");
  int64_t axis = 0;
  switch (c.in(input).dtype()) {
    case DType::kInt16: axis = c.data<int16_t>(input)[i]; break;
    case DType::kInt32: axis = c.data<int32_t>(input)[i]; break;
    default: axis = c.data<int64_t>(input)[i]; break;
  }
  if (axis < -rank || axis >= rank) invalid("axis: expected one in [{}, {}), got {}", -rank, rank, axis);
  return axis < 0 ? axis + rank : axis;
}

template <class R>
void reduce_axes(KernelContext& c) {
  AxisFlags axes;
  for (int64_t i = 0; i < c.numel(1); ++i) axes.set(static_cast<size_t>(axis_at(c, 1, i, c.shape(0).rank())));
  using Out = std::remove_cvref_t<decltype(R::finish(R::total(), int64_t{}))>;
  cpu::reduce<R>(c.data<typename R::Element>(0), c.shape(0), axes, c.out_data<Out>(0), c.out_numel(0), c.device());
}

template <template <class> class R>
struct Reduction {
  template <class T>
  static void run(KernelContext& c) {
    reduce_axes<R<T>>(c);
  }
};

const CpuKernel sum_kernel("Sum", types::numeric{}, Reduction<cpu::SumOf>{});
const CpuKernel mean_kernel("Mean", types::numeric{}, Reduction<cpu::MeanOf>{});
const CpuKernel prod_kernel("Prod", types::numeric{}, Reduction<cpu::ProdOf>{});
const CpuKernel complex_sum_kernel("Sum", types::complex{}, Reduction<cpu::SumOf>{});
const CpuKernel complex_mean_kernel("Mean", types::complex{}, Reduction<cpu::MeanOf>{});
const CpuKernel complex_prod_kernel("Prod", types::complex{}, Reduction<cpu::ProdOf>{});
const CpuKernel max_kernel("Max", types::numeric{}, Reduction<cpu::MaxOf>{});
const CpuKernel min_kernel("Min", types::numeric{}, Reduction<cpu::MinOf>{});
const CpuKernel all_kernel("All", dtypes::kIndex, reduce_axes<cpu::AllOf>);
const CpuKernel any_kernel("Any", dtypes::kIndex, reduce_axes<cpu::AnyOf>);

// A shape seen from one of its dimensions.
struct AlongAxis {
  int64_t outer = 1, size = 1, inner = 1;
  AlongAxis(const Shape& shape, int64_t axis) : size(shape[static_cast<int>(axis)]) {
    for (int k = 0; k < shape.rank(); ++k) (k < axis ? outer : inner) *= k == axis ? 1 : shape[k];
  }
};

constexpr int64_t kColumns = 256;    // treated at a time
constexpr int64_t kPiece = 1 << 16;  // rows, of one column or of kColumns, before a request to stop is looked for

// Where NaN stands neither before nor after anything; so it never becomes the best.
struct Greater {
  template <class T>
  static bool better(T x, T best) {
    return x > best;
  }
  template <class T>
  static T worst() {
    return cpu::MaxOf<T>::lane();
  }
};
struct Less {
  template <class T>
  static bool better(T x, T best) {
    return x < best;
  }
  template <class T>
  static T worst() {
    return cpu::MinOf<T>::lane();
  }
};

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
  if (s.size == 0) invalid("dimension: expected at least one element, got 0");
  if (s.size - 1 > static_cast<int64_t>(std::numeric_limits<Index>::max())) {
    invalid("dimension: expected a size whose positions fit {}, got {}", dtype_name(dtype_of<Index>), s.size);
  }
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

// One column of a running sum. `y` may be `x`. Floats run in double: the sum of many small numbers does not lose them.
template <class T>
void running_sum(const T* x, T* y, int64_t n, int64_t stride, bool exclusive) {
  using Running = std::conditional_t<std::is_floating_point_v<T>, double, T>;
  Running sum{0};
  cpu::in_pieces(n, kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Running before = sum;
      sum = k::add(before, static_cast<Running>(x[i * stride]));
      y[i * stride] = static_cast<T>(exclusive ? before : sum);
    }
  });
}

// Several side by side.
template <class T>
void running_sums(const T* x, T* y, int64_t n, int64_t stride, int64_t columns, bool exclusive) {
  using Running = std::conditional_t<std::is_floating_point_v<T>, double, T>;
  Running sums[kColumns];
  std::fill_n(sums, columns, Running{0});
  cpu::in_pieces(n, kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i, x += stride, y += stride) {
      for (int64_t j = 0; j < columns; ++j) {
        const Running before = sums[j];
        sums[j] = k::add(before, static_cast<Running>(x[j]));
        y[j] = static_cast<T>(exclusive ? before : sums[j]);
      }
    }
  });
}

struct CumulativeSum {
  template <class T>
  static void run(KernelContext& c) {
    const AlongAxis s(c.shape(0), axis_at(c, 1, 0, c.shape(0).rank()));
    if (c.numel(0) == 0) return;
    const T* x = c.data<T>(0);
    T* y = c.out_data<T>(0);
    const bool exclusive = c.flag("exclusive"), reverse = c.flag("reverse");
    const int64_t tiles = ceil_div(s.inner, kColumns);
    // Ranges of several short rows, so that threads do not write to one cache line.
    const int64_t together = std::max<int64_t>(1, 256 / (s.size * std::min(s.inner, kColumns)));
    cpu::parallel_ranges(
        s.outer * tiles, c.numel(0) * 4 * static_cast<int64_t>(sizeof(T)),
        [&](int64_t begin, int64_t end) {
          for (int64_t task = begin; task < end; ++task) {
            const int64_t column = task % tiles * kColumns;
            const int64_t first = task / tiles * s.size * s.inner + column;
            const int64_t start = reverse ? first + (s.size - 1) * s.inner : first;
            const int64_t step = reverse ? -s.inner : s.inner;
            if (s.inner == 1) {
              running_sum(x + start, y + start, s.size, step, exclusive);
            } else {
              running_sums(x + start, y + start, s.size, step, std::min(kColumns, s.inner - column), exclusive);
            }
          }
        },
        together);
  }
};
const CpuKernel cumsum_kernel("Cumsum", types::numeric{}, CumulativeSum{});

}  // namespace
}  // namespace panto
