// Whether work is done sooner by several threads than by one, found out by doing it. Internal.
#pragma once

#include <atomic>
#include <mutex>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"

namespace panto {

// The first runs are timed, in turns by one thread and by several; from then on they are as the shortest one was. What
// they give does not depend on it. Thread-safe: runs at once are timed, too, as that is how the work is done then.
class PANTO_EXPORT Trial {
 public:
  // Calls run(whether by several threads).
  void run(const Callable<void(bool)>& run);
  // What was found; false before.
  bool several() const noexcept { return decided_.load(std::memory_order_relaxed) == kSeveral; }

 private:
  static constexpr int kTimed = 12;  // after the first two, which have things to make
  enum Decision { kOpen, kOne, kSeveral };
  std::atomic<int> decided_ = kOpen;
  std::mutex mutex_;
  int runs_ = 0;
  int ended_ = 0;
  double shortest_[2] = {1e300, 1e300};  // of one, of several
};

}  // namespace panto
