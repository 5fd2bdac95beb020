// Products of row-major matrices by cuBLAS. float32 is multiplied as float32 (no TF32), and results are the same on
// every run: all products of a device run one after the other on its stream.
#pragma once

#include <cstdint>

#include "panto/device/cuda/device.h"

namespace panto::cuda {

// c[m, n] = a[m, k] b[k, n], added to c if `accumulate`. `a` is stored as [k, m] if transpose_a, `b` as [n, k] if
// transpose_b. lda, ldb and ldc are the row strides in memory.
struct Product {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  int64_t lda = 0, ldb = 0, ldc = 0;
  bool accumulate = false;
  // Number of products in the batch, and the distances between their matrices.
  int64_t count = 1;
  int64_t step_a = 0, step_b = 0, step_c = 0;
};

// T: float or double. No size may be 0. Throws Internal or ResourceExhausted if cuBLAS fails.
template <class T>
void multiply(CudaDevice& device, const Product& product, const T* a, const T* b, T* c);
// The same with `count` addresses for each matrix, in the device's memory, instead of steps.
template <class T>
void multiply(CudaDevice& device, const Product& product, const T* const* a, const T* const* b, T* const* c);

extern template void multiply(CudaDevice&, const Product&, const float*, const float*, float*);
extern template void multiply(CudaDevice&, const Product&, const double*, const double*, double*);
extern template void multiply(CudaDevice&, const Product&, const float* const*, const float* const*, float* const*);
extern template void multiply(CudaDevice&, const Product&, const double* const*, const double* const*, double* const*);

}  // namespace panto::cuda
