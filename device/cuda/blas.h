// Matrix products by cuBLAS, of matrices that lie by rows. Numbers of 32 bits are multiplied as such (no TF32), and
// results are the same on every run: all products of a device are one after the other on its stream.
#pragma once

#include <cstdint>

#include "panto/device/cuda/device.h"

namespace panto::cuda {

// c[m, n] = a[m, k] b[k, n], or what was there plus this; `a` lies in memory as [k, m] if transpose_a, `b` as [n, k] if
// transpose_b. From row to row, as they lie in memory, it is lda, ldb and ldc elements.
struct Product {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  int64_t lda = 0, ldb = 0, ldc = 0;
  bool accumulate = false;
  // As many products, whose matrices are this far apart.
  int64_t count = 1;
  int64_t step_a = 0, step_b = 0, step_c = 0;
};

// T: float or double. No size may be 0. Throws Internal or ResourceExhausted where cuBLAS fails.
template <class T>
void multiply(CudaDevice& device, const Product& product, const T* a, const T* b, T* c);
// The same, where `count` addresses for each matrix, in the device's memory, take the place of steps.
template <class T>
void multiply(CudaDevice& device, const Product& product, const T* const* a, const T* const* b, T* const* c);

extern template void multiply(CudaDevice&, const Product&, const float*, const float*, float*);
extern template void multiply(CudaDevice&, const Product&, const double*, const double*, double*);
extern template void multiply(CudaDevice&, const Product&, const float* const*, const float* const*, float* const*);
extern template void multiply(CudaDevice&, const Product&, const double* const*, const double* const*, double* const*);

}  // namespace panto::cuda
