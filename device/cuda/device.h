// A GPU as a device: one stream for all of its work, blocks of memory kept for reuse (memory.h), and words of host
// memory in which kernels leave their faults (faults.h).
//
// Everything runs in the order in which it was asked for, on the device's one stream. That is what makes it right to
// hand out a freed block at once: whoever used it comes before whoever gets it. What is captured (capture.h) has no
// place in that order until it is launched: blocks that it gives back stay its own.
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

// Throws Internal (ResourceExhausted for lack of memory) with CUDA's text where `result` is an error.
void check(cudaError_t result, const char* what);

class CudaDevice;

// While it lives a GPU is the calling thread's current one; afterwards that is again the one before, which the thread's
// owner may have chosen. Begins to use the GPU where nobody did before. Stands for the stream to ask for work on: the
// device's, or what the thread captures to.
class DeviceUse {
 public:
  // Throws where the driver refuses.
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
    int before_ = -1;  // -1: the same
  };
  Current current_;
  cudaStream_t stream_ = nullptr;
};

class CudaDevice final : public Device {
 public:
  // Only asks for the properties: a GPU that nobody uses costs nothing. Throws where the driver refuses, and where the
  // GPU is older than what this library was compiled for.
  explicit CudaDevice(int index);

  std::string description() const override { return description_; }
  bool host_memory() const noexcept override { return false; }
  bool works() noexcept override;
  void* allocate(size_t bytes) override;
  void deallocate(void* data, size_t bytes) noexcept override;
  void copy_to_host(void* host, const void* data, size_t bytes) override;
  void copy_from_host(void* data, const void* host, size_t bytes) override;
  void copy_within(void* to, const void* from, size_t bytes) override;
  // Between GPUs: asked for on both, done meanwhile.
  void copy_from_device(void* to, Device& source, const void* from, size_t bytes) override;
  std::shared_ptr<DeviceEvent> record_event() override;
  void wait_for(DeviceEvent& event) override;
  // Null where the GPU cannot be used.
  void* stream() noexcept override;
  void synchronize() override;
  // Unless the environment has PANTO_CUDA_GRAPHS=0.
  bool captures() const noexcept override { return captures_; }
  std::unique_ptr<CapturedWork> capture(const Callable<void()>& work) override;
  bool capturing() const noexcept override;
  MemoryStats memory_stats() const override { return memory_.stats(); }
  void set_cache_limit(int64_t bytes) override;
  void trim() noexcept override;

  // Makes this the calling thread's GPU for a while.
  DeviceUse use() { return DeviceUse(*this); }
  // Memory as `allocate` gives it that does not belong to what the thread captures.
  void* allocate_uncaptured(size_t bytes);
  // Where kernels that the thread asks for write a Fault. Precondition: it uses the device.
  Fault* fault();
  int multiprocessors() const noexcept { return multiprocessors_; }
  // The compute capability: 90 for 9.0.
  int architecture() const noexcept { return architecture_; }

 private:
  friend class DeviceUse;

  CudaDevice(int index, const cudaDeviceProp& properties);
  void start();                 // precondition: this is the thread's GPU
  void probe();                 // throws where a kernel does not run
  void wait(const void* data);  // throws what this thread's kernels met with, or those of who made `data`
  // What a thread's kernels left on the GPUs that it copied from: this one's work came after theirs.
  Fault take_from_sources(uint64_t user);

  std::atomic<bool> started_ = false;
  std::mutex start_mutex_;
  cudaStream_t stream_ = nullptr;
  FaultWords faults_;
  std::mutex sources_mutex_;
  std::vector<std::pair<uint64_t, CudaDevice*>> sources_;  // a thread, and a GPU that it copied from since it waited
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
