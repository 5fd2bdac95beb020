// Fill, ZerosLike, OnesLike, AddN, and views, which copy nothing.
#include <string>

#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/array_types.h"
#include "panto/lib/ops/math_types.h"

namespace panto {
namespace {

struct CopyFn {
  template <class T>
  __device__ T operator()(T x) const {
    return x;
  }
};

// Input 1 is the value; input 0, the shape, stays on the host.
struct Fill {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t n = c.out_numel(0);
    if (n == 0) return;
    using Body = cuda::Element<CopyFn, T, std::index_sequence<0>, T>;
    const Body body{c.out_data<T>(0), {c.data<T>(1)}};
    constexpr cuda::Straight<1> kStands{0};
    cuda::launch_elements<Body::kPack, CopyFn>(cuda::device_of(c), n, body, kStands);
  }
};
const CudaKernel fill_kernel("Fill", types::plain{}, Fill{});

const CudaKernel zeros_like_kernel("ZerosLike", dtypes::kBytes, [](KernelContext& c) { cuda::clear_output(c); });

// Reads x although it does not use it, to share the loop of unary ops.
const CudaKernel ones_like_kernel("OnesLike", types::of<"OnesLike">{}, unary<OneFn>);

// ---- AddN ----------------------------------------------------------------------------------------------------------

constexpr int kMaxTerms = 128;
template <class T>
struct Terms {
  int count;
  const T* in[kMaxTerms];
};

// Adds all terms of an element before it is written: the output may share memory with any of them.
template <class T>
__global__ void __launch_bounds__(cuda::kThreads) run_add_n(int64_t n, Terms<T> terms, T* out) {
  const int64_t step = int64_t{blockDim.x} * gridDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    auto sum = convert<Compute<T>>(terms.in[0][i]);
    for (int k = 1; k < terms.count; ++k) sum = k::add(sum, convert<Compute<T>>(terms.in[k][i]));
    out[i] = convert<T>(sum);
  }
}

struct AddN {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t n = c.out_numel(0);
    Terms<T> terms;
    terms.count = c.num_inputs();
    if (terms.count > kMaxTerms) {
      fail(Code::kUnimplemented,
           "inputs: expected at most " + std::to_string(kMaxTerms) + " on a GPU, got " + std::to_string(terms.count));
    }
    if (n == 0) return;
    for (int i = 0; i < terms.count; ++i) terms.in[i] = c.data<T>(i);
    cuda::CudaDevice& device = cuda::device_of(c);
    const cuda::DeviceUse stream = device.use();
    run_add_n<<<cuda::grid_size(device, n), cuda::kThreads, 0, stream>>>(n, terms, c.out_data<T>(0));
    cuda::check(cudaGetLastError(), "starting a kernel");
  }
};
const CudaKernel add_n_kernel("AddN", types::of<"AddN">{}, AddN{});

// ---- Views ---------------------------------------------------------------------------------------------------------

void run_identity(KernelContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) c.set_out(i, view_tensor(c.in(i), c.shape(i)));
}
const CudaKernel identity_kernel("Identity", dtypes::kBytes, run_identity);
const CudaKernel stop_gradient_kernel("StopGradient", dtypes::kBytes, run_identity);

void run_view(KernelContext& c) { c.set_out(0, view_tensor(c.in(0), c.inferred_shape(0))); }
const CudaKernel reshape_kernel("Reshape", dtypes::kBytes, run_view);
const CudaKernel expand_dims_kernel("ExpandDims", dtypes::kBytes, run_view);
const CudaKernel squeeze_kernel("Squeeze", dtypes::kBytes, run_view);

}  // namespace
}  // namespace panto
