// Lanes: parts of a plan that run on several threads at once. Internal.
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

// Time to wake a sleeping thread (possibly the caller's, too), and time until a spinning thread sees a value. A thread
// that waits long goes to sleep.
inline constexpr double kSecondsToWake = 30e-6;
inline constexpr double kSecondsToWait = 5e-6;

// Returns the segments of each lane of the plan (Plan::lane_of), in order. Empty if there is only one lane, or if one
// thread would finish sooner: lanes take turns, or do too little work for a thread. `costs`: null means estimates.
std::vector<std::vector<size_t>> lanes_of(const Plan& plan, const CostModel* costs);

// The mutable state of a run in lanes, reused by later runs.
class LanesRun {
 public:
  // Both arguments must outlive the object.
  LanesRun(const Plan& plan, const std::vector<std::vector<size_t>>& lanes)
      : plan_(plan), lanes_(lanes), signals_(plan.edges.size()), faults_(lanes.size()) {}

  // Calls run_segment(s) for each segment; the segments of one lane run in order on one thread. A lane that fails
  // stops, and so does every lane that needs a value from it; all other lanes run to their end. So the effects of a
  // failed run do not depend on which lane was faster. The fault that comes first in the plan is thrown.
  // `shares`: divide the threads that a kernel may use among the lanes.
  void run(const Step& step, bool shares, const Callable<void(size_t)>& run_segment);

  // Called from within a segment: `give` says that the edge's value is there; `wait` blocks until it is, and throws out
  // of the segment if the value will never come.
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
