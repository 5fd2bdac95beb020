// How deep functions may call one another. Internal.
#pragma once

#include "panto/lib/base/error.h"
#include "panto/lib/base/text/format.h"

namespace panto {

// While one lives, this thread is inside a function that an op called. Throws ResourceExhausted where a function calls
// itself without end, before the thread's stack is full.
class CallDepth {
 public:
  static constexpr int kMost = 200;

  CallDepth() {
    if (depth() == kMost) {
      failf(Code::kResourceExhausted, "functions: expected calls inside one another to a depth of at most {}, got more",
            kMost);
    }
    ++depth();
  }
  ~CallDepth() { --depth(); }
  CallDepth(const CallDepth&) = delete;
  CallDepth& operator=(const CallDepth&) = delete;
  // How many of them this thread is in.
  static int current() noexcept { return depth(); }

 private:
  friend class LentCallDepth;
  static int& depth() noexcept;
};

// While one lives, this thread works for another one, which is so deep.
class LentCallDepth {
 public:
  explicit LentCallDepth(int depth) noexcept : previous_(CallDepth::depth()) { CallDepth::depth() = depth; }
  ~LentCallDepth() { CallDepth::depth() = previous_; }
  LentCallDepth(const LentCallDepth&) = delete;
  LentCallDepth& operator=(const LentCallDepth&) = delete;

 private:
  int previous_;
};

}  // namespace panto
