// Kernels of arithmetic on quantized tensors.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/cpu/quantized/byte_gemm.h"
#include "panto/device/cpu/quantized/ranges.h"
#include "panto/device/shape/broadcast.h"

namespace panto {
namespace {

using namespace quantized;  // NOLINT(google-build-using-namespace): of this file

// ---- Sums and products, element by element --------------------------------------------------------------------------

// out[i] = f(x, y) with broadcasting.
template <class A, class B, class F>
void broadcast(KernelContext& c, const F& f) {
  const A* x = c.data<A>(0);
  const B* y = c.data<B>(1);
  int32_t* out = c.out_data<int32_t>(0);
  const int64_t n = c.out_numel(0);
  if (n == 0) return;
  const PartialShape* inputs[2] = {&c.shape(0), &c.shape(1)};
  BroadcastMap<2> map;
  make_broadcast_map(c.out_shape(0), inputs, map);
  const int64_t row = map.size[0], dx = map.stride[0][0], dy = map.stride[0][1];
  cpu::parallel_ranges(
      n / row, n * 6,
      [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const A* a = x;
          const B* b = y;
          int64_t rest = r;
          for (int d = 1; d < map.rank; ++d) {
            const int64_t at = rest % map.size[d];
            rest /= map.size[d];
            a += at * map.stride[d][0];
            b += at * map.stride[d][1];
          }
          for (int64_t i = 0; i < row; ++i) out[r * row + i] = f(a[i * dx], b[i * dy]);
        }
      },
      1);
}

// Converts an 8-bit integer into the range of a sum. As in TensorFlow, each step of the narrow range becomes a whole
// number of the sum's steps; a single element is rounded to the nearest step instead.
template <class Int>
struct InSum {
  int64_t first, step;

  InSum(const Int* data, int64_t numel, Range own, Range sum) {
    const NearestOf<int32_t> nearest(sum);
    const StepsOf<Int> number(own);
    first = nearest.unclamped(number(0));
    step = nearest.unclamped(number(1)) - first;
    if (numel == 1) {
      first = nearest(number(*data));
      step = 0;
    }
  }
  int32_t operator()(Int q) const { return static_cast<int32_t>(first + q * step); }
};

int32_t wrapped_sum(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

struct Add {
  template <class Q>
  static void run(KernelContext& c) {
    expect_types(c, "T2", "Toutput");
    expect_wide(c, 2);
    expect_wide(c, 4);
    const Range x = range_in(c, 2), y = range_in(c, 4), sum = range_of_sums(x, y, 1 << 14);
    with_second<IntOf<Q>>(c.type("T2"), [&]<class A, class B>() {
      if (c.out_numel(0) == 0) return;
      const InSum<A> left(c.data<A>(0), c.numel(0), x, sum);
      const InSum<B> right(c.data<B>(1), c.numel(1), y, sum);
      broadcast<A, B>(c, [&](A a, B b) { return wrapped_sum(left(a), right(b)); });
    });
    put_range(c, sum);
  }
};
const CpuKernel add_kernel("QuantizedAdd", EightBits{}, Add{});

struct Mul {
  template <class Q>
  static void run(KernelContext& c) {
    expect_types(c, "T2", "Toutput");
    expect_wide(c, 2);
    expect_wide(c, 4);
    const Range x = range_in(c, 2), y = range_in(c, 4);
    with_second<IntOf<Q>>(c.type("T2"), [&]<class A, class B>() {
      const auto x0 = static_cast<uint32_t>(unclamped_integer<A>(0, x));
      const auto y0 = static_cast<uint32_t>(unclamped_integer<B>(0, y));
      broadcast<A, B>(c, [&](A a, B b) {
        return static_cast<int32_t>((static_cast<uint32_t>(int32_t{a}) - x0) *
                                    (static_cast<uint32_t>(int32_t{b}) - y0));
      });
      put_range(c, range_of_products<A, B>(x, y));
    });
  }
};
const CpuKernel mul_kernel("QuantizedMul", EightBits{}, Mul{});

struct BiasAdd {
  template <class Q>
  static void run(KernelContext& c) {
    expect_types(c, "T2", "out_type");
    const Range input = range_in(c, 2), bias = range_in(c, 4), sum = range_of_sums(input, bias, 1 << 17);
    with_second<IntOf<Q>>(c.type("T2"), [&]<class A, class B>() {
      const FloatSteps<A> number(input);
      const FloatSteps<B> number_of_bias(bias);
      const FloatNearest<int32_t> nearest(sum);
      const int64_t channels = c.numel(1);
      std::vector<int32_t> added(static_cast<size_t>(channels));
      const auto zero = integer_of<int32_t>(0, sum);
      for (int64_t k = 0; k < channels; ++k) {
        added[static_cast<size_t>(k)] = wrapped_sum(nearest(number_of_bias(c.data<B>(1)[k])), zero);
      }
      // A table, as there are only 256 8-bit integers.
      int32_t in_sum[256];
      for (int q = 0; q < 256; ++q) in_sum[q] = nearest(number(static_cast<A>(static_cast<uint8_t>(q))));
      const auto* x = c.data<uint8_t>(0);
      int32_t* y = c.out_data<int32_t>(0);
      if (channels == 0) return;
      cpu::parallel_ranges(
          c.numel(0) / channels, c.numel(0) * 5,
          [&](int64_t begin, int64_t end) {
            for (int64_t i = begin * channels; i < end * channels; i += channels) {
              for (int64_t k = 0; k < channels; ++k)
                y[i + k] = wrapped_sum(in_sum[x[i + k]], added[static_cast<size_t>(k)]);
            }
          },
          1);
    });
    put_range(c, sum);
  }
};
const CpuKernel bias_add_kernel("QuantizedBiasAdd", EightBits{}, BiasAdd{});

// ---- Matrix product -------------------------------------------------------------------------------------------------

struct MatMul {
  template <class Q>
  static void run(KernelContext& c) {
    expect_types(c, "T2", "Toutput");
    expect_wide(c, 2);
    expect_wide(c, 4);
    const Range a = range_in(c, 2), b = range_in(c, 4);
    with_second<IntOf<Q>>(c.type("T2"), [&]<class A, class B>() {
      const auto matrix = [&]<class T>(int i, bool transposed, Range r, T) {
        const int64_t columns = c.shape(i).dim(1);
        return cpu::ByteMatrix{c.data<uint8_t>(i), transposed ? 1 : columns, transposed ? columns : 1, kLowest<T> < 0,
                               unclamped_integer<T>(0, r)};
      };
      const Shape& out = c.out_shape(0);
      const int64_t depth = c.shape(0).dim(c.flag("transpose_a") ? 0 : 1);
      cpu::byte_gemm(out.dim(0), out.dim(1), depth, matrix(0, c.flag("transpose_a"), a, A{}),
                     matrix(1, c.flag("transpose_b"), b, B{}), c.out_data<int32_t>(0));
      put_range(c, range_of_products<A, B>(a, b));
    });
  }
};
const CpuKernel matmul_kernel("QuantizedMatMul", EightBits{}, MatMul{});

// ---- Relu -----------------------------------------------------------------------------------------------------------

// Clamps integers to [the integer of 0, `most`].
template <class Int>
void between(KernelContext& c, Range r, Int most) {
  expect_same_type(c, "Tinput", "out_type");
  const Int least = integer_of<Int>(0, r);
  const Int* x = c.data<Int>(0);
  Int* y = c.out_data<Int>(0);
  cpu::parallel_ranges(c.numel(0), c.numel(0) * int64_t{2 * sizeof(Int)}, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = std::min(std::max(x[i], least), most);
  });
  put_range(c, r);
}

const CpuKernel relu_kernel("QuantizedRelu", AllBits{}, []<class Q>(KernelContext& c) {
  using Int = IntOf<Q>;
  between<Int>(c, range_in(c, 1), std::numeric_limits<Int>::max());
});
const CpuKernel relu6_kernel("QuantizedRelu6", AllBits{}, []<class Q>(KernelContext& c) {
  using Int = IntOf<Q>;
  between<Int>(c, range_in(c, 1), integer_of<Int>(6, range_in(c, 1)));
});
const CpuKernel relu_x_kernel("QuantizedReluX", AllBits{}, []<class Q>(KernelContext& c) {
  using Int = IntOf<Q>;
  between<Int>(c, range_in(c, 2), integer_of<Int>(*c.data<float>(1), range_in(c, 2)));
});

// ---- Concat ---------------------------------------------------------------------------------------------------------

struct Concat {
  template <class Q>
  static void run(KernelContext& c) {
    using Int = IntOf<Q>;
    const int n = (c.num_inputs() - 1) / 3;
    const auto range = [&](int i) { return Range{*c.data<float>(1 + n + i), *c.data<float>(1 + 2 * n + i)}; };
    Range all = range(0);
    for (int i = 1; i < n; ++i) all = {std::min(all.low, range(i).low), std::max(all.high, range(i).high)};
    all.low = std::min(0.0F, all.low);
    if (kLowest<Int> < 0) {
      const float most = std::max(std::fabs(all.low), std::fabs(all.high));
      all = {-most, most};
    }
    put_range(c, all);
    const int64_t given = *c.data<int32_t>(0), axis = given < 0 ? given + c.out_shape(0).rank() : given;
    const Channels result(c.out_shape(0), axis);
    int64_t first = 0;  // along the axis
    for (int i = 0; i < n; ++i) {
      const Channels part(c.shape(1 + i), axis);
      const int64_t run_of_part = part.depth * part.inner, run_of_result = result.depth * result.inner;
      const FloatSteps<Int> number(range(i));
      const FloatNearest<Int> nearest(all);
      const bool same = range(i) == all;
      for (int64_t o = 0; o < result.outer; ++o) {
        const Int* from = c.data<Int>(1 + i) + o * run_of_part;
        Int* to = c.out_data<Int>(0) + o * run_of_result + first * result.inner;
        if (same) {
          std::copy_n(from, run_of_part, to);
        } else {
          for (int64_t k = 0; k < run_of_part; ++k) to[k] = nearest(number(from[k]));
        }
      }
      first += part.depth;
    }
  }
};
const CpuKernel concat_kernel("QuantizedConcat", AllBits{}, Concat{});

}  // namespace
}  // namespace panto
