// Work that a thread captures on a GPU: it goes to a stream of its own, which keeps it, and comes out as a CUDA graph.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "panto/device/fault.h"
#include "panto/lib/core/tensor/device.h"

namespace panto::cuda {

class CudaDevice;

// From its making until its end() or destruction this thread's work for the device is captured.
class Capture {
 public:
  // Memory that captured work has for itself.
  struct Block {
    void* data;
    size_t bytes;  // as they were asked for
    bool free;
  };

  // Precondition: this thread captures nothing.
  explicit Capture(CudaDevice& device);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // What this thread captures on that device; null: nothing.
  static Capture* on(const CudaDevice& device) noexcept;

  cudaStream_t stream() const noexcept { return stream_; }
  // Where what is captured leaves its faults: a word of its own, as anybody may launch it. Throws where there is no
  // memory.
  Fault* fault();
  // Throws Unimplemented: captured work cannot do `what`.
  [[noreturn]] void refuse(const char* what);
  // False once something was refused, by us or by CUDA: there is nothing to come of it.
  bool valid() const noexcept;
  // Null if it is not valid.
  std::unique_ptr<CapturedWork> end();

  // For the device's allocator, which holds its lock. A block of that class that was given back, now with other bytes;
  // null: none.
  Block* take(int size_class) noexcept;
  void reserve() { blocks_.reserve(blocks_.size() + 1); }
  // Precondition: reserve() was called since the last one.
  void allocated(void* data, size_t bytes) noexcept { blocks_.push_back({data, bytes, false}); }
  // False: it is not from here.
  bool give_back(void* data) noexcept;

 private:
  cudaGraph_t stop() noexcept;

  CudaDevice& device_;
  cudaStream_t stream_ = nullptr;
  bool refused_ = false;
  std::vector<Block> blocks_;
  void* fault_ = nullptr;  // a block of the device's
};

}  // namespace panto::cuda
