// For kernels that move elements and do not look at them: types by the size of an element, and how much a thread moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "panto/device/cuda/elementwise/loops.cuh"
#include "panto/device/kernel.h"
#include "panto/lib/base/checked.h"

namespace panto::cuda {

inline constexpr int kEach = 4;  // elements of a thread, all read before the first is written
inline constexpr int kBlock = kThreads * kEach;

// Of 16 bytes the type that is read and written by one instruction.
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

// The largest size of an element, in bytes, that divides everything that is or-ed together in `bytes`: addresses,
// distances, lengths.
inline size_t widest_element(uint64_t bytes) {
  const uint64_t bits = bytes | 16;
  return static_cast<size_t>(bits & (~bits + 1));
}

// Numbers below this go by 32-bit indices.
inline constexpr int64_t kIndex32 = int64_t{1} << 31;

// For kernels without a loop over the grid.
inline unsigned blocks_for(int64_t n, int64_t each) {
  return static_cast<unsigned>(checked_cast<int>(ceil_div(n, each), "number of blocks of a kernel"));
}

}  // namespace panto::cuda
