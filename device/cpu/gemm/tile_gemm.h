// A matrix product of our own, on the calling thread: for the tiles of large products on processors with AVX2, for
// small matrices, where a library's entrance costs more than the work, and for integers, which no library here
// multiplies.
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

// Up to so many rows are multiplied while those of a large b are read, each to its end.
inline constexpr int64_t kRowsAtOnce = 16;
// Elements of four bytes (8 KiB): rows of b that are a multiple of it apart share few lines of a cache.
inline constexpr int64_t kFarApart = 2048;

// c[m, n] = a[m, k] b[k, n]; rows of `c` are `c_row` elements apart, and it overlaps neither factor. Every element of c
// is added up in the order of k, with fused multiply-adds where the processor has them, so its bits do not depend on
// the rest of the product. `done` hears of every rectangle of c once, when it is whole. T: float, double, uint32_t or
// uint64_t (signed integers go through the unsigned type: the product wraps). Throws ResourceExhausted where a large
// product finds no scratch memory.
template <class T>
void tile_gemm(int64_t m, int64_t n, int64_t k, const MatrixRef<T>& a, const MatrixRef<T>& b, T* c, int64_t c_row,
               const TileCallback& done = {});

// True where tile_gemm is at least as fast in floats as the libraries are on one thread, if the product is not narrow
// (measured on Zen 3). With AVX-512 oneDNN is ahead, without AVX2 too.
bool tile_gemm_is_fast();

}  // namespace panto::cpu
