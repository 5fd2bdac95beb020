// The executor of graphs in which what runs, and how often, is decided while they run, or that wait for several things
// at once: nodes run when what they need is there (run_flow). Internal.
#pragma once

#include <memory>
#include <vector>

#include "panto/lib/runtime/dataflow/flow_plan.h"
#include "panto/lib/runtime/executable.h"

namespace panto {

std::shared_ptr<Executable> make_dataflow(FlowPlan plan);

// Throws InvalidArgument, naming it, where one of these outputs is in a loop: of `role` "feed" or "fetch".
void expect_outside_of_loops(const Graph& graph, const char* role, std::span<const NodeOutput> outputs);

}  // namespace panto
