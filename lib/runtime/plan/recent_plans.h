// RecentPlans: a least-recently-used cache of the plans of one graph, one per combination of shapes, devices and
// passes. Internal.
//
// A plan keeps constants repacked for its kernels, and memory for its runs. The least recently used plans are dropped
// if there are too many, or if plans keep more than kMostPlanBytes; the latest plan always stays.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <utility>

#include "panto/lib/runtime/executable.h"

namespace panto {

inline constexpr size_t kMostPlans = 16;
inline constexpr int64_t kMostPlanBytes = int64_t{256} << 20;

// `Entry` is a pointer to an object with a member `executable`, the plan.
template <class Entry>
class RecentPlans {
 public:
  explicit RecentPlans(size_t most = kMostPlans) : most_(most) {}
  // Returns the most recent entry that `fits` accepts and makes it the latest; null if there is none.
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
