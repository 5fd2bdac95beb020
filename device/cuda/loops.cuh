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
// Blocks for n threads that go on with a grid's stride.
inline unsigned grid_size(const CudaDevice& device, int64_t n) {
  const int64_t most = int64_t{device.multiprocessors()} * 128;
  return static_cast<unsigned>(std::min(ceil_div(n, kThreads), most));
}

// What a thread reads or writes at once.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T v[N];
};
// As many elements of the largest type as 16 bytes have.
template <class... T>
inline constexpr int kPackSize = static_cast<int>(std::min<size_t>(8, 16 / std::max({sizeof(T)...})));

template <class T, int N>
bool is_aligned(const T* data) {
  return reinterpret_cast<uintptr_t>(data) % (sizeof(T) * N) == 0;
}

// x / divisor by a multiplication, for x and divisors below 2^31 (Hacker's Delight, 10-9); a division for 64 bits.
template <class Index>
class Divisor {
 public:
  Divisor() = default;
  explicit Divisor(int64_t divisor) : divisor_(static_cast<Index>(divisor)) {
    if constexpr (sizeof(Index) == 4) {
      while ((uint64_t{1} << shift_) < divisor_) ++shift_;
      factor_ = static_cast<uint32_t>((((uint64_t{1} << shift_) - divisor_) << 32) / divisor_ + 1);
    }
  }
  __device__ Index quotient(Index x) const {
    if constexpr (sizeof(Index) == 4) {
      return (__umulhi(x, factor_) + x) >> shift_;
    } else {
      return x / divisor_;
    }
  }
  __device__ Index value() const { return divisor_; }

 private:
  Index divisor_ = 1;
  uint32_t factor_ = 0;
  uint32_t shift_ = 0;
};

// Where the inputs' parts of output elements i, i + 1, ... begin, and which inputs move with i.
template <int N>
struct Offsets {
  int64_t at[N];
  unsigned moves;
};

// Inputs with as many elements as the output, or one: bit k of `moves` tells which.
template <int N>
struct Straight {
  unsigned moves;
  __device__ Offsets<N> at(int64_t i) const {
    Offsets<N> result;
    result.moves = moves;
    for (int k = 0; k < N; ++k) result.at[k] = (moves >> k & 1u) != 0 ? i : 0;
    return result;
  }
};

// Broadcast inputs; dimensions as in BroadcastMap.
inline constexpr int kMaxMapRank = 16;
template <int N, class Index>
struct Mapped {
  int rank;
  unsigned moves;  // in the innermost dimension
  Divisor<Index> size[kMaxMapRank];
  Index stride[kMaxMapRank][N];

  explicit Mapped(const BroadcastMap<N>& map) : rank(map.rank), moves(0) {
    if (map.rank > kMaxMapRank) {
      fail(Code::kUnimplemented, "shapes: expected at most 16 dimensions that alternate in broadcasting, got more");
    }
    for (int k = 0; k < N; ++k) moves |= map.stride[0][k] != 0 ? 1u << k : 0u;
    for (int d = 0; d < rank; ++d) {
      size[d] = Divisor<Index>(map.size[d]);
      for (int k = 0; k < N; ++k) stride[d][k] = static_cast<Index>(map.stride[d][k]);
    }
  }
  __device__ Offsets<N> at(int64_t i) const {
    Index offset[N] = {};
    Index rest = static_cast<Index>(i);
    for (int d = 0; d < rank; ++d) {
      const Index next = d + 1 < rank ? size[d].quotient(rest) : 0;
      const Index index = rest - next * size[d].value();
      for (int k = 0; k < N; ++k) offset[k] += index * stride[d][k];
      rest = next;
    }
    Offsets<N> result;
    result.moves = moves;
    for (int k = 0; k < N; ++k) result.at[k] = static_cast<int64_t>(offset[k]);
    return result;
  }
};

template <class F>
__device__ void report(const F& f, Fault* fault) {
  if constexpr (std::is_base_of_v<Faulty, F>) {
    if (f.fault != Fault::kNone) *static_cast<volatile Fault*>(fault) = f.fault;
  }
}

// out[i] = f(in[i]...). A __global__ function cannot have two parameter packs, so the inputs' types are here.
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

  // Whether packs are where a thread can read them at once. Precondition: they begin at multiples of kPack.
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
    *reinterpret_cast<Pack<Out, N>*>(out + i) = result;
  }
  template <class T, int N>
  static __device__ Pack<T, N> load(const void* data, int64_t offset, bool moves) {
    const T* from = static_cast<const T*>(data) + offset;
    if (moves) return *reinterpret_cast<const Pack<T, N>*>(from);
    const T value = *from;
    Pack<T, N> result;
#pragma unroll
    for (int j = 0; j < N; ++j) result.v[j] = value;
    return result;
  }
};

// Elements in packs of N, and what is left over one by one.
template <int N, class F, class Body, class How>
__global__ void __launch_bounds__(kThreads) run_elements(int64_t n, Body body, How how, Fault* fault) {
  F f;
  const int64_t step = int64_t{blockDim.x} * gridDim.x;
  const int64_t first = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t packs = n / N;
  for (int64_t p = first; p < packs; p += step) body.template run<N>(f, p * N, how.at(p * N));
  for (int64_t i = packs * N + first; i < n; i += step) body.template run<1>(f, i, how.at(i));
  report(f, fault);
}

template <int N, class F, class Body, class How>
void launch_elements(CudaDevice& device, int64_t n, const Body& body, const How& how) {
  cudaStream_t stream = device.use();
  run_elements<N, F><<<grid_size(device, ceil_div(n, N)), kThreads, 0, stream>>>(n, body, how, device.fault());
  check(cudaGetLastError(), "starting a kernel");
}

// The same for inputs that broadcast as `map` says.
template <class F, class Body>
void launch_mapped(CudaDevice& device, int64_t n, const Body& body, const BroadcastMap<Body::kInputs>& map) {
  constexpr int kInputs = Body::kInputs;
  constexpr int kPack = Body::kPack;
  if (n > INT32_MAX) return launch_elements<1, F>(device, n, body, Mapped<kInputs, int64_t>(map));
  const Mapped<kInputs, uint32_t> how(map);
  // A pack must not go on in the next row, and every row must begin with one.
  bool whole = map.size[0] % kPack == 0 && body.aligned(how.moves);
  for (int d = 1; d < map.rank; ++d) {
    for (int k = 0; k < kInputs; ++k) whole = whole && ((how.moves >> k & 1u) == 0 || map.stride[d][k] % kPack == 0);
  }
  if (whole) return launch_elements<kPack, F>(device, n, body, how);
  launch_elements<1, F>(device, n, body, how);
}

// out[i] = F{}(in[i]...), inputs broadcast. `in` are the call's inputs 0, 1, ... and `out` its output 0.
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
