#include "panto/lib/graph/functions/replay.h"

#include <utility>

#include "panto/lib/base/small_vector.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/flow/flow.h"

namespace panto {

dispatch::Outputs call_node(const Node& node, std::span<const Tensor* const> inputs, Device* device) {
  const SmallVector<AttrSlot, 8> slots = borrow(node.attrs());
  dispatch::CallOptions options;
  options.node_name = node.name();
  options.device = device;
  return dispatch::call(node.op(), inputs, slots, options);
}

void Replay::run(int id) {
  if (has(id)) return;
  const Node& node = graph_.at(id);
  if (is_unknown(node)) fail_unknown(node);
  refuse_control_flow(node);
  SmallVector<const Tensor*, 8> inputs;
  for (const NodeOutput& input : node.inputs()) inputs.push_back(&value(input));
  set(id, call_node(node, inputs));
}

}  // namespace panto
