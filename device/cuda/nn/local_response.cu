// Kernels of local response normalization and its gradient. Each thread computes one element.
#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/elementwise/in_wider.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/local_response.h"
#include "panto/device/op_kernels.h"
#include "panto/device/scratch.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {
namespace {

struct Normalize {
  LocalResponse r;
  const float* x;
  float* y;
  __device__ void operator()(int64_t i) const {
    const int64_t channel = i % r.channels;
    y[i] = x[i] * r.power(r.norm(x + i - channel, channel));
  }
};

struct RunLocalResponse {
  template <class T>
  static void run(KernelContext& c) {
    cuda::for_each_index(cuda::device_of(c), c.numel(0),
                         Normalize{LocalResponse(c), c.data<float>(0), c.out_data<float>(0)});
  }
};

struct WriteNorm {
  LocalResponse r;
  const float* x;
  double* n;
  __device__ void operator()(int64_t i) const {
    const int64_t channel = i % r.channels;
    n[i] = r.norm(x + i - channel, channel);
  }
};

struct Gradient {
  LocalResponse r;
  const float *dy, *x, *y;
  const double* n;
  float* dx;
  __device__ void operator()(int64_t i) const {
    const int64_t channel = i % r.channels, pixel = i - channel;
    dx[i] = r.gradient(dy + pixel, x + pixel, y + pixel, n + pixel, channel);
  }
};

struct RunLocalResponseGrad {
  template <class T>
  static void run(KernelContext& c) {
    cuda::CudaDevice& device = cuda::device_of(c);
    const LocalResponse r(c);
    const auto* x = c.data<float>(1);
    const int64_t n = c.numel(0);
    const Scratch<double> norms(device, n);
    cuda::for_each_index(device, n, WriteNorm{r, x, norms.data()});
    cuda::for_each_index(device, n,
                         Gradient{r, c.data<float>(0), x, c.data<float>(2), norms.data(), c.out_data<float>(0)});
  }
};

const CudaKernel lrn_kernel("LRN", types::of<"LRN">{}, CudaInWider<RunLocalResponse>{});
const CudaKernel lrn_grad_kernel("LRNGrad", types::of<"LRNGrad">{}, CudaInWider<RunLocalResponseGrad>{});

}  // namespace
}  // namespace panto
