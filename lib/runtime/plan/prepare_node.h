// What makes nodes of a placed graph ready to run, for any executor. Internal.
#pragma once

#include <memory>
#include <span>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/runtime/executable.h"
#include "panto/lib/runtime/plan/planning.h"

namespace panto {

// The node's call on `device`, with the state that executables of the instance share. `planning`: of functions that it
// calls. Errors name the node's line.
std::shared_ptr<dispatch::Prepared> prepare_node(const Node& node, std::span<const Tensor> abstract_values,
                                                 Device& device, NodeStates* states,
                                                 const std::shared_ptr<const Planning>& planning);
// What a node of the kind kVariableHandle gives in every run.
dispatch::Outputs look_up_handles(const Node& node, const std::shared_ptr<ResourceManager>& resources);
// Takes away what only these need to know of a node.
void forget_identities(Graph& graph);

}  // namespace panto
