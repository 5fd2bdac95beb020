// RecentPlans: the plans of one graph, for other shapes, devices or passes each, that were used last. Internal.
//
// A plan keeps constants as its kernels like to read them, and memory for its runs. Those used longest ago are dropped
// where there are more than are allowed, or where they keep more than kMostPlanBytes; the latest stays in any case.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <utility>

#include "panto/lib/runtime/executable.h"

namespace panto {

inline constexpr size_t kMostPlans = 16;
inline constexpr int64_t kMostPlanBytes = int64_t{256} << 20;

// `Entry` points to something that has the plan as `executable`.
template <class Entry>
class RecentPlans {
 public:
  explicit RecentPlans(size_t most = kMostPlans) : most_(most) {}
  // The entry that `fits` accepts, the latest of several, which becomes the latest; null if there is none.
  template <class Fits>
  const Entry* find(const Fits& fits) {
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (!fits(*it)) continue;
      entries_.splice(entries_.begin(), entries_, it);
      return &entries_.front();
    }
    return nullptr;
  }
  void add(Entry entry) {
    entries_.push_front(std::move(entry));
    int64_t bytes = 0;
    size_t count = 0;
    for (auto it = entries_.begin(); it != entries_.end();) {
      bytes += (*it)->executable->stats().kept_bytes();
      const bool drop = ++count > 1 && (count > most_ || bytes > kMostPlanBytes);
      it = drop ? entries_.erase(it) : std::next(it);
    }
  }
  size_t size() const { return entries_.size(); }

 private:
  size_t most_;
  std::list<Entry> entries_;  // latest first
};

}  // namespace panto
