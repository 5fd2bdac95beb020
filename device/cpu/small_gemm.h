// A matrix product of our own: for small matrices, where a library's entrance costs more than the work, and for
// integers, which no library here multiplies.
#pragma once

#include <cstdint>

namespace panto::cpu {

// A matrix of any layout: element (i, j) is data[i * row + j * column].
template <class T>
struct MatrixRef {
  const T* data;
  int64_t row, column;
};

// c[m, n] = a[m, k] b[k, n]; `c` is contiguous and overlaps neither. Runs on the calling thread. Every element of c is
// added up in the order of k, with fused multiply-adds where the processor has them. T: float, double, uint32_t or
// uint64_t (signed integers go through the unsigned type: the product wraps).
template <class T>
void small_gemm(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b, T* c);

}  // namespace panto::cpu
