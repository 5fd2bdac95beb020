// Kernels of pools and their gradients.
#include "panto/device/cuda/elementwise/in_wider.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/nn/pool.cuh"
#include "panto/device/math/vocabulary.h"
#include "panto/device/op_kernels.h"
#include "panto/device/scratch.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {
namespace {

using cuda::CudaDevice;
using cuda::Pool;

template <class T>
struct LargestOfWindow {
  Pool p;
  const T* in;
  __device__ T operator()(int64_t n, int row, int x, int64_t lane) const {
    const T* from = in + p.input_at(n, lane);
    T best = lowest<T>();
    for_window(p, row, x, [&](int pixel) {
      const T v = from[pixel * p.lanes];
      best = beats(v, best) ? v : best;
    });
    return best;
  }
};

struct MaxPoolKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Pool p(PoolShape(c, c.shape(0)));
    over_outputs(cuda::device_of(c), p, c.out_data<T>(0), LargestOfWindow<T>{p, c.data<T>(0)});
  }
};

// Returns the pixel of the window's largest element, the first if several are equal; -1 if the window is only padding.
template <class T>
__device__ int largest_pixel(const Pool& p, const T* from, int row, int x) {
  int chosen = -1;
  T best{};
  for_window(p, row, x, [&](int pixel) {
    const T v = from[pixel * p.lanes];
    if (chosen >= 0 && !beats(v, best)) return;
    best = v;
    chosen = pixel;
  });
  return chosen;
}

template <class T>
struct LargestPixel {
  Pool p;
  const T* in;
  __device__ int operator()(int64_t n, int row, int x, int64_t lane) const {
    return largest_pixel(p, in + p.input_at(n, lane), row, x);
  }
};

template <class T>
struct MaxPoolGradient {
  Pool p;
  const int* chosen;
  const T* dy;
  __device__ T operator()(int64_t n, int row, int x, int64_t lane) const {
    const int pixel = row * p.width.input + x;
    const int64_t base = p.output_at(n, lane);
    T sum{0};
    for_windows_of(p, row, x, [&](int oy, int ox) {
      const int64_t at = base + (int64_t{oy} * p.width.output + ox) * p.lanes;
      if (chosen[at] == pixel) sum = k::add(sum, dy[at]);
    });
    return sum;
  }
};

struct MaxPoolGradKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    CudaDevice& device = cuda::device_of(c);
    const Pool p(PoolShape(c, c.shape(0)));
    const Scratch<int> chosen(device, c.numel(2));
    if (c.numel(2) > 0) over_outputs(device, p, chosen.data(), LargestPixel<T>{p, c.data<T>(0)});
    over_inputs(device, p, c.out_data<T>(0), MaxPoolGradient<T>{p, chosen.data(), c.data<T>(2)});
  }
};

template <class T>
struct GradientOfLargest {
  Pool p;
  const T* in;
  const T* ddx;
  __device__ T operator()(int64_t n, int row, int x, int64_t lane) const {
    const int64_t base = p.input_at(n, lane);
    const int pixel = largest_pixel(p, in + base, row, x);
    return pixel < 0 ? T{0} : ddx[base + pixel * p.lanes];
  }
};

struct MaxPoolGradGradKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Pool p(PoolShape(c, c.shape(0)));
    over_outputs(cuda::device_of(c), p, c.out_data<T>(0), GradientOfLargest<T>{p, c.data<T>(0), c.data<T>(2)});
  }
};

template <class T>
struct MeanOfWindow {
  Pool p;
  const T* in;
  __device__ T operator()(int64_t n, int row, int x, int64_t lane) const {
    const T* from = in + p.input_at(n, lane);
    T sum{0};
    for_window(p, row, x, [&](int pixel) { sum += from[pixel * p.lanes]; });
    return sum / static_cast<T>(p.count(row, x));
  }
};

struct AvgPoolKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Pool p(PoolShape(c, c.shape(0)));
    over_outputs(cuda::device_of(c), p, c.out_data<T>(0), MeanOfWindow<T>{p, c.data<T>(0)});
  }
};

template <class T>
struct AvgPoolGradient {
  Pool p;
  const T* dy;
  __device__ T operator()(int64_t n, int row, int x, int64_t lane) const {
    const int64_t base = p.output_at(n, lane);
    T sum{0};
    for_windows_of(p, row, x, [&](int oy, int ox) {
      sum += dy[base + (int64_t{oy} * p.width.output + ox) * p.lanes] / static_cast<T>(p.count(oy, ox));
    });
    return sum;
  }
};

struct AvgPoolGradKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Pool p(PoolShape(c, c.out_shape(0)));
    over_inputs(cuda::device_of(c), p, c.out_data<T>(0), AvgPoolGradient<T>{p, c.data<T>(1)});
  }
};

// The input and its gradient may have different types; both are computed as float here.
struct MaxPool3DGradKernel {
  template <class T>
  static void run(KernelContext& c) {
    cuda::run_in_floats(c, types::halves{}, [](KernelContext& wider) { MaxPoolGradKernel::run<float>(wider); });
  }
};

const CudaKernel max_pool_kernel("MaxPool", types::of<"MaxPool">{}, CudaInWider<MaxPoolKernel>{});
const CudaKernel max_pool_grad_kernel("MaxPoolGrad", types::of<"MaxPoolGrad">{}, CudaInWider<MaxPoolGradKernel>{});
const CudaKernel max_pool_grad_grad_kernel("MaxPoolGradGrad", types::of<"MaxPoolGradGrad">{},
                                           CudaInWider<MaxPoolGradGradKernel>{});
const CudaKernel avg_pool_kernel("AvgPool", types::of<"AvgPool">{}, CudaInWider<AvgPoolKernel>{});
const CudaKernel avg_pool_grad_kernel("AvgPoolGrad", types::of<"AvgPoolGrad">{}, CudaInWider<AvgPoolGradKernel>{});

const CudaKernel max_pool_3d_kernel("MaxPool3D", types::of<"MaxPool3D">{}, CudaInWider<MaxPoolKernel>{});
const CudaKernel max_pool_3d_grad_kernel("MaxPool3DGrad", types::of<"MaxPool3DGrad">{}, MaxPool3DGradKernel{});
const CudaKernel max_pool_3d_grad_grad_kernel("MaxPool3DGradGrad", types::of<"MaxPool3DGradGrad">{},
                                              CudaInWider<MaxPoolGradGradKernel>{});
const CudaKernel avg_pool_3d_kernel("AvgPool3D", types::of<"AvgPool3D">{}, CudaInWider<AvgPoolKernel>{});
const CudaKernel avg_pool_3d_grad_kernel("AvgPool3DGrad", types::of<"AvgPool3DGrad">{},
                                         CudaInWider<AvgPoolGradKernel>{});

}  // namespace
}  // namespace panto
