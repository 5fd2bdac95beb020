// Elementwise arithmetic kernels of two and more tensors.
#include <algorithm>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/loops.h"

namespace panto {
namespace {

const CpuKernel add_kernel("AddV2", types::numeric{}, binary<AddFn>);
const CpuKernel sub_kernel("Sub", types::numeric{}, binary<SubFn>);
const CpuKernel mul_kernel("Mul", types::numeric{}, binary<MulFn>);
const CpuKernel real_div_kernel("RealDiv", types::floating{}, binary<DivFn>);
const CpuKernel div_kernel("Div", types::numeric{}, binary<DivFn>);
const CpuKernel floor_div_kernel("FloorDiv", types::numeric{}, binary<FloorDivFn>);
const CpuKernel floor_mod_kernel("FloorMod", types::numeric{}, binary<FloorModFn>);
const CpuKernel pow_kernel("Pow", types::numeric{}, binary<PowFn>);
const CpuKernel maximum_kernel("Maximum", types::numeric{}, binary<MaximumFn>);
const CpuKernel minimum_kernel("Minimum", types::numeric{}, binary<MinimumFn>);
const CpuKernel squared_difference_kernel("SquaredDifference", types::numeric{}, binary<SquaredDifferenceFn>);

// Sums a few elements of all inputs at a time: the output may share its memory with any input.
template <class T>
void add_n(KernelContext& c) {
  const int count = c.num_inputs();
  T* out = c.out_data<T>(0);
  const int64_t n = c.out_numel(0);
  const int64_t work = n * (count + 1) * static_cast<int64_t>(sizeof(T));
  cpu::parallel_ranges(n, work, [&](int64_t begin, int64_t end) {
    constexpr int64_t kBlock = 32;
    T sum[kBlock];
    for (int64_t at = begin; at < end; at += kBlock) {
      const int64_t m = std::min(kBlock, end - at);
      std::copy_n(c.data<T>(0) + at, m, sum);
      for (int i = 1; i < count; ++i) {
        const T* term = c.data<T>(i) + at;
        for (int64_t k = 0; k < m; ++k) sum[k] = k::add(sum[k], term[k]);
      }
      std::copy_n(sum, m, out + at);
    }
  });
}
struct RunAddN {
  template <class T>
  static void run(KernelContext& c) {
    add_n<T>(c);
  }
};
const CpuKernel add_n_kernel("AddN", types::numeric{}, RunAddN{});
const CpuKernel complex_add_n_kernel("AddN", types::complex{}, RunAddN{});

}  // namespace
}  // namespace panto
