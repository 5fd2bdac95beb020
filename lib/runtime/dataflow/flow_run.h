// One run of a FlowPlan, on the calling thread. Internal.
#pragma once

#include <span>

#include "panto/lib/core/step/step.h"
#include "panto/lib/runtime/dataflow/flow_plan.h"
#include "panto/lib/runtime/dataflow/flow_state.h"

namespace panto {

// Fills in `state.fetched`. Precondition: `state` is new, or from a run that did not throw; its feeds are set. Throws
// the error of a node with the node, its line, the loop and the round added; asynchronous kernels that are still
// running are then asked to stop.
void run_flow(const FlowPlan& plan, FlowState& state, const Step& step);

}  // namespace panto
