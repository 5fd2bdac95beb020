// Step: what the run of a graph, or an op that is called by itself, belongs to. Kernels find it in their context.
//
//   Step step = current_step();                       // as around it, but for
//   step.cancellation = std::make_shared<Cancellation>();
//   step.deadline = Step::deadline_in(0.5);
//   const StepScope scope(step);                      // what this thread calls now belongs to it
//   model(x);                                         // throws Cancelled after step.cancellation->request() anywhere
//
// Only who enters the library asks the thread for its step (the eager door, a run of a function or a session); what
// begins work on other threads hands it on: a loop to those that share it, a Dataset to those that make its elements.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"

namespace panto {

class Rendezvous;
class ResourceManager;
class VariableResource;

// Somebody's request that a step stops. Thread-safe; not for signal handlers, which have request_cancel
// (lib/core/step/cancel.h).
class PANTO_EXPORT Cancellation {
 public:
  Cancellation();
  ~Cancellation();
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  bool requested() const noexcept { return requested_.load(std::memory_order_relaxed); }
  // Calls, on this thread, what watches.
  void request();
  // `stop` is called once when that is requested; at once if it was. It must not throw. For `unwatch`.
  uint64_t watch(Callable<void()> stop);
  // When this returns, `stop` does not run and will not. Nothing happens if it was called.
  void unwatch(uint64_t watch) noexcept;

 private:
  struct Watches;
  std::atomic<bool> requested_{false};
  std::unique_ptr<Watches> watches_;
};

// What it names it owns, so that work which goes on elsewhere may take a copy.
struct PANTO_EXPORT Step {
  static constexpr int64_t kNoDeadline = INT64_MAX;

  std::shared_ptr<ResourceManager> resources = nullptr;  // where kernels find named resources; null: the process's
  std::shared_ptr<Cancellation> cancellation = nullptr;  // beside the request to the whole process
  int64_t deadline = kNoDeadline;                        // nanoseconds of the steady clock
  int threads = 0;                                       // that a loop may be shared by; 0: the process's number
  // A generator (an int64 variable of three numbers) that unseeded random kernels draw from; null: the process's.
  std::shared_ptr<VariableResource> random = nullptr;
  bool training = false;    // of layers
  bool graph_files = true;  // graphs may open files, unless the process says otherwise (lib/core/io/graph_files.h)
  // Of plans that are made on the way, for branches and bodies of loops: as in SessionOptions.
  bool soft_placement = false;
  bool log_device_placement = false;
  // Where Send and Recv meet; null: nowhere. A run of a graph that has some makes its own.
  std::shared_ptr<Rendezvous> rendezvous = nullptr;
  // Which run of a loop the calls are in, and which round of it. A key of the rendezvous has both.
  uint64_t frame = 0;
  int64_t iteration = 0;

  // `seconds` from now.
  static int64_t deadline_in(double seconds);
  ResourceManager& resource_manager() const;
  // Throws Cancelled or DeadlineExceeded where it is.
  void throw_if_stopped() const;
};

// The innermost StepScope's of this thread, else one that asks for nothing.
PANTO_EXPORT const Step& current_step() noexcept;

// What this thread calls while one lives belongs to `step`, which outlives it. Scopes nest.
class PANTO_EXPORT StepScope {
 public:
  explicit StepScope(const Step& step) noexcept;
  explicit StepScope(const Step&& step) = delete;
  ~StepScope();
  StepScope(const StepScope&) = delete;
  StepScope& operator=(const StepScope&) = delete;

 private:
  const Step* previous_;
};

}  // namespace panto
