#include "panto/lib/runtime/parts/trial.h"

#include <algorithm>
#include <chrono>

namespace panto {

void Trial::run(const Callable<void(bool)>& run) {
  if (const int decided = decided_.load(std::memory_order_relaxed); decided != kOpen) return run(decided == kSeveral);
  int number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = runs_++;
  }
  const bool several = number % 2 == 1;
  const auto begin = std::chrono::steady_clock::now();
  run(several);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  const std::lock_guard lock(mutex_);
  if (number >= 2) shortest_[several ? 1 : 0] = std::min(shortest_[several ? 1 : 0], taken.count());
  if (++ended_ == kTimed + 2) decided_ = shortest_[1] < shortest_[0] ? kSeveral : kOne;
}

}  // namespace panto
