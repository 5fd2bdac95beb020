// Local response normalization and its gradient: sums over neighbouring channels at each position.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {
namespace {

struct Response {
  int64_t radius, channels;
  float bias, alpha, beta;

  explicit Response(const KernelContext& c)
      : radius(c.integer("depth_radius")),
        channels(c.shape(0).dim(3)),
        bias(c.real("bias")),
        alpha(c.real("alpha")),
        beta(c.real("beta")) {}

  // For each channel computes the sum of values(i) over channels at most `radius` away. Not as a running sum: an
  // infinity must not spread further.
  template <class Values>
  void nearby(const Values& values, double* sums) const {
    for (int64_t i = 0; i < channels; ++i) {
      const int64_t first = i < radius ? 0 : i - radius, last = radius < channels - i ? i + radius : channels - 1;
      sums[i] = 0;
      for (int64_t j = first; j <= last; ++j) sums[i] += values(j);
    }
  }
  void norms(const float* x, double* n) const {
    nearby([x](int64_t i) { return static_cast<double>(x[i]) * static_cast<double>(x[i]); }, n);
    for (int64_t i = 0; i < channels; ++i) n[i] = static_cast<double>(bias) + static_cast<double>(alpha) * n[i];
  }
};

// Returns n^-beta, with a fast path for the default beta.
float power(double n, float beta) {
  return beta == 0.5F ? 1 / std::sqrt(static_cast<float>(n)) : std::pow(static_cast<float>(n), -beta);
}

struct RunLocalResponse {
  template <class T>
  static void run(KernelContext& c) {
    const Response r(c);
    const float* x = c.data<float>(0);
    float* y = c.out_data<float>(0);
    if (c.numel(0) == 0) return;
    cpu::parallel_ranges(
        c.numel(0) / r.channels, c.numel(0) * 128,
        [&](int64_t begin, int64_t end) {
          std::vector<double> n(static_cast<size_t>(r.channels));
          for (int64_t p = begin * r.channels; p < end * r.channels; p += r.channels) {
            r.norms(x + p, n.data());
            for (int64_t i = 0; i < r.channels; ++i) {
              y[p + i] = x[p + i] * power(n[static_cast<size_t>(i)], r.beta);
            }
          }
        },
        1);
  }
};

struct RunLocalResponseGrad {
  template <class T>
  static void run(KernelContext& c) {
    const Response r(c);
    const float *dy = c.data<float>(0), *x = c.data<float>(1), *y = c.data<float>(2);
    float* dx = c.out_data<float>(0);
    if (c.numel(0) == 0) return;
    const float factor = 2 * r.alpha * r.beta;
    cpu::parallel_ranges(
        c.numel(0) / r.channels, c.numel(0) * 128,
        [&](int64_t begin, int64_t end) {
          std::vector<double> n(static_cast<size_t>(r.channels)), back(n);
          for (int64_t p = begin * r.channels; p < end * r.channels; p += r.channels) {
            r.norms(x + p, n.data());
            r.nearby(
                [&](int64_t i) {
                  return static_cast<double>(dy[p + i]) * static_cast<double>(y[p + i]) / n[static_cast<size_t>(i)];
                },
                back.data());
            for (int64_t i = 0; i < r.channels; ++i) {
              const float scale = power(n[static_cast<size_t>(i)], r.beta);
              dx[p + i] = dy[p + i] * scale - factor * x[p + i] * static_cast<float>(back[static_cast<size_t>(i)]);
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
