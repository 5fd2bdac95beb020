// FunctionPlans: the plans of one function, for the shapes and devices of its calls, and what their runs write to.
// Internal: traced functions, branches and bodies of loops have one each.
//
// A call leaves its plan and the memory that it wrote to where the next one finds it without a lock. Thread-safe.
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
  // Refers to what it is of, which outlives it.
  struct Of {
    const Graph& graph;
    std::span<const NodeOutput> inputs;
    std::span<const NodeOutput> outputs;
    std::span<const int> effects;
    size_t fixed = 0;  // so many inputs, the last ones, are the same tensors at every call
    NodeStates* states = nullptr;
    Device* device = nullptr;                            // ExecutableOptions::device
    std::string name = {};                               // of the function, where placement is logged
    std::shared_ptr<const Planning> planning = nullptr;  // but for the passes, which `run` is told
    // Throws where these inputs are none for the function; asked before a plan is made for them.
    Callable<void(std::span<const Tensor* const>)> check = nullptr;
  };
  explicit FunctionPlans(const Of& of) : of_(of) {}

  // `outputs`: undefined handles, to be set. Throws what Executable::make and Executable::run throw.
  // Inline: every call of a traced function goes through it.
  [[gnu::always_inline]] void run(const Step& step, std::span<const Tensor* const> inputs, const std::string& passes,
                                  std::span<Tensor> outputs) {
    const Compiled* stateless = stateless_ready_.load(std::memory_order_acquire);
    if (stateless != nullptr && stateless->passes == passes &&
        stateless->executable->run_without_state(step, inputs, outputs)) {
      return;
    }
    run_with_state(step, inputs, passes, outputs);
  }

  // What is compiled for the shapes of one call; it is for other inputs where `executable` does not accept them.
  struct Compiled {
    std::string passes;
    std::shared_ptr<const Executable> executable;
  };
  std::shared_ptr<const Compiled> compiled(const Step& step, std::span<const Tensor* const> inputs,
                                           const std::string& passes);

 private:
  void run_with_state(const Step& step, std::span<const Tensor* const> inputs, const std::string& passes,
                      std::span<Tensor> outputs);

  // The same with all that the next call needs.
  struct Ready {
    std::shared_ptr<const Compiled> compiled;
    std::unique_ptr<RunState> state;
  };

  const Of of_;
  std::mutex mutex_;
  RecentPlans<std::shared_ptr<const Compiled>> compiled_;
  // The first of compiled_ that needs no state: calls of it are the cheapest that there are. It is kept, so that they
  // may read it without taking it away from others.
  std::shared_ptr<const Compiled> stateless_;
  std::atomic<const Compiled*> stateless_ready_ = nullptr;
  ObjectPool<Ready> ready_;  // of those used last: calls need no lock for them
};

}  // namespace panto
