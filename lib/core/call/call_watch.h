// CallWatch: hears of this thread's eager calls when they begin and when they end, whoever records them. Internal.
//
// No Recorder: what is recorded changes how calls run (functions are called op by op, gradients are kept), and who
// measures is to change nothing. Nobody else pays more than one look for each call.
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
  // The time, as the watch counts it.
  virtual int64_t begin() noexcept = 0;
  // `call` is complete. Not told of calls that fail.
  virtual void end(const Call& call, int64_t begun) = 0;
};

// Null where nobody watches. A plain pointer with the fastest kind of access: every op call reads it.
extern thread_local constinit CallWatch* call_watch [[gnu::tls_model("initial-exec"), gnu::visibility("hidden")]];

}  // namespace panto
