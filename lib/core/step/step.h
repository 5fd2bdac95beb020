// Step: the context of one run of a graph, or of one eager op call. Kernels find it in their context.
//
//   Step step = current_step();                       // as around it, but for
//   step.cancellation = std::make_shared<Cancellation>();
//   step.deadline = Step::deadline_in(0.5);
//   const StepScope scope(step);                      // what this thread calls now belongs to it
//   model(x);                                         // throws Cancelled after step.cancellation->request() anywhere
//
// Only entrances of the library (an eager call, a run of a function or a session) ask the thread for its step. Code
// that starts work on other threads passes the step on: a parallel loop to its threads, a Dataset to the threads that
// make its elements.
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

// A request to stop a step. Thread-safe, but not for signal handlers, which use request_cancel
// (lib/core/step/cancel.h).
class PANTO_EXPORT Cancellation {
 public:
  Cancellation();
  ~Cancellation();
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  bool requested() const noexcept { return requested_.load(std::memory_order_relaxed); }
  // Runs the registered `stop` functions on this thread.
  void request();
  // Calls `stop` once when the cancellation is requested; at once if it was requested already. It must not throw.
  // Returns a number for `unwatch`.
  uint64_t watch(Callable<void()> stop);
  // When this returns, `stop` does not run and will not run. Does nothing if it ran already.
  void unwatch(uint64_t watch) noexcept;

 private:
  struct Watches;
  std::atomic<bool> requested_{false};
  std::unique_ptr<Watches> watches_;
};

// A step owns what it points to, so that work on other threads may keep a copy.
struct PANTO_EXPORT Step {
  static constexpr int64_t kNoDeadline = INT64_MAX;

  std::shared_ptr<ResourceManager> resources = nullptr;  // where kernels find named resources; null: the process's
  std::shared_ptr<Cancellation> cancellation = nullptr;  // in addition to the request to the whole process
  int64_t deadline = kNoDeadline;                        // nanoseconds of the steady clock
  int threads = 0;                                       // threads that a loop may use; 0: the process's number
  // A generator (an int64 variable of three numbers) for random kernels without a seed; null: the process's.
  std::shared_ptr<VariableResource> random = nullptr;
  bool training = false;    // layers run in training mode
  bool graph_files = true;  // graphs may open files, unless the process says otherwise (lib/core/io/graph_files.h)
  // For plans made during the run, of branches and loop bodies: as in SessionOptions.
  bool soft_placement = false;
  bool log_device_placement = false;
  // Where Send and Recv exchange values; null: nowhere. A run of a graph with such nodes makes its own.
  std::shared_ptr<Rendezvous> rendezvous = nullptr;
  // The loop run and the round that the calls are in. A rendezvous key contains both.
  uint64_t frame = 0;
  int64_t iteration = 0;

  // The deadline `seconds` from now.
  static int64_t deadline_in(double seconds);
  ResourceManager& resource_manager() const;
  // Throws Cancelled or DeadlineExceeded if the step is stopped.
  void throw_if_stopped() const;
};

// The step of this thread's innermost StepScope; without a scope, a step with default values.
PANTO_EXPORT const Step& current_step() noexcept;

// While it lives, this thread's calls belong to `step`, which must outlive it. Scopes nest.
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
