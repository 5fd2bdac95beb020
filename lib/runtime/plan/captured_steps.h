// Steps of a plan that a device captures and from then on does as a whole: on a GPU one graph is launched instead of
// each step's kernels. Internal.
//
// Captured work has addresses in it, so it is launched only while all that it reads and writes is where it was when it
// was captured. Temporaries of the arena always are. Small tensors that come from outside or go there and turn out to
// move are copied to or from a place of their own; where others move the steps run one by one, and are captured again
// as long as that pays. Variables are locked, and looked at, while the work is launched: it changes them in place, so
// nobody else may hold a value that it would write over.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/runtime/executable.h"
#include "panto/lib/runtime/plan/plan.h"

namespace panto {

// Which steps, and what they have to do with the rest of the plan.
struct CapturableSteps {
  uint32_t first = 0, end = 0;
  Device* device = nullptr;
  std::vector<uint32_t> inputs =
      {};  // positions in PartPlan::inputs, one for each feed or earlier temporary that may move
  std::vector<uint32_t> outputs = {};  // temporaries that are not in the arena and are asked for later
  struct Handle {
    uint32_t input = 0;  // position in PartPlan::inputs
    bool written = false;
  };
  std::vector<Handle> variables = {};
};

// The stretches of a part's steps that are worth it, in order: steps on one device that captures, of known shapes,
// which look at no values in host memory and draw no random numbers. Precondition: its memory is planned.
std::vector<CapturableSteps> find_capturable(const Plan& plan, size_t part);

// A run state's own: what was captured of one stretch.
class CapturedSteps {
 public:
  // Both must outlive it.
  CapturedSteps(const PartPlan& plan, const CapturableSteps& steps);
  ~CapturedSteps();
  CapturedSteps(const CapturedSteps&) = delete;
  CapturedSteps& operator=(const CapturedSteps&) = delete;

  const CapturableSteps& steps() const noexcept { return steps_; }
  // Does the work of the steps; `one_by_one` runs them. Precondition: the state's inputs for them are set.
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
  // Of inputs, then outputs: where they were at the last run, or the place of their own.
  std::vector<const void*> places_;
  std::vector<Tensor> staged_;
  struct Place {
    std::weak_ptr<Resource> variable;  // not kept alive, but told from another one at its address
    const void* value = nullptr;       // where it was
  };
  struct Captured {
    std::unique_ptr<CapturedWork> work;  // null: nothing is captured
    std::vector<Place> variables;
  } captured_;
};

}  // namespace panto
