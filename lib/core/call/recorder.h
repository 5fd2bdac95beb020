// Recorder: an object that is told of every op call. Gradient tapes, tracers and profilers are recorders. Recorders do
// not know each other, and no op or kernel knows of any.
//
// After the kernel ran, the dispatcher tells every recorder on the calling thread's stack, the innermost (last pushed)
// first.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/op/operation.h"

namespace panto {

class PANTO_EXPORT Recorder {
 public:
  Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  virtual ~Recorder() = default;

  // Asked before outputs are allocated: will this recorder keep the tensors that the op `saves` of this call? If so,
  // donated inputs among them are not reused.
  virtual bool keeps(const Call& call) = 0;
  // True if `record` reads every input, whatever the op saves (a tracer captures tensors). Then no input's memory is
  // reused before that.
  virtual bool reads_inputs() const { return false; }
  // `call` is complete: attributes are bound, outputs are made. Must throw only for faults of the user.
  virtual void record(const Call& call) = 0;
  // Records an operation that is not an op: outputs computed elsewhere from inputs, with a backward function of its own
  // (a traced function, a custom gradient).
  virtual void record_custom(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                             std::shared_ptr<CustomBackward> backward) = 0;
  // The user gives a name to the node that made `value` (see `named`).
  virtual void name_value(const Tensor& value, std::string_view name) {
    static_cast<void>(value);
    static_cast<void>(name);
  }
  // The name for a scope that the user opens as `wanted`; different if the graph has had a scope of that name.
  virtual std::string scope_name(std::string wanted) { return wanted; }
  // C++ code read the elements of `value` (`item`, `data`, printing). A trace with real values bakes them in.
  virtual void value_read(const Tensor& value, const std::source_location& where) {
    static_cast<void>(value);
    static_cast<void>(where);
  }
  // True if the recorder wants to hear the ops inside a traced function instead of the call as a whole.
  virtual bool inlines_functions() const { return false; }
  // True if gradients will be asked of it (a tape).
  virtual bool computes_gradients() const { return false; }
  // True if it records the gradients that it computes, so that gradients of these can be asked of it (a persistent
  // tape).
  virtual bool hears_own_gradients() const { return false; }
  // True for a symbolic tracer: every op below it runs on META (design decision 15).
  virtual bool symbolic() const { return false; }
  // True if it must hear the calls of this composite's body, instead of the call as a whole (a tape, if the op has no
  // gradient of its own). All recorders hear the body's calls then.
  virtual bool looks_inside(const Call& call) const {
    static_cast<void>(call);
    return false;
  }
  // For a symbolic tracer: true if tensors from outside become constants of its graph, not inputs as in a function. A
  // file cannot hold such a graph if a resource is among them.
  virtual bool makes_constants() const { return false; }
  // The node that the latest op became, if this recorder writes a graph.
  virtual Operation latest_operation() const { return {}; }

  // How many transforms (lib/core/call/transform.h) were open when the recorder began. Of these transforms it hears the
  // calls that the user wrote; of transforms opened later it hears the calls that they make instead.
  int level() const noexcept { return level_; }
  // True if `end_recorder` was called on another thread, and the recorder's own thread has not noticed yet.
  bool ended() const noexcept { return life_.load(std::memory_order_acquire) == Life::kEnded; }

 private:
  friend struct RecorderLife;
  enum class Life : uint8_t { kIdle, kHears, kEnded, kThreadGone };
  std::atomic<Life> life_{Life::kIdle};
  const void* thread_ = nullptr;    // the thread whose stack it is on
  int level_ = 0;                   // how many transforms were open when it began
  std::shared_ptr<Recorder> kept_;  // a reference to itself, while it is ended but still on that stack
};

// Pushes a recorder on this thread's stack for its lifetime. Scopes must end in reverse order.
class PANTO_EXPORT RecorderScope {
 public:
  explicit RecorderScope(Recorder* recorder);
  ~RecorderScope();
  RecorderScope(const RecorderScope&) = delete;
  RecorderScope& operator=(const RecorderScope&) = delete;

 private:
  Recorder* recorder_;
};

// While it lives, this thread's calls are symbolic; only recorders that were active before hear them.
class PANTO_EXPORT SymbolicScope {
 public:
  SymbolicScope();
  ~SymbolicScope();
  SymbolicScope(const SymbolicScope&) = delete;
  SymbolicScope& operator=(const SymbolicScope&) = delete;

 private:
  std::unique_ptr<Recorder> recorder_;
};

// Adds a recorder to this thread's stack; removes it wherever it stands in the stack (a tape may end before an inner
// one), and from the stacks that the thread's pauses will restore.
PANTO_EXPORT void push_recorder(Recorder* recorder);
PANTO_EXPORT void remove_recorder(Recorder* recorder) noexcept;
// The same from any thread. If another thread pushed `recorder`, that thread removes it when it next looks at its
// recorders, or when it ends. Until then the recorder is kept alive, and may still hear that thread's calls.
PANTO_EXPORT void end_recorder(std::shared_ptr<Recorder> recorder) noexcept;
// The stack of this thread, innermost last.
PANTO_EXPORT std::span<Recorder* const> recorders() noexcept;
// The innermost recorder of this thread that traces symbolically; null if none does.
PANTO_EXPORT Recorder* symbolic_recorder() noexcept;
// The node that this thread's latest op became, if a graph is being built; otherwise undefined.
PANTO_EXPORT Operation latest_operation();
// Calls f(recorder) for each recorder, the innermost first. `f` may add or remove recorders.
template <class F>
void for_each_recorder(F&& f) {
  for (size_t i = recorders().size(); i-- > 0;) {
    if (const auto now = recorders(); i < now.size()) f(*now[i]);
  }
}

// While it lives, this thread's recorders hear nothing; with `deaf`, only that one does not (the tape whose gradient is
// computed). Recorders that begin during the pause and outlive it hear later calls too.
class PANTO_EXPORT RecorderPause {
 public:
  RecorderPause();
  explicit RecorderPause(Recorder* deaf);
  // Only tracers hear calls.
  struct AllButTraces {};
  explicit RecorderPause(AllButTraces);
  // Recorders that began inside the transform of this level hear nothing; the others do.
  explicit RecorderPause(int level);
  ~RecorderPause();
  RecorderPause(const RecorderPause&) = delete;
  RecorderPause& operator=(const RecorderPause&) = delete;

 private:
  const void* thread_;
  size_t depth_;  // of the thread's pauses
};

}  // namespace panto
