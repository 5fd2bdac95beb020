// The limit on how deeply functions may call one another. Internal.
#pragma once

#include "panto/lib/base/depth.h"

namespace panto {

// While an instance lives, its thread counts as inside a function that an op called. The constructor throws
// ResourceExhausted beyond kMost nested calls: a function then calls itself without end.
class CallDepth : DepthScope {
 public:
  static constexpr int kMost = 200;

  CallDepth() : DepthScope(depth(), kMost, "calls of functions") {}
  // For a thread that works on behalf of another thread, which is inside `lent` calls.
  explicit CallDepth(int lent) noexcept : DepthScope(depth(), lent) {}
  // The number of nested calls that this thread is in.
  static int current() noexcept { return depth(); }

 private:
  static int& depth() noexcept;
};

}  // namespace panto
