// Recorder: whoever wants to hear that an op ran. Gradient tapes, tracers and profilers are recorders; none knows of
// the others, and no op or kernel knows of any.
//
// The dispatcher tells every recorder on the calling thread's stack, the innermost (last pushed) first, after the
// kernel ran.
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

  // Asked before outputs are allocated: will this recorder keep what the op `saves` of this call? (If so, donated
  // inputs that are kept do not give their memory away.)
  virtual bool keeps(const Call& call) = 0;
  // Reads every input when the call is recorded, whatever the op saves (a tracer, which captures tensors): no input's
  // memory is given away before that.
  virtual bool reads_inputs() const { return false; }
  // `call` is complete: attributes bound, outputs made. Must not throw for reasons other than the user's fault.
  virtual void record(const Call& call) = 0;
  // An operation that is no op: outputs computed elsewhere from inputs with a backward function of its own (a traced
  // function, a custom gradient).
  virtual void record_custom(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                             std::shared_ptr<CustomBackward> backward) = 0;
  // The user names the node that made `value` (see `named`).
  virtual void name_value(const Tensor& value, std::string_view name) {
    static_cast<void>(value);
    static_cast<void>(name);
  }
  // The name of a scope that the user opens as `wanted`: another one where a graph has had a scope of that name.
  virtual std::string scope_name(std::string wanted) { return wanted; }
  // Somebody looked at the elements of `value` from C++ (`item`, `data`, printing): what a trace with real values bakes
  // in.
  virtual void value_read(const Tensor& value, const std::source_location& where) {
    static_cast<void>(value);
    static_cast<void>(where);
  }
  // Wants to hear the ops inside a traced function rather than the call as a whole.
  virtual bool inlines_functions() const { return false; }
  // Will be asked for gradients (a tape).
  virtual bool computes_gradients() const { return false; }
  // Hears the gradients that it computes itself, and may be asked for theirs (a persistent tape).
  virtual bool hears_own_gradients() const { return false; }
  // A symbolic tracer: every op below it runs on META (design decision 15).
  virtual bool symbolic() const { return false; }
  // Must hear the calls that the body of this composite makes, instead of the call as a whole (a tape, where the op has
  // no gradient of its own). All recorders hear them then.
  virtual bool looks_inside(const Call& call) const {
    static_cast<void>(call);
    return false;
  }
  // Of a symbolic tracer: tensors from outside become constants of its graph, and not inputs as a function's do. A file
  // cannot hold such a graph with a resource in it.
  virtual bool makes_constants() const { return false; }
  // The node that the latest op became, where this recorder writes a graph.
  virtual Operation latest_operation() const { return {}; }

  // How many transforms (lib/core/call/transform.h) were open when it began: of their calls it hears those that the
  // user wrote, of later ones' those that are made instead.
  int level() const noexcept { return level_; }
  // `end_recorder` was called elsewhere, and the thread that it hears has not looked since.
  bool ended() const noexcept { return life_.load(std::memory_order_acquire) == Life::kEnded; }

 private:
  friend struct RecorderLife;
  enum class Life : uint8_t { kIdle, kHears, kEnded, kThreadGone };
  std::atomic<Life> life_{Life::kIdle};
  const void* thread_ = nullptr;    // whose stack it is on
  int level_ = 0;                   // how many transforms were open around it when it began
  std::shared_ptr<Recorder> kept_;  // itself, while it is ended and still on that stack
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

// While it lives, this thread's calls are symbolic, and nobody hears them but who listens anyway.
class PANTO_EXPORT SymbolicScope {
 public:
  SymbolicScope();
  ~SymbolicScope();
  SymbolicScope(const SymbolicScope&) = delete;
  SymbolicScope& operator=(const SymbolicScope&) = delete;

 private:
  std::unique_ptr<Recorder> recorder_;
};

// Removes a recorder from this thread's stack wherever it stands (a tape that ends before an inner one does), and from
// what the thread's pauses put back.
PANTO_EXPORT void push_recorder(Recorder* recorder);
PANTO_EXPORT void remove_recorder(Recorder* recorder) noexcept;
// The same from any thread. Where `recorder` was pushed by another one, that thread lets go of it when it next looks at
// its recorders, or ends: until then it is kept alive, and may hear what the thread does at the moment.
PANTO_EXPORT void end_recorder(std::shared_ptr<Recorder> recorder) noexcept;
// The stack of this thread, innermost last.
PANTO_EXPORT std::span<Recorder* const> recorders() noexcept;
// The innermost recorder of this thread that traces symbolically; null if none does.
PANTO_EXPORT Recorder* symbolic_recorder() noexcept;
// The node that this thread's latest op became, where a graph is being built; undefined elsewhere.
PANTO_EXPORT Operation latest_operation();
// Calls f(recorder) for each, the innermost first. Recorders may be added or removed by what `f` does.
template <class F>
void for_each_recorder(F&& f) {
  for (size_t i = recorders().size(); i-- > 0;) {
    if (const auto now = recorders(); i < now.size()) f(*now[i]);
  }
}

// While it lives, none of this thread's recorders hears anything, or all but `deaf` do (the tape whose gradient is
// computed). Those that began meanwhile, and live on, hear what comes afterwards too.
class PANTO_EXPORT RecorderPause {
 public:
  RecorderPause();
  explicit RecorderPause(Recorder* deaf);
  // Only those that trace hear anything.
  struct AllButTraces {};
  explicit RecorderPause(AllButTraces);
  // None of those that began inside the transform of this level hears anything, others do.
  explicit RecorderPause(int level);
  ~RecorderPause();
  RecorderPause(const RecorderPause&) = delete;
  RecorderPause& operator=(const RecorderPause&) = delete;

 private:
  const void* thread_;
  size_t depth_;  // of the thread's pauses
};

}  // namespace panto
