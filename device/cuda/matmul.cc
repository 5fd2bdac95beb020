// MatMul by cuBLAS.
#include <cublas_v2.h>

#include <vector>

#include "panto/device/cuda/device.h"
#include "panto/device/cuda/kernel.h"
#include "panto/lib/base/format.h"

namespace panto {
namespace {

void check_blas(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) [[likely]]
    return;
  failf(status == CUBLAS_STATUS_ALLOC_FAILED ? Code::kResourceExhausted : Code::kInternal,
        "matrix product: expected cuBLAS to do it, got '{}'", cublasGetStatusString(status));
}

// One handle for each device, made at its first product. A handle must not be used by two threads at once.
class Handles {
 public:
  std::mutex mutex;
  // Precondition: locked, and the device is the thread's own.
  cublasHandle_t get(cuda::CudaDevice& device) {
    const auto at = static_cast<size_t>(device.index());
    if (at >= handles_.size()) handles_.resize(at + 1, nullptr);
    if (handles_[at] == nullptr) {
      check_blas(cublasCreate(&handles_[at]));
      check_blas(cublasSetStream(handles_[at], static_cast<cudaStream_t>(device.stream())));
    }
    return handles_[at];
  }

 private:
  std::vector<cublasHandle_t> handles_;
};

Handles& handles() {
  static auto* all = new Handles;  // leaked on purpose: the driver may be gone before static objects are
  return *all;
}

cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int64_t m, int64_t n,
                    int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb, float* c) {
  const float one = 1;
  const float zero = 0;
  return cublasSgemm_64(handle, op_a, op_b, m, n, k, &one, a, lda, b, ldb, &zero, c, m);
}
cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int64_t m, int64_t n,
                    int64_t k, const double* a, int64_t lda, const double* b, int64_t ldb, double* c) {
  const double one = 1;
  const double zero = 0;
  return cublasDgemm_64(handle, op_a, op_b, m, n, k, &one, a, lda, b, ldb, &zero, c, m);
}

template <class T>
void run_matmul(KernelContext& c) {
  const bool transpose_a = c.flag("transpose_a");
  const bool transpose_b = c.flag("transpose_b");
  const int64_t m = c.out_shape(0).dim(0);
  const int64_t n = c.out_shape(0).dim(1);
  const int64_t k = c.shape(0).dim(transpose_a ? 0 : 1);
  if (m == 0 || n == 0) return;
  cuda::CudaDevice& device = cuda::device_of(c);
  cudaStream_t stream = device.use();
  T* out = c.out_data<T>(0);
  if (k == 0) {
    cuda::check(cudaMemsetAsync(out, 0, static_cast<size_t>(m * n) * sizeof(T), stream), "filling with zeros");
    return;
  }
  const auto op = [](bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; };
  // cuBLAS reads matrices by columns: what it sees of ours are their transposes, and (a b)' = b' a'.
  Handles& all = handles();
  const std::lock_guard lock(all.mutex);
  check_blas(gemm(all.get(device), op(transpose_b), op(transpose_a), n, m, k, c.data<T>(1), c.shape(1).dim(1),
                  c.data<T>(0), c.shape(0).dim(1), out));
}

const CudaKernel matmul_kernel("MatMul", types::floating{}, []<class T>(KernelContext& c) { run_matmul<T>(c); });

}  // namespace
}  // namespace panto
