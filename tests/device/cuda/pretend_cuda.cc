#include "panto/tests/device/cuda/pretend_cuda.h"

#include <cublas_v2.h>
#include <sys/mman.h>

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

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* /*code*/, cudaJitOption* /*options*/,
                                void** /*values*/, unsigned /*count*/, cudaLibraryOption* /*options*/,
                                void** /*values*/, unsigned /*count*/) {
  if (pretended_cuda().refused_libraries > 0) {
    --pretended_cuda().refused_libraries;
    return cudaErrorMemoryAllocation;
  }
  static int made = 0;
  *library = reinterpret_cast<cudaLibrary_t>(&made);
  return cudaSuccess;
}
cudaError_t cudaLibraryUnload(cudaLibrary_t /*library*/) { return cudaSuccess; }
cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* /*name*/) {
  *kernel = reinterpret_cast<cudaKernel_t>(library);
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* /*attributes*/, const void* /*function*/) { return cudaSuccess; }

// ---- cuBLAS --------------------------------------------------------------------------------------------------------

struct cublasContext {};

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
cublasStatus_t cublasSetStream(cublasHandle_t /*handle*/, cudaStream_t /*stream*/) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetWorkspace(cublasHandle_t /*handle*/, void* workspace, size_t bytes) {
  pretended_cuda().workspace = workspace;
  pretended_cuda().workspace_bytes = bytes;
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasGetStatusString(cublasStatus_t /*status*/) { return "pretended status"; }

namespace {
cublasStatus_t counted() {
  ++pretended_cuda().products;
  return CUBLAS_STATUS_SUCCESS;
}
}  // namespace

cublasStatus_t cublasSgemm_64(cublasHandle_t, cublasOperation_t, cublasOperation_t, int64_t, int64_t, int64_t,
                              const float*, const float*, int64_t, const float*, int64_t, const float*, float*,
                              int64_t) {
  return counted();
}
cublasStatus_t cublasDgemm_64(cublasHandle_t, cublasOperation_t, cublasOperation_t, int64_t, int64_t, int64_t,
                              const double*, const double*, int64_t, const double*, int64_t, const double*, double*,
                              int64_t) {
  return counted();
}
cublasStatus_t cublasSgemmBatched_64(cublasHandle_t, cublasOperation_t, cublasOperation_t, int64_t, int64_t, int64_t,
                                     const float*, const float* const[], int64_t, const float* const[], int64_t,
                                     const float*, float* const[], int64_t, int64_t) {
  return counted();
}
cublasStatus_t cublasDgemmBatched_64(cublasHandle_t, cublasOperation_t, cublasOperation_t, int64_t, int64_t, int64_t,
                                     const double*, const double* const[], int64_t, const double* const[], int64_t,
                                     const double*, double* const[], int64_t, int64_t) {
  return counted();
}
cublasStatus_t cublasSgemmStridedBatched_64(cublasHandle_t, cublasOperation_t, cublasOperation_t, int64_t, int64_t,
                                            int64_t, const float*, const float*, int64_t, long long int, const float*,
                                            int64_t, long long int, const float*, float*, int64_t, long long int,
                                            int64_t) {
  return counted();
}
cublasStatus_t cublasDgemmStridedBatched_64(cublasHandle_t, cublasOperation_t, cublasOperation_t, int64_t, int64_t,
                                            int64_t, const double*, const double*, int64_t, long long int,
                                            const double*, int64_t, long long int, const double*, double*, int64_t,
                                            long long int, int64_t) {
  return counted();
}
