#include "panto/device/cuda/blas.h"

#include <cublas_v2.h>

#include <type_traits>
#include <vector>

#include "panto/lib/base/text/format.h"

namespace panto::cuda {
namespace {

void check_blas(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) [[likely]]
    return;
  failf(status == CUBLAS_STATUS_ALLOC_FAILED ? Code::kResourceExhausted : Code::kInternal,
        "matrix product: expected cuBLAS to do it, got '{}'", cublasGetStatusString(status));
}

// Returns body()'s status. If it failed for lack of memory, releases the device's cached memory, which cuBLAS and the
// driver cannot use, and tries once more.
template <class Body>
cublasStatus_t with_memory(CudaDevice& device, const Body& body) {
  const cublasStatus_t status = body();
  if (status != CUBLAS_STATUS_ALLOC_FAILED && status != CUBLAS_STATUS_NOT_INITIALIZED) [[likely]]
    return status;
  static_cast<void>(cudaGetLastError());  // so that the next call does not report it again
  device.trim();
  return body();
}

// One handle for each device, made at its first product. A handle must not be used by two threads at once.
class Handles {
 public:
  std::mutex mutex;
  // Preconditions: `mutex` is locked; the device is the thread's current one, and `stream` the stream to use.
  cublasHandle_t get(CudaDevice& device, cudaStream_t stream) {
    const auto at = static_cast<size_t>(device.index());
    if (at >= handles_.size()) handles_.resize(at + 1);
    Handle& h = handles_[at];
    if (h.blas == nullptr) make(h, device);
    if (h.stream != stream) {
      check_blas(cublasSetStream(h.blas, stream));  // resets the workspace
      check_blas(cublasSetWorkspace(h.blas, h.workspace, h.bytes));
      h.stream = stream;
    }
    return h.blas;
  }

 private:
  struct Handle {
    cublasHandle_t blas = nullptr;
    cudaStream_t stream = nullptr;
    void* workspace = nullptr;
    size_t bytes = 0;
  };

  // Sets all of `h` or throws.
  static void make(Handle& h, CudaDevice& device) {
    cublasHandle_t blas = nullptr;
    check_blas(with_memory(device, [&] { return cublasCreate(&blas); }));
    // cuBLAS's own default size. Allocated here because captured products must not use memory that cuBLAS frees.
    const size_t bytes = size_t{device.architecture() >= 90 ? 32u : 4u} << 20;
    void* workspace = nullptr;
    try {
      workspace = device.allocate_uncaptured(bytes);
    } catch (...) {
      static_cast<void>(cublasDestroy(blas));
      throw;
    }
    h = {.blas = blas, .stream = nullptr, .workspace = workspace, .bytes = bytes};
  }

  std::vector<Handle> handles_;
};

Handles& handles() {
  static auto* all = new Handles;  // leaked on purpose: the driver may be gone before static objects are
  return *all;
}

cublasOperation_t operation(bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; }

// Calls body(handle) with the device in use by this thread, and checks the status that it returns.
template <class Body>
void with_handle(CudaDevice& device, const Body& body) {
  Handles& all = handles();
  const std::lock_guard lock(all.mutex);
  const DeviceUse stream = device.use();
  cublasHandle_t handle = all.get(device, stream);
  check_blas(with_memory(device, [&] { return body(handle); }));
}

}  // namespace

// cuBLAS is column-major: it sees the transposes of our matrices, and (a b)' = b' a'.

template <class T>
void multiply(CudaDevice& device, const Product& p, const T* a, const T* b, T* c) {
  const T one = 1;
  const T beta = p.accumulate ? T{1} : T{0};
  const cublasOperation_t op_a = operation(p.transpose_a), op_b = operation(p.transpose_b);
  with_handle(device, [&](cublasHandle_t handle) {
    if constexpr (std::is_same_v<T, float>) {
      if (p.count == 1) {
        return cublasSgemm_64(handle, op_b, op_a, p.n, p.m, p.k, &one, b, p.ldb, a, p.lda, &beta, c, p.ldc);
      }
      return cublasSgemmStridedBatched_64(handle, op_b, op_a, p.n, p.m, p.k, &one, b, p.ldb, p.step_b, a, p.lda,
                                          p.step_a, &beta, c, p.ldc, p.step_c, p.count);
    } else {
      if (p.count == 1) {
        return cublasDgemm_64(handle, op_b, op_a, p.n, p.m, p.k, &one, b, p.ldb, a, p.lda, &beta, c, p.ldc);
      }
      return cublasDgemmStridedBatched_64(handle, op_b, op_a, p.n, p.m, p.k, &one, b, p.ldb, p.step_b, a, p.lda,
                                          p.step_a, &beta, c, p.ldc, p.step_c, p.count);
    }
  });
}

template <class T>
void multiply(CudaDevice& device, const Product& p, const T* const* a, const T* const* b, T* const* c) {
  const T one = 1;
  const T beta = p.accumulate ? T{1} : T{0};
  const cublasOperation_t op_a = operation(p.transpose_a), op_b = operation(p.transpose_b);
  with_handle(device, [&](cublasHandle_t handle) {
    if constexpr (std::is_same_v<T, float>) {
      return cublasSgemmBatched_64(handle, op_b, op_a, p.n, p.m, p.k, &one, b, p.ldb, a, p.lda, &beta, c, p.ldc,
                                   p.count);
    } else {
      return cublasDgemmBatched_64(handle, op_b, op_a, p.n, p.m, p.k, &one, b, p.ldb, a, p.lda, &beta, c, p.ldc,
                                   p.count);
    }
  });
}

template void multiply(CudaDevice&, const Product&, const float*, const float*, float*);
template void multiply(CudaDevice&, const Product&, const double*, const double*, double*);
template void multiply(CudaDevice&, const Product&, const float* const*, const float* const*, float* const*);
template void multiply(CudaDevice&, const Product&, const double* const*, const double* const*, double* const*);

}  // namespace panto::cuda
