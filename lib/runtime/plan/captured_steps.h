// Steps of a plan that a device captures once and then replays as a whole: on a GPU, one graph launch replaces the
// launches of the steps' kernels. Internal.
//
// Captured work contains addresses, so it is launched only while everything that it reads and writes is where it was at
// capture. Temporaries of the arena never move. Small inputs and outputs that do move get a fixed place ("staged"), to
// or from which they are copied. If larger ones move, the steps run one by one, and are captured again as long as that
// pays. Variables are locked and checked while the work is launched: it changes them in place, so nothing else may
// share a value that it overwrites.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/runtime/executable.h"
#include "panto/lib/runtime/plan/plan.h"

namespace panto {

// A range of steps, with the values that it exchanges with the rest of the plan.
struct CapturableSteps {
  uint32_t first = 0, end = 0;
  Device* device = nullptr;
  std::vector<uint32_t> inputs =
      {};  // positions in PartPlan::inputs, one for each feed or earlier temporary that may move
  std::vector<uint32_t> outputs = {};  // temporaries outside the arena that later steps or fetches read
  struct Handle {
    uint32_t input = 0;  // position in PartPlan::inputs
    bool written = false;
  };
  std::vector<Handle> variables = {};
};

// Returns the ranges of a part's steps that are worth capturing, in order: steps of known shapes on one device that
// captures, which read no values in host memory and draw no random numbers. Precondition: the part's memory is planned.
std::vector<CapturableSteps> find_capturable(const Plan& plan, size_t part);

// The captured work of one range of steps, owned by a run state.
class CapturedSteps {
 public:
  // Both arguments must outlive the object.
  CapturedSteps(const PartPlan& plan, const CapturableSteps& steps);
  ~CapturedSteps();
  CapturedSteps(const CapturedSteps&) = delete;
  CapturedSteps& operator=(const CapturedSteps&) = delete;

  const CapturableSteps& steps() const noexcept { return steps_; }
  // Runs the steps: replays captured work, or calls `one_by_one`, which must run them singly. Precondition: the steps'
  // inputs are set in `state`.
  void run(PartState& state, const Callable<void()>& one_by_one);

 private:
  bool look(PartState& state);
  bool stage(size_t i, const Tensor& like);
  bool capture(PartState& state, const Callable<void()>& one_by_one);
  bool launch(PartState& state);
  class Locks;

  const PartPlan& plan_;
  const CapturableSteps& steps_;
  bool looked_ = false;
  bool refused_ = false;
  int64_t captures_ = 0;
  int64_t launches_ = 0;
  // By input, then by output: the address at the last run, and the staged copy, if any.
  std::vector<const void*> places_;
  std::vector<Tensor> staged_;
  struct Place {
    std::weak_ptr<Resource> variable;  // weak: tells it from a new variable at the same address
    const void* value = nullptr;       // where it was
  };
  struct Captured {
    std::unique_ptr<CapturedWork> work;  // null: nothing is captured
    std::vector<Place> variables;
  } captured_;
};

}  // namespace panto
