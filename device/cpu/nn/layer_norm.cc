// LayerNorm, row by row: a row stays in the cache while its mean, variance and result are computed. Measured for
// 4096x4096 floats on two Sapphire Rapids cores: 9.8 ms; the separate ops 39, in fused loops 25.
//
// The product and the sum after it are in separate loops: in one loop the compiler may contract them to a multiply-add,
// but the separate ops round in between.
#include "panto/device/cpu/elementwise/loops.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/reduce/row_pieces.h"
#include "panto/device/math/functors.h"
#include "panto/device/math/reducers.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"

namespace panto {
namespace {

// The cost of an element, in bytes that could be moved meanwhile.
constexpr int64_t kWork = 24;

template <class T>
struct Row {
  const T* scale;
  const T* offset;
  T epsilon;
  InnerLoopFn squared_difference = binary_inner_loop<SquaredDifferenceFn, T>();
  InnerLoopFn add = binary_inner_loop<AddFn, T>();

  [[gnu::always_inline]] void operator()(const T* x, int64_t n, T* y, bool stream) const {
    using Mean = MeanOf<T>;
    const T mean = Mean::finish(cpu::reduce_row<Mean>(x, n), n);
    const auto squares = cpu::reduce_blocks<Mean>(n, [&](int64_t begin, int64_t size, T* to) {
      const void* const in[] = {x + begin, &mean};
      squared_difference(0b01, to, size, in);
    });
    const T variance = Mean::finish(squares, n);
    const T factor = RsqrtFn{}(k::add(variance, epsilon));
    cpu::write_pieces(n, y, stream, add, offset, true, [&](int64_t begin, int64_t size, T* to) {
      if (stream) cpu::prefetch<2>(x + n + begin, size);
      PANTO_INDEPENDENT
      for (int64_t j = 0; j < size; ++j) {
        to[j] = k::mul(k::mul(k::sub(x[begin + j], mean), factor), scale[begin + j]);
      }
    });
  }
};

struct LayerNorm {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t n = c.shape(0)[-1];
    for (int i = 1; i <= 2; ++i) {
      if (c.numel(i) != n) invalid("{}: expected {} elements, got {}", i == 1 ? "scale" : "offset", n, c.numel(i));
    }
    if constexpr (is_half_type<T>) {
      const cpu::AsFloats<T> scale(c.data<T>(1), n, c.device()), offset(c.data<T>(2), n, c.device());
      cpu::by_rows<T>(c, kWork, Row<float>{scale.data(), offset.data(), static_cast<float>(c.real("epsilon"))});
    } else {
      cpu::by_rows<T>(c, kWork, Row<T>{c.data<T>(1), c.data<T>(2), static_cast<T>(c.real("epsilon"))});
    }
  }
};
const CpuKernel layer_norm_kernel("LayerNorm", types::of<"LayerNorm">{}, LayerNorm{});

}  // namespace
}  // namespace panto
