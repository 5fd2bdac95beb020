// Runs work on several threads of the library at once, and lets one wait for values of another. Internal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"

namespace panto {

// Calls work(0) on this thread and work(1), ..., work(count - 1) on others, all at once, and returns when all have
// ended. `work` must not throw. Threads are kept for later calls. There are always enough of them, so `work` may call
// this function too, and the calls may wait for one another. Throws ResourceExhausted, before anything has begun, if a
// thread cannot be created.
PANTO_EXPORT void run_side_by_side(size_t count, const Callable<void(size_t)>& work);

// Flags by which threads wait for values. In each run, a signal is given once, or given up: its value will not come.
class PANTO_EXPORT Signals {
 public:
  explicit Signals(size_t count) : signals_(std::make_unique<std::atomic<uint32_t>[]>(count)) {}
  // Begins a run: no signal is given. Precondition: no thread waits.
  void begin() noexcept { run_ += 2; }
  void give(size_t signal) noexcept { set(signal, run_); }
  // Has no effect if the signal was given.
  void give_up(size_t signal) noexcept;
  // Returns true when the signal is given, false if it is given up.
  bool wait(size_t signal) noexcept;

 private:
  void set(size_t signal, uint32_t to) noexcept {
    signals_[signal].store(to, std::memory_order_release);
    signals_[signal].notify_all();
  }
  std::unique_ptr<std::atomic<uint32_t>[]> signals_;  // run_ of the run that gave it; run_ + 1: given up
  uint32_t run_ = 0;
};

}  // namespace panto
