// Kernels of binary elementwise arithmetic, and of AddN.
#include <algorithm>

#include "panto/device/cpu/elementwise/loops.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/math/elementwise_ops.h"
#include "panto/lib/ops/math_types.h"

namespace panto {
namespace {

const TableKernels<"CPU", Binary, types::common> binary_kernels(BinaryOps{});

// Sums all inputs a few elements at a time, since the output may share memory with any input. Sums are rounded once.
template <class T>
void add_n(KernelContext& c) {
  const int count = c.num_inputs();
  T* out = c.out_data<T>(0);
  const int64_t n = c.out_numel(0);
  const int64_t work = n * (count + 1) * static_cast<int64_t>(sizeof(T));
  cpu::parallel_ranges(n, work, [&](int64_t begin, int64_t end) {
    constexpr int64_t kBlock = 32;
    Compute<T> sum[kBlock];
    for (int64_t at = begin; at < end; at += kBlock) {
      const int64_t m = std::min(kBlock, end - at);
      std::transform(c.data<T>(0) + at, c.data<T>(0) + at + m, sum, [](T x) { return convert<Compute<T>>(x); });
      for (int i = 1; i < count; ++i) {
        const T* term = c.data<T>(i) + at;
        for (int64_t k = 0; k < m; ++k) sum[k] = k::add(sum[k], convert<Compute<T>>(term[k]));
      }
      std::transform(sum, sum + m, out + at, [](Compute<T> x) { return convert<T>(x); });
    }
  });
}
struct RunAddN {
  template <class T>
  static void run(KernelContext& c) {
    add_n<T>(c);
  }
};
const CpuKernel add_n_kernel("AddN", types::of<"AddN">{}, RunAddN{});

}  // namespace
}  // namespace panto
