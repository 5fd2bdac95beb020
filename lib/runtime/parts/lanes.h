// Parts of a plan that run side by side. Internal.
#pragma once

#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/runtime/parts/side_by_side.h"
#include "panto/lib/runtime/placement/cost_model.h"
#include "panto/lib/runtime/plan/plan.h"

namespace panto {

// What it takes until a thread has woken up, this one perhaps, too; and until who waits for a value has it: who waits
// long sleeps.
inline constexpr double kSecondsToWake = 30e-6;
inline constexpr double kSecondsToWait = 5e-6;

// For each lane of the plan (Plan::lane_of) its segments, in their order. Empty where all is one lane, or where one
// thread would be done sooner: where lanes take turns, or do too little for a thread. `costs`: null: estimates.
std::vector<std::vector<size_t>> lanes_of(const Plan& plan, const CostModel* costs);

// What a run of them writes to, and the next one after it.
class LanesRun {
 public:
  // Both outlive it.
  LanesRun(const Plan& plan, const std::vector<std::vector<size_t>>& lanes)
      : plan_(plan), lanes_(lanes), signals_(plan.edges.size()), faults_(lanes.size()) {}

  // Calls run_segment(s) for each segment, those of one lane in their order on one thread. A lane that fails goes no
  // further, and no lane that needs what it would have made; all others end. So what a run that fails has done does not
  // depend on which lane was faster, and the fault that comes first in the plan is thrown.
  // `shares`: the lanes share the threads that a kernel may use.
  void run(const Step& step, bool shares, const Callable<void(size_t)>& run_segment);

  // From within a segment: what the edge leads to is there. `wait` ends the segment where it will not come.
  void give(size_t edge) noexcept { signals_.give(edge); }
  void wait(size_t edge);

 private:
  void run_lane(size_t lane, const Callable<void(size_t)>& run_segment);
  void give_up(size_t lane) noexcept;

  const Plan& plan_;
  const std::vector<std::vector<size_t>>& lanes_;
  Signals signals_;                                            // by edge
  std::vector<std::pair<std::exception_ptr, size_t>> faults_;  // by lane: what ended it, and in which segment
};

}  // namespace panto
