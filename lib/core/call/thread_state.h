// The state of one thread: its recorders and open scopes. The dispatcher reads it once a call.
// Internal; never included by public headers (they stay free of thread_local: a REPL's JIT cannot link it).
#pragma once

#include <string>
#include <vector>

#include "panto/lib/base/small_vector.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/core/tensor/device.h"

namespace panto {

class DeviceFunctionScope;
class Transform;

struct ThreadState {
  SmallVector<Recorder*, 4> recorders;    // innermost last
  int symbolic = 0;                       // how many of them trace symbolically
  SmallVector<Transform*, 4> transforms;  // open ones, innermost last
  Device* device = nullptr;     // the device scope's device; null if the scope names none (or one that does not exist)
  bool device_missing = false;  // the device scope names a device that this process does not have
  DeviceSpec device_spec;       // as written
  // The innermost device function, and the device scopes opened inside it (lib/graph/device_function.h).
  const DeviceFunctionScope* device_function = nullptr;
  DeviceSpec device_in_function;
  std::string name_scope;  // "" or ends with '/'
  // The line that ops appear to be called from, because a library function calls them; null: each op's own line.
  const std::source_location* caller = nullptr;
  int library_depth = 0;  // > 0: ops are called by the library itself (composites, gradients), whose
                          // source lines are of no interest to the user
  std::vector<SmallVector<Recorder*, 4>> paused;  // one for each open RecorderPause: the stack that it restores
};

// Removes recorders that were ended on other threads.
void drop_ended_recorders(ThreadState& state) noexcept;
inline void look_at_recorders(ThreadState& state) noexcept {
  for (const Recorder* r : state.recorders) {
    if (r->ended()) [[unlikely]]
      return drop_ended_recorders(state);
  }
}

// Null until the thread first needs it. A plain pointer with the fastest kind of access, because every op call reads
// it.
extern thread_local constinit ThreadState* current_thread_state
    [[gnu::tls_model("initial-exec"), gnu::visibility("hidden")]];
// The thread's state while current_thread_state is null because the thread was asked to stop (lib/core/step/cancel.h).
extern thread_local constinit ThreadState* cancelled_thread_state
    [[gnu::tls_model("initial-exec"), gnu::visibility("hidden")]];
// Also read by every op call, and by loops on any thread. Separate from the state, which a request to stop takes away.
extern thread_local constinit const Step* innermost_step [[gnu::tls_model("initial-exec"), gnu::visibility("hidden")]];
ThreadState& make_thread_state() noexcept;
void put_canceller(ThreadState& state);
[[noreturn]] void fail_cancelled();

inline ThreadState& thread_state() noexcept {
  ThreadState* state = current_thread_state;
  return state != nullptr ? *state : make_thread_state();
}

// A StepScope that costs no function call.
class LentStep {
 public:
  explicit LentStep(const Step& step) noexcept : previous_(innermost_step) { innermost_step = &step; }
  ~LentStep() { innermost_step = previous_; }
  LentStep(const LentStep&) = delete;
  LentStep& operator=(const LentStep&) = delete;

 private:
  const Step* previous_;
};
// Step::throw_if_stopped, with a fast path for a step that nothing can stop.
inline void look_for_stop(const Step& step) {
  if (cancel_requested() || step.cancellation != nullptr || step.deadline != Step::kNoDeadline) [[unlikely]]
    step.throw_if_stopped();
}

// How many recorders of this thread trace symbolically.
inline int symbolic_recorders() noexcept {
  ThreadState& state = thread_state();
  if (state.symbolic > 0) look_at_recorders(state);
  return state.symbolic;
}

class LibraryScope {
 public:
  LibraryScope() { ++thread_state().library_depth; }
  ~LibraryScope() { --thread_state().library_depth; }
  LibraryScope(const LibraryScope&) = delete;
  LibraryScope& operator=(const LibraryScope&) = delete;
};

}  // namespace panto
