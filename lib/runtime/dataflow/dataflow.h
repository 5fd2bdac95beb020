// The dataflow executor, for graphs with TensorFlow 1 control flow or asynchronous kernels: a node runs as soon as its
// inputs have arrived (run_flow). Internal.
#pragma once

#include <memory>
#include <vector>

#include "panto/lib/runtime/dataflow/flow_plan.h"
#include "panto/lib/runtime/executable.h"

namespace panto {

std::shared_ptr<Executable> make_dataflow(FlowPlan plan);

// Throws InvalidArgument, naming the output, if one of `outputs` is inside a loop. `role`, for the message: "feed",
// "fetch" or "target".
void expect_outside_of_loops(const Graph& graph, const char* role, std::span<const NodeOutput> outputs);

}  // namespace panto
