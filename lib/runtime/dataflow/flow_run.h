// One run of a FlowPlan, on the thread that asks for it. Internal.
#pragma once

#include <span>

#include "panto/lib/core/step/step.h"
#include "panto/lib/runtime/dataflow/flow_plan.h"
#include "panto/lib/runtime/dataflow/flow_state.h"

namespace panto {

// Fills in `state.fetched`. Precondition: `state` is fresh, or from a run that threw nothing; its feeds are set. Throws
// what a node throws, with the node, its line, the loop and the round; the kernels that go on are then asked to stop.
void run_flow(const FlowPlan& plan, FlowState& state, const Step& step);

}  // namespace panto
