// A function's call as the calls of the ops that it is made of: inside transforms, and where a trace or a tape that
// wants to hear of them records.
#include <algorithm>
#include <vector>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/thread_state.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/trace/concrete.h"

namespace panto {

// Inside a transform a function is the ops that it is made of, where they are called with tensors of the transform or
// draw random numbers, of which transforms have something to say.
bool ConcreteFunction::is_transformed(Arguments args) const {
  if (thread_state().transforms.empty()) return false;
  const auto lifted = [](const Tensor& t) { return t.defined() && t.is_meta() && t.impl()->meta->lifted != nullptr; };
  if (std::ranges::any_of(args, [&](const Tensor* t) { return lifted(*t); })) return true;
  if (std::ranges::any_of(parts_.captures, [&](const Capture& c) { return lifted(c.value); })) return true;
  return draws_numbers_;
}

// What a call runs, inputs first.
const std::vector<int>& ConcreteFunction::needed_nodes() const {
  std::call_once(needed_once_, [&] {
    std::vector<int> roots = parts_.effects;
    for (NodeOutput o : parts_.outputs) roots.push_back(o.node);
    const std::vector<uint8_t> needed =
        reach(parts_.graph, std::move(roots), std::vector<uint8_t>(static_cast<size_t>(parts_.graph.id_limit()), 0));
    needed_ = parts_.graph.topological_order();
    std::erase_if(needed_, [&](int id) { return needed[static_cast<size_t>(id)] == 0; });
  });
  return needed_;
}

void ConcreteFunction::inline_call(Arguments args, std::span<Tensor> outputs) const {
  const LibraryScope inside;
  const Graph& graph = parts_.graph;
  std::vector<dispatch::Outputs> values(static_cast<size_t>(graph.id_limit()));
  for (size_t i = 0; i < args.size(); ++i) values[static_cast<size_t>(parts_.inputs[i].node)].push_back(*args[i]);
  for (const Capture& c : parts_.captures) values[static_cast<size_t>(c.input.node)].push_back(c.value);
  for (int id : needed_nodes()) {
    auto& made = values[static_cast<size_t>(id)];
    if (!made.empty()) continue;  // an argument or a capture
    const Node& node = graph.at(id);
    if (is_unknown(node)) fail_unknown(node);
    SmallVector<const Tensor*, 8> inputs;
    for (NodeOutput in : node.inputs()) {
      inputs.push_back(&values[static_cast<size_t>(in.node)][static_cast<size_t>(in.index)]);
    }
    SmallVector<AttrSlot, 8> slots;
    for (const AttrValue& a : node.attrs()) slots.push_back(borrow(a));
    dispatch::CallOptions options;
    options.node_name = node.name();
    made = dispatch::call(node.op(), inputs, slots, options);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const NodeOutput o = parts_.outputs[i];
    outputs[i] = values[static_cast<size_t>(o.node)][static_cast<size_t>(o.index)];
  }
}

}  // namespace panto
