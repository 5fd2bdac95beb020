#include "panto/device/cuda/device.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "panto/device/cuda/capture.h"
#include "panto/lib/base/format.h"

namespace panto::cuda {

void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) [[likely]]
    return;
  static_cast<void>(cudaGetLastError());  // so that the next call does not report it again
  failf(result == cudaErrorMemoryAllocation ? Code::kResourceExhausted : Code::kInternal,
        "{}: expected CUDA to do it, got '{}'", what, cudaGetErrorString(result));
}

CudaDevice::CudaDevice(int index) : Device(DeviceKind::kCuda, index) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "device properties");
  multiprocessors_ = properties.multiProcessorCount;
  architecture_ = 10 * properties.major + properties.minor;
  const char* graphs = std::getenv("PANTO_CUDA_GRAPHS");  // NOLINT(concurrency-mt-unsafe): read once
  captures_ = graphs != nullptr && std::string_view(graphs) == "1";
  description_ = fmt::format("{}, {} GiB, compute capability {}.{}", properties.name,
                             (properties.totalGlobalMem + (size_t{1} << 29)) >> 30, properties.major, properties.minor);
  stats_.bytes_limit = static_cast<int64_t>(properties.totalGlobalMem);
  check(cudaSetDevice(index), "choosing a device");
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  check(cudaHostAlloc(reinterpret_cast<void**>(&host_fault_), sizeof(Fault), cudaHostAllocMapped), "host memory");
  *host_fault_ = Fault::kNone;
  check(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device_fault_), host_fault_, 0), "host memory");
}

cudaStream_t CudaDevice::use() {
  check(cudaSetDevice(index()), "choosing a device");
  const Capture* capture = Capture::on(*this);
  return capture == nullptr ? stream_ : capture->stream();
}

void* CudaDevice::allocate(size_t bytes) {
  if (bytes > kLargestBlock) {
    failf(Code::kResourceExhausted, "memory: expected room for {} bytes on {}, got none", bytes, name());
  }
  const SizeClass size = size_class(bytes);
  const std::lock_guard lock(mutex_);
  Capture* capture = Capture::on(*this);
  if (capture != nullptr) {
    if (Capture::Block* block = capture->take(size.index)) {
      stats_.bytes_in_use += static_cast<int64_t>(bytes) - static_cast<int64_t>(block->bytes);
      block->bytes = bytes;
      return block->data;
    }
    capture->reserve();
  }
  Class& c = classes_[static_cast<size_t>(size.index)];
  void* data = nullptr;
  if (!c.free.empty()) {
    data = c.free.back();
    c.free.pop_back();
  } else {
    use();
    c.bytes = size.bytes;
    if (c.free.capacity() <= c.blocks) c.free.reserve(2 * c.blocks + 8);
    cudaError_t result = cudaMalloc(&data, c.bytes);
    if (result == cudaErrorMemoryAllocation) {
      static_cast<void>(cudaGetLastError());
      release_cached();
      result = cudaMalloc(&data, c.bytes);
    }
    if (result == cudaErrorMemoryAllocation) {
      static_cast<void>(cudaGetLastError());
      failf(Code::kResourceExhausted, "memory: expected room for {} bytes on {}, got none ({} bytes are in use)", bytes,
            name(), stats_.bytes_in_use);
    }
    check(result, "allocating memory");
    ++c.blocks;
    stats_.bytes_reserved += static_cast<int64_t>(c.bytes);
  }
  stats_.bytes_in_use += static_cast<int64_t>(bytes);
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.bytes_in_use);
  if (capture != nullptr) capture->allocated(data, bytes);
  return data;
}

void CudaDevice::deallocate(void* data, size_t bytes) noexcept {
  if (data == nullptr) return;
  if (Capture* capture = Capture::on(*this); capture != nullptr && capture->give_back(data)) return;
  const std::lock_guard lock(mutex_);
  stats_.bytes_in_use -= static_cast<int64_t>(bytes);
  classes_[static_cast<size_t>(size_class(bytes).index)].free.push_back(data);
}

// cudaFree waits for the work that may still use a block.
void CudaDevice::release_cached() noexcept {
  for (Class& c : classes_) {
    for (void* data : c.free) {
      static_cast<void>(cudaFree(data));
      stats_.bytes_reserved -= static_cast<int64_t>(c.bytes);
      --c.blocks;
    }
    c.free.clear();
  }
}

void CudaDevice::trim() noexcept {
  const std::lock_guard lock(mutex_);
  static_cast<void>(cudaSetDevice(index()));
  release_cached();
}

void CudaDevice::copy_to_host(void* host, const void* data, size_t bytes) {
  if (Capture* capture = Capture::on(*this)) capture->refuse("copying from the device");
  check(cudaMemcpyAsync(host, data, bytes, cudaMemcpyDeviceToHost, use()), "copying from the device");
  synchronize();
}

void CudaDevice::copy_from_host(void* data, const void* host, size_t bytes) {
  if (Capture* capture = Capture::on(*this)) capture->refuse("copying to the device");
  check(cudaMemcpyAsync(data, host, bytes, cudaMemcpyHostToDevice, use()), "copying to the device");
  // The caller may free or change `host` as soon as this returns, also if it is page-locked.
  check(cudaStreamSynchronize(stream_), "copying to the device");
}

void CudaDevice::copy_within(void* to, const void* from, size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, use()), "copying on the device");
}

std::unique_ptr<CapturedWork> CudaDevice::capture(const Callable<void()>& work) {
  Capture capture(*this);
  try {
    work();
  } catch (const Error&) {
    if (capture.valid()) throw;
    return nullptr;
  }
  return capture.end();
}

bool CudaDevice::capturing() const noexcept { return Capture::on(*this) != nullptr; }

void CudaDevice::synchronize() {
  if (Capture* capture = Capture::on(*this)) capture->refuse("waiting for the device");
  check(cudaStreamSynchronize(use()), "waiting for the device");
  // One of several threads that wait gets to throw it.
  const auto fault =
      static_cast<Fault>(__atomic_exchange_n(reinterpret_cast<uint32_t*>(host_fault_), uint32_t{0}, __ATOMIC_RELAXED));
  if (fault != Fault::kNone) throw_fault(fault);
}

MemoryStats CudaDevice::memory_stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

namespace {

void add_devices() {
  int count = 0;
  // Without a driver or a GPU there is nothing to add, and nothing to complain about.
  if (cudaGetDeviceCount(&count) != cudaSuccess) return;
  for (int i = 0; i < count; ++i) add_device(new CudaDevice(i));
}

}  // namespace
}  // namespace panto::cuda

// libpanto calls this when it has opened the library (lib/core/device.cc).
extern "C" PANTO_EXPORT void panto_start_backend() { panto::cuda::add_devices(); }
