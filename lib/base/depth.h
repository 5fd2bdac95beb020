// Limits the depth of recursion: functions that call functions, lists of lists, passes over datasets.
#pragma once

#include "panto/lib/base/export.h"

namespace panto {

// While it lives, the calling thread's counter `depth` is one higher, or has the value that was lent.
class PANTO_EXPORT DepthScope {
 public:
  // Adds one to `depth`. Throws ResourceExhausted if `depth` is `most` already, before the thread's stack overflows.
  DepthScope(int& depth, int most, const char* what);
  // For a thread that works on behalf of another one: continues at that thread's depth, `lent`.
  DepthScope(int& depth, int lent) noexcept : depth_(depth), before_(depth) { depth_ = lent; }
  ~DepthScope() { depth_ = before_; }
  DepthScope(const DepthScope&) = delete;
  DepthScope& operator=(const DepthScope&) = delete;

 private:
  int& depth_;
  int before_;
};

}  // namespace panto
