// Local response normalization and its gradient: sums over neighbouring channels at each position.
#include <cstdint>
#include <vector>

#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/local_response.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {
namespace {

struct RunLocalResponse {
  template <class T>
  static void run(KernelContext& c) {
    const LocalResponse r(c);
    const float* x = c.data<float>(0);
    float* y = c.out_data<float>(0);
    if (c.numel(0) == 0) return;
    cpu::parallel_ranges(
        c.numel(0) / r.channels, c.numel(0) * 128,
        [&](int64_t begin, int64_t end) {
          for (int64_t p = begin * r.channels; p < end * r.channels; p += r.channels) {
            for (int64_t i = 0; i < r.channels; ++i) y[p + i] = x[p + i] * r.power(r.norm(x + p, i));
          }
        },
        1);
  }
};

struct RunLocalResponseGrad {
  template <class T>
  static void run(KernelContext& c) {
    const LocalResponse r(c);
    const float *dy = c.data<float>(0), *x = c.data<float>(1), *y = c.data<float>(2);
    float* dx = c.out_data<float>(0);
    if (c.numel(0) == 0) return;
    cpu::parallel_ranges(
        c.numel(0) / r.channels, c.numel(0) * 128,
        [&](int64_t begin, int64_t end) {
          std::vector<double> n(static_cast<size_t>(r.channels));
          for (int64_t p = begin * r.channels; p < end * r.channels; p += r.channels) {
            for (int64_t i = 0; i < r.channels; ++i) n[static_cast<size_t>(i)] = r.norm(x + p, i);
            for (int64_t i = 0; i < r.channels; ++i) {
              dx[p + i] = r.gradient(dy + p, x + p, y + p, n.data(), i);
            }
          }
        },
        1);
  }
};

const CpuKernel lrn_kernel("LRN", types::of<"LRN">{}, InWider<RunLocalResponse>{});
const CpuKernel lrn_grad_kernel("LRNGrad", types::of<"LRNGrad">{}, InWider<RunLocalResponseGrad>{});

}  // namespace
}  // namespace panto
