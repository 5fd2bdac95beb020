// Our own matrix product, on the calling thread. It serves the tiles of large products on processors with AVX2, small
// matrices, where a library call's overhead exceeds the work, and integers, which no library here multiplies.
#pragma once

#include <cstdint>

#include "panto/device/cpu/gemm/tile_callback.h"

namespace panto::cpu {

// A matrix of any layout: element (i, j) is data[i * row + j * column].
template <class T>
struct MatrixRef {
  const T* data;
  int64_t row, column;
};

// Up to this many rows of `a` are multiplied while the rows of a large `b` are read once, each to its end.
inline constexpr int64_t kRowsAtOnce = 16;
// In elements of four bytes (8 KiB): rows of b whose distance is a multiple of this map to few cache lines.
inline constexpr int64_t kFarApart = 2048;

// c[m, n] = a[m, k] b[k, n]. Rows of `c` are `c_row` elements apart; c overlaps neither factor. Every element of c is
// added up in the order of k, with fused multiply-adds if the processor has them, so its bits do not depend on the rest
// of the product. `done` is called once for every rectangle of c, when it is finished. T: float, double, uint32_t or
// uint64_t (signed integers use the unsigned type: the product wraps). Throws ResourceExhausted if there is no scratch
// memory for a large product.
template <class T>
void tile_gemm(int64_t m, int64_t n, int64_t k, const MatrixRef<T>& a, const MatrixRef<T>& b, T* c, int64_t c_row,
               const TileCallback& done = {});

// True if tile_gemm is at least as fast for floats as the libraries are on one thread, unless the product is narrow
// (measured on Zen 3). oneDNN is faster with AVX-512 and without AVX2.
bool tile_gemm_is_fast();

}  // namespace panto::cpu
