// A GPU as a device: one stream for all of its work, a cache of memory blocks (memory.h), and words of host memory to
// which kernels write their faults (faults.h).
//
// All work runs in the order in which it was enqueued, on the device's one stream. Therefore a freed block can be
// reused at once: the old work on it runs before the new. Captured work (capture.h) has no place in that order until it
// is launched, so blocks that it frees stay its own.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "panto/device/cuda/faults.h"
#include "panto/device/cuda/memory.h"
#include "panto/device/fault.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/device.h"

namespace panto::cuda {

// Throws Internal (ResourceExhausted for lack of memory) with CUDA's text if `result` is an error.
void check(cudaError_t result, const char* what);

class CudaDevice;

// Makes a GPU the calling thread's current one during its lifetime, and afterwards restores the previous one, which the
// application may have chosen. Starts the GPU on first use. Converts to the stream on which to enqueue work: the
// device's, or the one to which the thread captures.
class DeviceUse {
 public:
  // Throws if the driver fails.
  explicit DeviceUse(CudaDevice& device);
  DeviceUse(const DeviceUse&) = delete;
  DeviceUse& operator=(const DeviceUse&) = delete;
  operator cudaStream_t() const noexcept { return stream_; }  // NOLINT(google-explicit-constructor)

 private:
  class Current {
   public:
    explicit Current(int device);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    int before_ = -1;  // -1: no change
  };
  Current current_;
  cudaStream_t stream_ = nullptr;
};

class CudaDevice final : public Device {
 public:
  // Only queries the properties: an unused GPU costs nothing. Throws if the driver fails, or if the GPU is older than
  // what this library was compiled for.
  explicit CudaDevice(int index);

  std::string description() const override { return description_; }
  bool host_memory() const noexcept override { return false; }
  bool works() noexcept override;
  void* allocate(size_t bytes) override;
  void deallocate(void* data, size_t bytes) noexcept override;
  void copy_to_host(void* host, const void* data, size_t bytes) override;
  void copy_from_host(void* data, const void* host, size_t bytes) override;
  void copy_within(void* to, const void* from, size_t bytes) override;
  // Between GPUs: asynchronous on both.
  void copy_from_device(void* to, Device& source, const void* from, size_t bytes) override;
  std::shared_ptr<DeviceEvent> record_event() override;
  void wait_for(DeviceEvent& event) override;
  // Returns null if the GPU cannot be used.
  void* stream() noexcept override;
  void synchronize() override;
  // True unless the environment has PANTO_CUDA_GRAPHS=0.
  bool captures() const noexcept override { return captures_; }
  std::unique_ptr<CapturedWork> capture(const Callable<void()>& work) override;
  bool capturing() const noexcept override;
  MemoryStats memory_stats() const override { return memory_.stats(); }
  void set_cache_limit(int64_t bytes) override;
  void trim() noexcept override;

  // Makes this the calling thread's GPU for the lifetime of the result.
  DeviceUse use() { return DeviceUse(*this); }
  // As `allocate`, but the memory does not belong to the thread's capture.
  void* allocate_uncaptured(size_t bytes);
  // Returns the word to which this thread's kernels write a Fault.
  Fault* fault();
  int multiprocessors() const noexcept { return multiprocessors_; }
  // The compute capability: 90 for 9.0.
  int architecture() const noexcept { return architecture_; }

 private:
  friend class DeviceUse;

  CudaDevice(int index, const cudaDeviceProp& properties);
  void start();                 // precondition: this is the thread's GPU
  void probe();                 // throws if a kernel does not run
  void wait(const void* data);  // throws the fault of this thread's kernels, or of the thread that allocated `data`
  // Takes the thread's faults on the GPUs from which it copied; their work ran before this GPU's.
  Fault take_from_sources(uint64_t user);

  std::atomic<bool> started_ = false;
  std::mutex start_mutex_;
  cudaStream_t stream_ = nullptr;
  FaultWords faults_;
  std::mutex sources_mutex_;
  std::vector<std::pair<uint64_t, CudaDevice*>> sources_;  // a thread, and a GPU it copied from since it waited
  std::once_flag probed_;
  bool works_ = false;
  int multiprocessors_ = 1;
  int architecture_ = 0;
  bool captures_ = false;
  std::string description_;
  Memory memory_;
};

// The device that a kernel runs on.
inline CudaDevice& device_of(const KernelContext& c) { return static_cast<CudaDevice&>(c.device()); }

}  // namespace panto::cuda
