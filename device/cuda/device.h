// A GPU as a device: one stream for all of its work, blocks of memory kept for reuse, and a word of host memory in
// which kernels leave their faults.
//
// Everything runs in the order in which it was asked for, on the device's one stream. That is what makes it right to
// hand out a freed block at once: whoever used it comes before whoever gets it. What is captured (capture.h) has no
// place in that order until it is launched: blocks that it gives back stay its own.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <mutex>
#include <vector>

#include "panto/device/fault.h"
#include "panto/device/size_class.h"
#include "panto/lib/core/call.h"
#include "panto/lib/core/device.h"

namespace panto::cuda {

// Throws Internal (ResourceExhausted for lack of memory) with CUDA's text where `result` is an error.
void check(cudaError_t result, const char* what);

class CudaDevice final : public Device {
 public:
  // Throws where the driver refuses.
  explicit CudaDevice(int index);

  std::string description() const override { return description_; }
  bool host_memory() const noexcept override { return false; }
  void* allocate(size_t bytes) override;
  void deallocate(void* data, size_t bytes) noexcept override;
  void copy_to_host(void* host, const void* data, size_t bytes) override;
  void copy_from_host(void* data, const void* host, size_t bytes) override;
  void copy_within(void* to, const void* from, size_t bytes) override;
  void* stream() noexcept override { return stream_; }
  void synchronize() override;
  // Where the environment has PANTO_CUDA_GRAPHS=1.
  bool captures() const noexcept override { return captures_; }
  std::unique_ptr<CapturedWork> capture(const Callable<void()>& work) override;
  bool capturing() const noexcept override;
  MemoryStats memory_stats() const override;
  void trim() noexcept override;

  // Makes this the calling thread's GPU; the stream to launch on: the device's, or what the thread captures to.
  cudaStream_t use();
  // Where kernels write a Fault; both addresses are of the same word.
  Fault* fault() const noexcept { return device_fault_; }
  int multiprocessors() const noexcept { return multiprocessors_; }
  // The compute capability: 90 for 9.0.
  int architecture() const noexcept { return architecture_; }

 private:
  void release_cached() noexcept;  // precondition: locked

  cudaStream_t stream_ = nullptr;
  Fault* host_fault_ = nullptr;
  Fault* device_fault_ = nullptr;
  int multiprocessors_ = 1;
  int architecture_ = 0;
  bool captures_ = false;
  std::string description_;

  mutable std::mutex mutex_;
  struct Class {
    std::vector<void*> free;
    size_t blocks = 0;  // free or not; `free` has room for them all, so that giving one back cannot fail
    size_t bytes = 0;   // of one block
  };
  std::array<Class, kSizeClasses> classes_;
  MemoryStats stats_;
};

// The device that a kernel runs on.
inline CudaDevice& device_of(const KernelContext& c) { return static_cast<CudaDevice&>(c.device()); }

}  // namespace panto::cuda
