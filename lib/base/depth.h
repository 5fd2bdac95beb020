// How deep a thread is in what contains itself, and calls itself therefore: functions, lists of lists, passes over
// datasets.
#pragma once

#include "panto/lib/base/export.h"

namespace panto {

// While one lives, `depth`, a count of the calling thread's own, is another one.
class PANTO_EXPORT DepthScope {
 public:
  // One deeper. Throws ResourceExhausted where that is more than `most`: before the thread's stack is full.
  DepthScope(int& depth, int most, const char* what);
  // For a thread that works for another one, which is so deep.
  DepthScope(int& depth, int lent) noexcept : depth_(depth), before_(depth) { depth_ = lent; }
  ~DepthScope() { depth_ = before_; }
  DepthScope(const DepthScope&) = delete;
  DepthScope& operator=(const DepthScope&) = delete;

 private:
  int& depth_;
  int before_;
};

}  // namespace panto
