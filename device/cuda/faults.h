// Where kernels leave their faults: a word of host memory for each thread that uses a GPU, so that what a thread's work
// met with is thrown by that thread, or by who reads what it made.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "panto/device/fault.h"

namespace panto::cuda {

// The calling thread, among all that there ever were: 1, 2, ...
uint64_t this_user() noexcept;

// The words of one GPU, which is never destroyed. Thread-safe.
class FaultWords {
 public:
  // Precondition: the GPU is the calling thread's. Throws where there is no memory.
  void allocate();

  // Where this thread's kernels write to; a GPU's address.
  Fault* own() { return device_ + own_word(); }
  // The words of threads that have ended: nobody else throws what is in them. Each is given to one caller.
  std::vector<int> ended();

  // To be asked when the GPU has done all that it was asked for before. What this thread's kernels left, or those of
  // the ended threads, or kNone; the words are empty from now on.
  Fault take(const std::vector<int>& ended);
  // The same for the kernels of another thread.
  Fault take_of(uint64_t user);

 private:
  static constexpr int kWords = 1024;
  static constexpr int kShared = 0;  // of all that come when there is no other left: who waits first throws it
  friend struct OwnWords;

  int own_word();
  void leave(int word) noexcept;
  Fault take_word(int word) noexcept;

  std::mutex mutex_;
  Fault* host_ = nullptr;
  Fault* device_ = nullptr;  // the same words
  std::array<uint64_t, kWords> users_{};
  std::vector<int> free_, ended_;
};

// faults.cu: a kernel on the current GPU that moves what is in `from` to `to`, if there is anything.
void pass_on(Fault* from, Fault* to, cudaStream_t stream);

}  // namespace panto::cuda
