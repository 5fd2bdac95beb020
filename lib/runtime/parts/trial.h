// Measures whether work is faster on several threads than on one. Internal.
#pragma once

#include <atomic>
#include <mutex>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"

namespace panto {

// The first runs are timed, alternately on one thread and on several; later runs use the mode of the shortest run.
// Results do not depend on the mode. Thread-safe: concurrent runs are timed too, as they show how long the work takes
// in such use.
class PANTO_EXPORT Trial {
 public:
  // Calls run(true) for several threads, run(false) for one.
  void run(const Callable<void(bool)>& run);
  // Whether several threads won; false before that is decided.
  bool several() const noexcept { return decided_.load(std::memory_order_relaxed) == kSeveral; }

 private:
  static constexpr int kTimed = 12;  // after the first two, which also allocate
  enum Decision { kOpen, kOne, kSeveral };
  std::atomic<int> decided_ = kOpen;
  std::mutex mutex_;
  int runs_ = 0;
  int ended_ = 0;
  double shortest_[2] = {1e300, 1e300};  // on one thread, on several
};

}  // namespace panto
