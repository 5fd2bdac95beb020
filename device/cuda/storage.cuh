// For kernels that only move elements: types by element size, and how much a thread moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "panto/device/cuda/elementwise/loops.cuh"
#include "panto/device/kernel.h"
#include "panto/lib/base/checked.h"

namespace panto::cuda {

inline constexpr int kEach = 4;  // elements per thread, all read before the first is written
inline constexpr int kBlock = kThreads * kEach;

// For 16 bytes, the type that one instruction reads or writes.
template <size_t Size>
using Storage = std::conditional_t<Size == 16, uint4, UnsignedOfSize<Size>>;

// Calls f<Storage<size>>().
template <class F>
void with_storage(size_t size, F&& f) {
  switch (size) {
    case 1: return f.template operator()<Storage<1>>();
    case 2: return f.template operator()<Storage<2>>();
    case 4: return f.template operator()<Storage<4>>();
    case 8: return f.template operator()<Storage<8>>();
    case 16: return f.template operator()<Storage<16>>();
    default: fail(Code::kInternal, "element: expected a size of 1, 2, 4, 8 or 16, got another one");
  }
}

// Returns the largest element size, at most 16 bytes, that divides all addresses, strides and lengths or-ed together in
// `bytes`.
inline size_t widest_element(uint64_t bytes) {
  const uint64_t bits = bytes | 16;
  return static_cast<size_t>(bits & (~bits + 1));
}

// Below this, kernels use 32-bit indices.
inline constexpr int64_t kIndex32 = int64_t{1} << 31;

// The most dimensions of more than one element that a tensor has whose indices are of this type.
template <class Index>
inline constexpr int kMostDims = 64;
template <>
inline constexpr int kMostDims<uint32_t> = 32;

// For kernels without a loop over the grid.
inline unsigned blocks_for(int64_t n, int64_t each) {
  return static_cast<unsigned>(checked_cast<int>(ceil_div(n, each), "number of blocks of a kernel"));
}

}  // namespace panto::cuda
