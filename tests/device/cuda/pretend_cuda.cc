#include "panto/tests/device/cuda/pretend_cuda.h"

#include <cublas_v2.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "panto/device/cuda/device.h"

// What stands behind CUDA's handles.
struct CUstream_st {
  int device = 0;
  bool capturing = false;
  std::vector<std::function<void()>> kept = {};
};
struct CUevent_st {
  int device = 0;
};
struct CUgraph_st {
  std::vector<std::function<void()>> work;
};
struct CUgraphExec_st {
  std::vector<std::function<void()>> work;
};

namespace panto::test {
namespace {

thread_local int current = 0;

struct Blocks {
  std::mutex mutex;
  std::map<void*, std::pair<int, size_t>> all;  // device and bytes
};
Blocks& blocks() {
  static auto* shared = new Blocks;
  return *shared;
}

PretendedGpu& gpu_in_use() {
  PretendedGpu& gpu = pretended_cuda().gpus.at(static_cast<size_t>(current));
  gpu.in_use = true;
  return gpu;
}

cudaError_t ask(cudaStream_t stream, std::function<void()> work) {
  if (stream->capturing) {
    stream->kept.push_back(std::move(work));
  } else {
    work();
  }
  return cudaSuccess;
}

}  // namespace

PretendedCuda& pretended_cuda() {
  static auto* shared = new PretendedCuda;
  return *shared;
}

void launch(cudaStream_t stream, std::function<void()> kernel) {
  cuda::check(stream->device == current ? cudaSuccess : cudaErrorInvalidResourceHandle, "starting a kernel");
  cuda::check(gpu_in_use().runs_kernels ? cudaSuccess : cudaErrorNoKernelImageForDevice, "starting a kernel");
  static_cast<void>(ask(stream, std::move(kernel)));
}

}  // namespace panto::test

namespace panto::cuda {

void pass_on(Fault* from, Fault* to, cudaStream_t stream) {
  test::launch(stream, [=] {
    if (*from != Fault::kNone) *to = std::exchange(*from, Fault::kNone);
  });
}

}  // namespace panto::cuda

using panto::test::ask;
using panto::test::blocks;
using panto::test::current;
using panto::test::gpu_in_use;
using panto::test::pretended_cuda;

// ---- CUDA ----------------------------------------------------------------------------------------------------------

cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorNoKernelImageForDevice ? "no kernel image" : "pretended error";
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = static_cast<int>(pretended_cuda().gpus.size());
  return pretended_cuda().count_result;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = pretended_cuda().driver;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  const auto& gpu = pretended_cuda().gpus.at(static_cast<size_t>(device));
  if (!gpu.answers) return cudaErrorDevicesUnavailable;
  *properties = {};
  std::strcpy(properties->name, "pretended");
  properties->major = gpu.major;
  properties->minor = gpu.minor;
  properties->totalGlobalMem = gpu.memory;
  properties->multiProcessorCount = 4;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  current = device;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned /*flags*/) {
  static_cast<void>(gpu_in_use());
  if (pretended_cuda().refused_streams > 0) {
    --pretended_cuda().refused_streams;
    return cudaErrorMemoryAllocation;
  }
  *stream = new CUstream_st{.device = current};
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t /*stream*/) {
  ++pretended_cuda().host_waits;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned /*flags*/) {
  *event = new CUevent_st{.device = current};
  ++pretended_cuda().events;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  --pretended_cuda().events;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return event->device == stream->device ? cudaSuccess : cudaErrorInvalidResourceHandle;
}
cudaError_t cudaEventQuery(cudaEvent_t /*event*/) { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t /*event*/) {
  ++pretended_cuda().host_waits;
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
  pretended_cuda().stream_waits.emplace_back(stream->device, event->device);
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** data, size_t bytes) {
  const std::lock_guard lock(blocks().mutex);
  auto& gpu = gpu_in_use();
  if (bytes > gpu.memory - gpu.used) return cudaErrorMemoryAllocation;
  *data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (*data == MAP_FAILED) return cudaErrorUnknown;
  gpu.used += bytes;
  blocks().all[*data] = {current, bytes};
  return cudaSuccess;
}
cudaError_t cudaFree(void* data) {
  const std::lock_guard lock(blocks().mutex);
  const auto block = blocks().all.find(data);
  if (block == blocks().all.end() || block->second.first != current) return cudaErrorInvalidValue;
  const size_t bytes = block->second.second;
  gpu_in_use().used -= bytes;
  blocks().all.erase(block);
  return munmap(data, bytes) == 0 ? cudaSuccess : cudaErrorUnknown;
}
cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned /*flags*/) {
  *data = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* data) {
  std::free(data);
  return cudaSuccess;
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned /*flags*/) {
  *device = host;
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind /*kind*/, cudaStream_t stream) {
  return ask(stream, [=] { std::memcpy(to, from, bytes); });
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                cudaStream_t stream) {
  pretended_cuda().direct_copies.emplace_back(to_device, from_device);
  return ask(stream, [=] { std::memcpy(to, from, bytes); });
}
cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream) {
  return ask(stream, [=] { std::memset(data, value, bytes); });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode /*mode*/) {
  stream->capturing = true;
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = stream->capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  stream->capturing = false;
  *graph = new CUgraph_st{std::exchange(stream->kept, {})};
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* ready, cudaGraph_t graph, unsigned long long /*flags*/) {
  if (pretended_cuda().graph_result == cudaSuccess) *ready = new CUgraphExec_st{graph->work};
  return pretended_cuda().graph_result;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  return ask(stream, [graph] {
    for (const auto& work : graph->work) work();
  });
}

// ---- cuBLAS --------------------------------------------------------------------------------------------------------

struct cublasContext {
  cudaStream_t stream = nullptr;
};

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  // It has some memory of its own.
  constexpr size_t kBytes = size_t{1} << 20;
  const auto& gpu = gpu_in_use();
  if (gpu.memory - gpu.used < kBytes) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasContext;
  ++pretended_cuda().handles;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  --pretended_cuda().handles;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace(cublasHandle_t /*handle*/, void* workspace, size_t bytes) {
  pretended_cuda().workspace = workspace;
  pretended_cuda().workspace_bytes = bytes;
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasGetStatusString(cublasStatus_t /*status*/) { return "pretended status"; }

namespace {

// A product of two column-major matrices. cuBLAS reads alpha and beta when it is called, the matrices when its turn
// comes.
template <class T>
struct GemmOf {
  cublasOperation_t op_a, op_b;
  int64_t m, n, k;
  T alpha;
  int64_t lda, ldb;
  T beta;
  int64_t ldc;

  void run(const T* a, const T* b, T* c) const {
    const auto rows = static_cast<size_t>(m), inner = static_cast<size_t>(k);
    std::vector<double> factors(rows *
                                inner);  // column l of op(a) at l * m, so that the loops below are over neighbours
    for (int64_t l = 0; l < k; ++l) {
      for (int64_t i = 0; i < m; ++i) {
        factors[static_cast<size_t>(l * m + i)] =
            static_cast<double>(a[op_a == CUBLAS_OP_N ? i + l * lda : l + i * lda]);
      }
    }
    std::vector<double> sums(rows);
    for (int64_t j = 0; j < n; ++j) {
      std::ranges::fill(sums, 0.0);
      for (int64_t l = 0; l < k; ++l) {
        const auto y = static_cast<double>(b[op_b == CUBLAS_OP_N ? l + j * ldb : j + l * ldb]);
        const double* column = factors.data() + l * m;
        for (size_t i = 0; i < rows; ++i) sums[i] += column[i] * y;
      }
      for (int64_t i = 0; i < m; ++i) {
        T& result = c[i + j * ldc];
        result = static_cast<T>(alpha * static_cast<T>(sums[static_cast<size_t>(i)]) +
                                (beta == T{0} ? T{0} : beta * result));
      }
    }
  }
};

// Calls product(p) for each of `count`.
template <class Product>
cublasStatus_t multiply(cublasHandle_t handle, int64_t count, Product product) {
  ++pretended_cuda().products;
  static_cast<void>(ask(handle->stream, [=] {
    for (int64_t p = 0; p < count; ++p) product(p);
  }));
  return CUBLAS_STATUS_SUCCESS;
}

template <class T>
cublasStatus_t strided(cublasHandle_t handle, const GemmOf<T>& gemm, const T* a, int64_t step_a, const T* b,
                       int64_t step_b, T* c, int64_t step_c, int64_t count) {
  return multiply(handle, count, [=](int64_t p) { gemm.run(a + p * step_a, b + p * step_b, c + p * step_c); });
}
template <class T>
cublasStatus_t listed(cublasHandle_t handle, const GemmOf<T>& gemm, const T* const* a, const T* const* b, T* const* c,
                      int64_t count) {
  return multiply(handle, count, [=](int64_t p) { gemm.run(a[p], b[p], c[p]); });
}

}  // namespace

cublasStatus_t cublasSgemm_64(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int64_t m,
                              int64_t n, int64_t k, const float* alpha, const float* a, int64_t lda, const float* b,
                              int64_t ldb, const float* beta, float* c, int64_t ldc) {
  return strided<float>(handle, {op_a, op_b, m, n, k, *alpha, lda, ldb, *beta, ldc}, a, 0, b, 0, c, 0, 1);
}
cublasStatus_t cublasDgemm_64(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int64_t m,
                              int64_t n, int64_t k, const double* alpha, const double* a, int64_t lda, const double* b,
                              int64_t ldb, const double* beta, double* c, int64_t ldc) {
  return strided<double>(handle, {op_a, op_b, m, n, k, *alpha, lda, ldb, *beta, ldc}, a, 0, b, 0, c, 0, 1);
}
cublasStatus_t cublasSgemmBatched_64(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int64_t m,
                                     int64_t n, int64_t k, const float* alpha, const float* const a[], int64_t lda,
                                     const float* const b[], int64_t ldb, const float* beta, float* const c[],
                                     int64_t ldc, int64_t count) {
  return listed<float>(handle, {op_a, op_b, m, n, k, *alpha, lda, ldb, *beta, ldc}, a, b, c, count);
}
cublasStatus_t cublasDgemmBatched_64(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int64_t m,
                                     int64_t n, int64_t k, const double* alpha, const double* const a[], int64_t lda,
                                     const double* const b[], int64_t ldb, const double* beta, double* const c[],
                                     int64_t ldc, int64_t count) {
  return listed<double>(handle, {op_a, op_b, m, n, k, *alpha, lda, ldb, *beta, ldc}, a, b, c, count);
}
cublasStatus_t cublasSgemmStridedBatched_64(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                                            int64_t m, int64_t n, int64_t k, const float* alpha, const float* a,
                                            int64_t lda, long long int step_a, const float* b, int64_t ldb,
                                            long long int step_b, const float* beta, float* c, int64_t ldc,
                                            long long int step_c, int64_t count) {
  return strided<float>(handle, {op_a, op_b, m, n, k, *alpha, lda, ldb, *beta, ldc}, a, step_a, b, step_b, c, step_c,
                        count);
}
cublasStatus_t cublasDgemmStridedBatched_64(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                                            int64_t m, int64_t n, int64_t k, const double* alpha, const double* a,
                                            int64_t lda, long long int step_a, const double* b, int64_t ldb,
                                            long long int step_b, const double* beta, double* c, int64_t ldc,
                                            long long int step_c, int64_t count) {
  return strided<double>(handle, {op_a, op_b, m, n, k, *alpha, lda, ldb, *beta, ldc}, a, step_a, b, step_b, c, step_c,
                         count);
}
