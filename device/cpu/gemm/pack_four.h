// Packs four columns of a matrix side by side. Uses generic vectors, so that it is compiled for the instruction set of
// the function that it is inlined into.
#pragma once

#include <cstdint>

#include "panto/device/cpu/gemm/tile_gemm.h"
#include "panto/device/cpu/vector.h"

namespace panto::cpu {

// packed[p * step + i] = x(p, i) for four columns of x, whose rows are next to each other.
template <class T>
[[gnu::always_inline]] inline void pack_four(MatrixRef<T> x, int64_t depth, int64_t step, T* packed) {
  int64_t p = 0;
  if constexpr (sizeof(T) == 4) {
    using V = typename Vector<T, 16>::type;
    using Loose = typename Vector<T, 16>::loose;
    for (; p + 4 <= depth; p += 4) {
      V in[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) in[i] = *reinterpret_cast<const Loose*>(x.data + p + i * x.column);
      const V low01 = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5);
      const V low23 = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5);
      const V high01 = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7);
      const V high23 = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
      T* out = packed + p * step;
      *reinterpret_cast<Loose*>(out) = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
      *reinterpret_cast<Loose*>(out + step) = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
      *reinterpret_cast<Loose*>(out + 2 * step) = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
      *reinterpret_cast<Loose*>(out + 3 * step) = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
    }
  }
  for (; p < depth; ++p) {
    for (int64_t i = 0; i < 4; ++i) packed[p * step + i] = x.data[p + i * x.column];
  }
}

}  // namespace panto::cpu
