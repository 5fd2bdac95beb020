// Faults of kernels: a word of host memory for each thread that uses a GPU. So a fault is thrown by the thread that
// enqueued the work, or by the thread that reads its result.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "panto/device/fault.h"

namespace panto::cuda {

// Returns the calling thread's number, unique in the process: 1, 2, ...
uint64_t this_user() noexcept;

// The words of one GPU, which is never destroyed. Thread-safe.
class FaultWords {
 public:
  // Precondition: the GPU is the calling thread's current one. Throws if there is no memory.
  void allocate();

  // Returns the device address of this thread's word.
  Fault* own() { return device_ + own_word(); }
  // Returns the words of threads that have ended, whose faults no thread would throw otherwise. Each word is returned
  // once.
  std::vector<int> ended();

  // Returns the fault of this thread's kernels or of the ended threads', or kNone, and clears the words. Call it when
  // the GPU has done all work enqueued before.
  Fault take(const std::vector<int>& ended);
  // The same for the kernels of another thread.
  Fault take_of(uint64_t user);

 private:
  static constexpr int kWords = 1024;
  static constexpr int kShared = 0;  // for all threads that find no free word: the first to wait throws its fault
  friend struct OwnWords;

  int own_word();
  void leave(int word) noexcept;
  Fault take_word(int word) noexcept;

  std::mutex mutex_;
  Fault* host_ = nullptr;
  Fault* device_ = nullptr;  // the same words, as a device address
  std::array<uint64_t, kWords> users_{};
  std::vector<int> free_, ended_;
};

// faults.cu: runs a kernel on the current GPU that moves the fault in `from`, if there is one, to `to`.
void pass_on(Fault* from, Fault* to, cudaStream_t stream);

}  // namespace panto::cuda
