// Prepares nodes of a placed graph for running, for all executors. Internal.
#pragma once

#include <memory>
#include <span>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/runtime/executable.h"
#include "panto/lib/runtime/plan/planning.h"

namespace panto {

// Returns the node's prepared call on `device`, with the node's state from `states`. `planning`: for functions that it
// calls. Errors name the node's line.
std::shared_ptr<dispatch::Prepared> prepare_node(const Node& node, std::span<const Tensor> abstract_values,
                                                 Device& device, NodeStates* states,
                                                 const std::shared_ptr<const Planning>& planning);
// The outputs of a kVariableHandle node, which are the same in every run.
dispatch::Outputs look_up_handles(const Node& node, const std::shared_ptr<ResourceManager>& resources);
// Removes the attributes that only prepare_node reads (kNodeIdentity).
void forget_identities(Graph& graph);

}  // namespace panto
