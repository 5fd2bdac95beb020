// How deep functions may call one another. Internal.
#pragma once

#include "panto/lib/base/depth.h"

namespace panto {

// While one lives, this thread is inside a function that an op called. Throws ResourceExhausted where a function calls
// itself without end.
class CallDepth : DepthScope {
 public:
  static constexpr int kMost = 200;

  CallDepth() : DepthScope(depth(), kMost, "calls of functions") {}
  // For a thread that works for another one, which is in so many.
  explicit CallDepth(int lent) noexcept : DepthScope(depth(), lent) {}
  // How many of them this thread is in.
  static int current() noexcept { return depth(); }

 private:
  static int& depth() noexcept;
};

}  // namespace panto
