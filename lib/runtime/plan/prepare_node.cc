#include "panto/lib/runtime/plan/prepare_node.h"

#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/functions/replay.h"
#include "panto/lib/graph/nodes.h"

namespace panto {

namespace {

std::string line_context(const Node& node) {
  const std::string line = node.where().to_string();
  return line.empty() ? "in a graph" : "at " + line;
}

void share_state(const Node& node, dispatch::Prepared& prepared, NodeStates* states) {
  if (prepared.state() == nullptr || !node.op().has_effects() || states == nullptr) return;
  const AttrValue* identity = node.internal_attr(kNodeIdentity);
  if (identity == nullptr) {
    failf(Code::kInternal, "identity: expected one of a node that keeps a state, got none [node '{}']", node.name());
  }
  prepared.set_state(states->share(identity->as<std::string>(), prepared.state()));
}

}  // namespace

std::shared_ptr<dispatch::Prepared> prepare_node(const Node& node, std::span<const Tensor> abstract_values,
                                                 Device& device, NodeStates* states,
                                                 const std::shared_ptr<const Planning>& planning) {
  std::shared_ptr<dispatch::Prepared> prepared =
      with_context([&] { return line_context(node); },
                   [&] { return dispatch::prepare(node.op(), abstract_values, node.attrs(), device, node.name()); });
  share_state(node, *prepared, states);
  if (auto* planner = dynamic_cast<FunctionPlanner*>(prepared->state().get())) {
    prepared->set_state(planner->in_plan(planning));
  }
  return prepared;
}

dispatch::Outputs look_up_handles(const Node& node, const std::shared_ptr<ResourceManager>& resources) {
  Step step = current_step();
  step.resources = resources;
  const StepScope scope(step);
  return call_node(node, {}, &cpu_device());
}

void forget_identities(Graph& graph) {
  for (int id : graph.ids()) {
    if (!graph.at(id).internal_attrs().empty()) graph.set_internal_attr(id, kNodeIdentity, {});
  }
}

}  // namespace panto
