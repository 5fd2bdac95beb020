// Captures a thread's work on a GPU: the work goes to a stream of its own, which records it as a CUDA graph.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "panto/device/fault.h"
#include "panto/lib/core/tensor/device.h"

namespace panto::cuda {

class CudaDevice;

// From construction until end() or destruction, captures this thread's work for the device.
class Capture {
 public:
  // Memory that belongs to the captured work.
  struct Block {
    void* data;
    size_t bytes;  // as requested
    bool free;
  };

  // Precondition: this thread captures nothing.
  explicit Capture(CudaDevice& device);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // Returns this thread's capture on that device; null if there is none.
  static Capture* on(const CudaDevice& device) noexcept;

  cudaStream_t stream() const noexcept { return stream_; }
  // Returns the word for faults of the captured work: its own, as any thread may launch the work. Throws if there is no
  // memory.
  Fault* fault();
  // Throws Unimplemented: captured work cannot do `what`.
  [[noreturn]] void refuse(const char* what);
  // Returns false once something was refused, by `refuse` or by CUDA: the capture then yields no graph.
  bool valid() const noexcept;
  // Ends the capture. Returns null if it is not valid.
  std::unique_ptr<CapturedWork> end();

  // For the device's allocator. Returns a block of this size class that was given back; null if there is none. The
  // caller sets its `bytes`.
  Block* take(int size_class) noexcept;
  void reserve() { blocks_.reserve(blocks_.size() + 1); }
  // Precondition: reserve() was called since the last one.
  void allocated(void* data, size_t bytes) noexcept { blocks_.push_back({data, bytes, false}); }
  // Returns false if the block does not belong to the capture.
  bool give_back(void* data) noexcept;

 private:
  cudaGraph_t stop() noexcept;

  CudaDevice& device_;
  cudaStream_t stream_ = nullptr;
  bool refused_ = false;
  std::vector<Block> blocks_;
  void* fault_ = nullptr;  // allocated by the device
};

}  // namespace panto::cuda
