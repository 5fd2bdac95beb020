// The loop of elementwise kernels on the GPU, the counterpart of device/cpu/elementwise/loops.h: the same functors, and
// makers of the same names.
//
//   const TableKernels<"GPU", CudaUnary, types::numbers> unary_kernels(UnaryOps{});
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "panto/device/cuda/device.h"
#include "panto/device/cuda/elementwise/elements.cuh"
#include "panto/device/math/convert.h"
#include "panto/device/math/functors.h"
#include "panto/device/shape/broadcast.h"
#include "panto/lib/base/checked.h"

namespace panto::cuda {

// Returns the number of blocks for n elements of a grid-stride loop.
inline unsigned grid_size(const CudaDevice& device, int64_t n) {
  const int64_t most = int64_t{device.multiprocessors()} * 128;
  return static_cast<unsigned>(std::min(ceil_div(n, kThreads), most));
}

// The number of elements of the largest type in 16 bytes.
template <class... T>
inline constexpr int kPackSize = static_cast<int>(std::min<size_t>(8, 16 / std::max({sizeof(T)...})));

template <class T, int N>
bool is_aligned(const T* data) {
  return reinterpret_cast<uintptr_t>(data) % (sizeof(T) * N) == 0;
}

// out[i] = f(in[i]...). A __global__ function cannot have two parameter packs, so this class has the inputs' types.
template <class F, class Out, class Indices, class... In>
struct Element;
template <class F, class Out, size_t... I, class... In>
struct Element<F, Out, std::index_sequence<I...>, In...> {
  static constexpr int kInputs = static_cast<int>(sizeof...(In));
  static constexpr int kPack = kPackSize<Out, In...>;
  Out* out;
  const void* in[sizeof...(In)];

  template <int N>
  __device__ void run(F& f, int64_t i, const Offsets<kInputs>& from) const {
    run_on<N>(f, i, load<In, N>(in[I], from.at[I], (from.moves >> I & 1u) != 0)...);
  }

  // Returns true if packs are aligned. Precondition: they begin at multiples of kPack.
  bool aligned(unsigned moves) const {
    return is_aligned<Out, kPack>(out) &&
           (((moves >> I & 1u) == 0 || is_aligned<In, kPack>(static_cast<const In*>(in[I]))) && ...);
  }

 private:
  template <int N>
  __device__ void run_on(F& f, int64_t i, const Pack<In, N>&... x) const {
    Pack<Out, N> result;
#pragma unroll
    for (int j = 0; j < N; ++j) result.v[j] = f(x.v[j]...);
    store(out, i, result);
  }
};

template <int N, class F, class Body, class How>
__global__ void __launch_bounds__(kThreads) run_elements(int64_t n, Body body, How how, Fault* fault) {
  F f;
  for_elements<N>(f, n, body, how);
  report(f, fault);
}

template <int N, class F, class Body, class How>
void launch_elements(CudaDevice& device, int64_t n, const Body& body, const How& how) {
  const DeviceUse stream = device.use();
  Fault* const fault = std::is_base_of_v<Faulty, F> ? device.fault() : nullptr;
  run_elements<N, F><<<grid_size(device, ceil_div(n, N)), kThreads, 0, stream>>>(n, body, how, fault);
  check(cudaGetLastError(), "starting a kernel");
}

// The same for inputs that are broadcast by `map`.
template <class F, class Body>
void launch_mapped(CudaDevice& device, int64_t n, const Body& body, const BroadcastMap<Body::kInputs>& map) {
  constexpr int kInputs = Body::kInputs;
  constexpr int kPack = Body::kPack;
  if (n > INT32_MAX) return launch_elements<1, F>(device, n, body, Mapped<kInputs, int64_t>(map));
  const Mapped<kInputs, uint32_t> how(map);
  const bool whole = has_whole_packs(map, kPack) && body.aligned(how.moves);
  if (whole) return launch_elements<kPack, F>(device, n, body, how);
  launch_elements<1, F>(device, n, body, how);
}

// Computes out[i] = F{}(in[i]...) with broadcasting. `in` are the call's inputs 0, 1, ...; `out` is its output 0.
template <class F, class Out, class... In, size_t... I>
void elementwise(KernelContext& c, std::index_sequence<I...>, Out* out, const In*... in) {
  const int64_t n = c.out_numel(0);
  if (n == 0) return;
  CudaDevice& device = device_of(c);
  using Body = Element<F, Out, std::index_sequence<I...>, In...>;
  const Body body{out, {in...}};
  if (((c.numel(I) == n || c.numel(I) == 1) && ...)) {
    const unsigned moves = ((c.numel(I) == n ? 1u << I : 0u) | ...);
    const Straight<Body::kInputs> how{moves};
    if (body.aligned(moves)) return launch_elements<Body::kPack, F>(device, n, body, how);
    if constexpr (Body::kInputs == 1) return launch_elements<1, F>(device, n, body, how);
  }
  if constexpr (Body::kInputs > 1) {
    BroadcastMap<Body::kInputs> map;
    make_broadcast_map<Body::kInputs>(c.out_shape(0), {&c.shape(I)...}, map);
    launch_mapped<F>(device, n, body, map);
  }
}

}  // namespace panto::cuda

namespace panto {

// The makers (device/kernel.h).

namespace cuda {
// F for elements of type T.
template <class F, class T>
using FunctorFor = std::conditional_t<is_half_type<T>, Rounded<F>, F>;
}  // namespace cuda

// A kernel that programs compiled at run time may contain, unless T is complex.
template <class F, class T>
Kernel elementwise_kernel(KernelFn run) {
  return {.run = run, .payload = is_complex_type<T> ? nullptr : &typeid(cuda::FunctorFor<F, T>)};
}

template <class F>
struct CudaUnary {
  template <class T>
  static Kernel kernel() {
    return elementwise_kernel<F, T>(&run<T>);
  }
  template <class T>
  static void run(KernelContext& c) {
    using Functor = cuda::FunctorFor<F, T>;
    using Out = decltype(Functor{}(T{}));
    cuda::elementwise<Functor>(c, std::make_index_sequence<1>{}, c.out_data<Out>(0), c.data<T>(0));
  }
};
template <class F>
inline constexpr CudaUnary<F> unary{};

template <class F>
struct CudaBinary {
  template <class T>
  static Kernel kernel() {
    return elementwise_kernel<F, T>(&run<T>);
  }
  template <class T>
  static void run(KernelContext& c) {
    using Functor = cuda::FunctorFor<F, T>;
    using Out = decltype(Functor{}(T{}, T{}));
    cuda::elementwise<Functor>(c, std::make_index_sequence<2>{}, c.out_data<Out>(0), c.data<T>(0), c.data<T>(1));
  }
};
template <class F>
inline constexpr CudaBinary<F> binary{};

// Input 0 is a mask.
template <class F>
struct CudaMasked {
  template <class T>
  static Kernel kernel() {
    return elementwise_kernel<F, T>(&run<T>);
  }
  template <class T>
  static void run(KernelContext& c) {
    cuda::elementwise<F>(c, std::make_index_sequence<3>{}, c.out_data<T>(0), c.data<bool>(0), c.data<T>(1),
                         c.data<T>(2));
  }
};
template <class F>
inline constexpr CudaMasked<F> masked{};

}  // namespace panto
