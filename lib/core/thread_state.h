// What one thread knows: who listens and which scopes are open. The dispatcher reads it once a call.
// Internal; never included by public headers (they stay free of thread_local: a REPL's JIT cannot link it).
#pragma once

#include <string>

#include "panto/lib/base/small_vector.h"
#include "panto/lib/core/device.h"
#include "panto/lib/core/recorder.h"

namespace panto {

struct ThreadState {
  SmallVector<Recorder*, 4> recorders;  // innermost last
  int symbolic = 0;                     // how many of them trace symbolically
  Device* device = nullptr;             // what the device scope names, null if it names none (or none that exists)
  bool device_missing = false;          // the scope names a device that this process does not have
  DeviceSpec device_spec;               // as written
  std::string name_scope;               // "" or ends with '/'
  int library_depth = 0;                // > 0: ops are called by the library itself (composites, gradients), whose
                                        // source lines are of no interest to the user
};

// Null until the thread first asks. A plain pointer with the fastest kind of access: every op call reads it.
extern thread_local constinit ThreadState* current_thread_state
    [[gnu::tls_model("initial-exec"), gnu::visibility("hidden")]];
// What it was before somebody asked the thread to stop (lib/core/cancel.h).
extern thread_local constinit ThreadState* cancelled_thread_state
    [[gnu::tls_model("initial-exec"), gnu::visibility("hidden")]];
ThreadState& make_thread_state() noexcept;
void put_canceller(ThreadState& state);

inline ThreadState& thread_state() noexcept {
  ThreadState* state = current_thread_state;
  return state != nullptr ? *state : make_thread_state();
}

class LibraryScope {
 public:
  LibraryScope() { ++thread_state().library_depth; }
  ~LibraryScope() { --thread_state().library_depth; }
  LibraryScope(const LibraryScope&) = delete;
  LibraryScope& operator=(const LibraryScope&) = delete;
};

}  // namespace panto
