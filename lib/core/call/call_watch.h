// CallWatch: is told when each eager call of this thread begins and ends, whether or not a recorder is active.
// Internal.
//
// Not a Recorder, because recording changes how calls run (functions are called op by op, gradients are kept), and a
// measurement must change nothing. Without a watch it costs one pointer check for each call.
#pragma once

#include <cstdint>

#include "panto/lib/core/call/call.h"

namespace panto {

class CallWatch {
 public:
  CallWatch() = default;
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;
  virtual ~CallWatch() = default;
  // Returns the time in the watch's own unit.
  virtual int64_t begin() noexcept = 0;
  // Called when `call` is complete; not called if it failed.
  virtual void end(const Call& call, int64_t begun) = 0;
};

// Null if no watch is active. A plain pointer with the fastest kind of access, because every op call reads it.
extern thread_local constinit CallWatch* call_watch [[gnu::tls_model("initial-exec"), gnu::visibility("hidden")]];

}  // namespace panto
