// The loop of elementwise kernels on the GPU, the counterpart of device/cpu/loops.h: the same functors, makers of the
// same names.
//
//   const CudaKernel tanh_kernel("Tanh", types::floating{}, unary<TanhFn>);
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "panto/device/broadcast.h"
#include "panto/device/cuda/device.h"
#include "panto/device/functors.h"
#include "panto/lib/base/checked.h"

namespace panto::cuda {

inline constexpr int kThreads = 256;
// Threads go on with a grid's stride, so a few blocks for each multiprocessor are enough.
inline unsigned grid_size(const CudaDevice& device, int64_t n) {
  const int64_t most = int64_t{device.multiprocessors()} * 32;
  return static_cast<unsigned>(std::min(ceil_div(n, kThreads), most));
}

// The broadcast dimensions as they travel to a kernel.
inline constexpr int kMaxMapRank = 16;
template <int N>
struct DeviceMap {
  int rank;
  int64_t size[kMaxMapRank];
  int64_t stride[kMaxMapRank][N];
};

template <class F>
__device__ void report(const F& f, Fault* fault) {
  if constexpr (std::is_base_of_v<Faulty, F>) {
    if (f.fault != Fault::kNone) *static_cast<volatile Fault*>(fault) = f.fault;
  }
}

// One element of the output. A __global__ function cannot have two parameter packs, so the inputs' types are here.
template <class F, class Out, class Indices, class... In>
struct Element;
template <class F, class Out, size_t... I, class... In>
struct Element<F, Out, std::index_sequence<I...>, In...> {
  Out* out;
  const void* in[sizeof...(In)];

  // Inputs with n elements or one: bit i of `moves` tells which.
  __device__ void operator()(F& f, int64_t i, unsigned moves) const {
    out[i] = f(static_cast<const In*>(in[I])[(moves >> I & 1u) != 0 ? i : 0]...);
  }
  __device__ void operator()(F& f, int64_t i, const DeviceMap<sizeof...(In)>& map) const {
    int64_t offset[sizeof...(In)] = {};
    int64_t rest = i;
    for (int d = 0; d < map.rank; ++d) {
      const int64_t next = rest / map.size[d];
      const int64_t index = rest - next * map.size[d];
      for (size_t k = 0; k < sizeof...(In); ++k) offset[k] += index * map.stride[d][k];
      rest = next;
    }
    out[i] = f(static_cast<const In*>(in[I])[offset[I]]...);
  }
};

template <class F, class Body, class How>
__global__ void __launch_bounds__(kThreads) run_elements(int64_t n, Body body, How how, Fault* fault) {
  F f;
  const int64_t step = int64_t{blockDim.x} * gridDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) body(f, i, how);
  report(f, fault);
}

// out[i] = F{}(in[i]...), inputs broadcast. `in` are the call's inputs 0, 1, ... and `out` its output 0.
template <class F, class Out, class... In, size_t... I>
void elementwise(KernelContext& c, std::index_sequence<I...>, Out* out, const In*... in) {
  const int64_t n = c.out_numel(0);
  if (n == 0) return;
  CudaDevice& device = device_of(c);
  cudaStream_t stream = device.use();
  const unsigned blocks = grid_size(device, n);
  const Element<F, Out, std::index_sequence<I...>, In...> element{out, {in...}};
  if (((c.numel(I) == n || c.numel(I) == 1) && ...)) {
    const unsigned moves = ((c.numel(I) == n ? 1u << I : 0u) | ...);
    run_elements<F><<<blocks, kThreads, 0, stream>>>(n, element, moves, device.fault());
  } else {
    BroadcastMap<sizeof...(In)> found;
    make_broadcast_map<sizeof...(In)>(c.out_shape(0), {&c.shape(I)...}, found);
    if (found.rank > kMaxMapRank) {
      fail(Code::kUnimplemented, "shapes: expected at most 16 dimensions that alternate in broadcasting, got more");
    }
    DeviceMap<sizeof...(In)> map;
    map.rank = found.rank;
    for (int d = 0; d < found.rank; ++d) {
      map.size[d] = found.size[d];
      for (size_t k = 0; k < sizeof...(In); ++k) map.stride[d][k] = found.stride[d][k];
    }
    run_elements<F><<<blocks, kThreads, 0, stream>>>(n, element, map, device.fault());
  }
  check(cudaGetLastError(), "starting a kernel");
}

}  // namespace panto::cuda

namespace panto {

// The makers (device/kernel.h).

template <class F>
struct CudaUnary {
  template <class T>
  static void run(KernelContext& c) {
    using Out = decltype(F{}(T{}));
    cuda::elementwise<F>(c, std::make_index_sequence<1>{}, c.out_data<Out>(0), c.data<T>(0));
  }
};
template <class F>
inline constexpr CudaUnary<F> unary{};

template <class F>
struct CudaBinary {
  template <class T>
  static void run(KernelContext& c) {
    using Out = decltype(F{}(T{}, T{}));
    cuda::elementwise<F>(c, std::make_index_sequence<2>{}, c.out_data<Out>(0), c.data<T>(0), c.data<T>(1));
  }
};
template <class F>
inline constexpr CudaBinary<F> binary{};

// Input 0 is a mask.
template <class F>
struct CudaMasked {
  template <class T>
  static void run(KernelContext& c) {
    cuda::elementwise<F>(c, std::make_index_sequence<3>{}, c.out_data<T>(0), c.data<bool>(0), c.data<T>(1),
                         c.data<T>(2));
  }
};
template <class F>
inline constexpr CudaMasked<F> masked{};

}  // namespace panto
