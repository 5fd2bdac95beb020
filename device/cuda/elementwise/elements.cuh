// How threads find, read and write the elements of elementwise kernels, both those in .cu files (loops.cuh) and those
// compiled at run time (fused_source.h). NVRTC compiles this file too, without the host code.
#pragma once

#ifndef __CUDACC_RTC__
#include <algorithm>

#include "panto/device/shape/broadcast.h"
#include "panto/lib/base/error.h"
#endif

#include <cstdint>
#include <type_traits>

#include "panto/device/math/rare_functors.h"

namespace panto::cuda {

inline constexpr int kThreads = 256;

// The elements that a thread reads or writes at once.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T v[N];
};

// Returns N elements from `offset` on; if the input does not move, N copies of one element.
template <class T, int N>
__device__ Pack<T, N> load(const void* data, int64_t offset, bool moves) {
  const T* from = static_cast<const T*>(data) + offset;
  if (moves) return *reinterpret_cast<const Pack<T, N>*>(from);
  const T value = *from;
  Pack<T, N> result;
#pragma unroll
  for (int j = 0; j < N; ++j) result.v[j] = value;
  return result;
}
template <class T, int N>
__device__ void store(void* data, int64_t offset, const Pack<T, N>& values) {
  *reinterpret_cast<Pack<T, N>*>(static_cast<T*>(data) + offset) = values;
}

// Divides by a multiplication, for x and divisors below 2^31 (Hacker's Delight, 10-9); 64-bit indices are divided.
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

// The inputs' offsets for output elements i, i + 1, ..., and which inputs advance with i: bit k for input k, at most
// 32.
template <int N>
struct Offsets {
  int64_t at[N];
  unsigned moves;
};

// For inputs with as many elements as the output, or one element.
template <int N>
struct Straight {
  unsigned moves;
  __device__ Offsets<N> at(int64_t i) const {
    Offsets<N> result;
    result.moves = moves;
#pragma unroll
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

#ifndef __CUDACC_RTC__
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
#endif
  __device__ Offsets<N> at(int64_t i) const {
    Index offset[N] = {};
    Index rest = static_cast<Index>(i);
    for (int d = 0; d < rank; ++d) {
      const Index next = d + 1 < rank ? size[d].quotient(rest) : 0;
      const Index index = rest - next * size[d].value();
#pragma unroll
      for (int k = 0; k < N; ++k) offset[k] += index * stride[d][k];
      rest = next;
    }
    Offsets<N> result;
    result.moves = moves;
#pragma unroll
    for (int k = 0; k < N; ++k) result.at[k] = static_cast<int64_t>(offset[k]);
    return result;
  }
};

#ifndef __CUDACC_RTC__
// Returns true if packs of `pack` elements can be read along the innermost dimension: no pack spans two rows, and every
// row begins with a pack.
template <int N>
bool has_whole_packs(const BroadcastMap<N>& map, int pack) {
  if (map.size[0] % pack != 0) return false;
  for (int d = 1; d < map.rank; ++d) {
    for (int k = 0; k < N; ++k) {
      if (map.stride[0][k] != 0 && map.stride[d][k] % pack != 0) return false;
    }
  }
  return true;
}
#endif

// Calls body.run<N>(f, i, offsets) for this thread's elements in packs of N, and run<1> for the remaining ones.
template <int N, class F, class Body, class How>
__device__ void for_elements(F& f, int64_t n, const Body& body, const How& how) {
  const int64_t step = int64_t{blockDim.x} * gridDim.x;
  const int64_t first = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t packs = n / N;
  for (int64_t p = first; p < packs; p += step) body.template run<N>(f, p * N, how.at(p * N));
  for (int64_t i = packs * N + first; i < n; i += step) body.template run<1>(f, i, how.at(i));
}

// Writes a functor's fault, if it has one, to `fault`.
template <class F>
__device__ void report(const F& f, Fault* fault) {
  if constexpr (std::is_base_of_v<Faulty, F>) {
    if (f.fault != Fault::kNone) *static_cast<volatile Fault*>(fault) = f.fault;
  }
}

}  // namespace panto::cuda
