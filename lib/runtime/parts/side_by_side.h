// Work that goes on on several threads of the library's own at once, and where one of them waits for another. Internal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"

namespace panto {

// Calls work(0) on this thread and work(1) ... work(count - 1) on others, at once, and returns when all have ended. It
// must not throw. The threads are kept for the next call; there are as many as were ever needed at once, so that work
// may call this, too, and pieces may wait for one another. Throws ResourceExhausted, with nothing begun, where there
// are none to be had.
PANTO_EXPORT void run_side_by_side(size_t count, const Callable<void(size_t)>& work);

// Values that are there, one after the other in each run, or will not come.
class PANTO_EXPORT Signals {
 public:
  explicit Signals(size_t count) : signals_(std::make_unique<std::atomic<uint32_t>[]>(count)) {}
  // A run begins: nothing is there. Precondition: nobody waits.
  void begin() noexcept { run_ += 2; }
  void give(size_t signal) noexcept { set(signal, run_); }
  // Unless it was given.
  void give_up(size_t signal) noexcept;
  // Returns when it is there; false: it will not come.
  bool wait(size_t signal) noexcept;

 private:
  void set(size_t signal, uint32_t to) noexcept {
    signals_[signal].store(to, std::memory_order_release);
    signals_[signal].notify_all();
  }
  std::unique_ptr<std::atomic<uint32_t>[]> signals_;  // the run that gave it; one more: that gave it up
  uint32_t run_ = 0;
};

}  // namespace panto
