// FunctionPlans: the plans of one function, for the shapes and devices of its calls, with their run states. Internal:
// each traced function, branch and loop body has one.
//
// A call leaves its plan and run state where the next call finds them without a lock. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/object_pool.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/runtime/executable.h"
#include "panto/lib/runtime/plan/planning.h"
#include "panto/lib/runtime/plan/recent_plans.h"

namespace panto {

class FunctionPlans {
 public:
  // What the plans are made from. The references must outlive the object.
  struct Of {
    const Graph& graph;
    std::span<const NodeOutput> inputs;
    std::span<const NodeOutput> outputs;
    std::span<const int> effects;
    size_t fixed = 0;  // this many inputs, at the end, are the same tensors at every call
    NodeStates* states = nullptr;
    Device* device = nullptr;                            // ExecutableOptions::device
    std::string name = {};                               // the function's name, for the placement log
    std::shared_ptr<const Planning> planning = nullptr;  // all but the passes, which `run` gets
    // Throws if the inputs do not fit the function; called before a plan is made for them.
    Callable<void(std::span<const Tensor* const>)> check = nullptr;
  };
  explicit FunctionPlans(const Of& of) : of_(of) {}

  // `outputs`: undefined handles, to be set. Throws what Executable::make and Executable::run throw.
  // Inlined, as every call of a traced function goes through it.
  [[gnu::always_inline]] void run(const Step& step, std::span<const Tensor* const> inputs, const std::string& passes,
                                  std::span<Tensor> outputs) {
    const Compiled* stateless = stateless_ready_.load(std::memory_order_acquire);
    if (stateless != nullptr && stateless->passes == passes &&
        stateless->executable->run_without_state(step, inputs, outputs)) {
      return;
    }
    run_with_state(step, inputs, passes, outputs);
  }

  // A plan compiled for the shapes of one call; usable for the inputs that `executable` accepts.
  struct Compiled {
    std::string passes;
    std::shared_ptr<const Executable> executable;
  };
  std::shared_ptr<const Compiled> compiled(const Step& step, std::span<const Tensor* const> inputs,
                                           const std::string& passes);

 private:
  void run_with_state(const Step& step, std::span<const Tensor* const> inputs, const std::string& passes,
                      std::span<Tensor> outputs);

  // A compiled plan with a run state for the next call.
  struct Ready {
    std::shared_ptr<const Compiled> compiled;
    std::unique_ptr<RunState> state;
  };

  const Of of_;
  std::mutex mutex_;
  RecentPlans<std::shared_ptr<const Compiled>> compiled_;
  // The first of compiled_ that needs no state; its calls are the cheapest. It is never dropped, so that several
  // threads can read it at once through the raw pointer.
  std::shared_ptr<const Compiled> stateless_;
  std::atomic<const Compiled*> stateless_ready_ = nullptr;
  ObjectPool<Ready> ready_;  // recently used ones, taken without a lock
};

}  // namespace panto
