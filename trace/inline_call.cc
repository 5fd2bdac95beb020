// Inlined calls of functions: calls the function's ops one by one, inside transforms and for recorders that want the
// single ops.
#include <algorithm>
#include <vector>

#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/call/thread_state.h"
#include "panto/lib/core/op/function_body.h"
#include "panto/lib/graph/functions/replay.h"
#include "panto/ops/array.h"
#include "panto/trace/concrete.h"
#include "panto/trace/possible_gradients.h"

namespace panto {

// Whether the call must be inlined for a transform: it uses tensors of the transform, or draws random numbers, which
// transforms treat specially.
bool ConcreteFunction::is_transformed(Arguments args) const {
  if (thread_state().transforms.empty()) return false;
  const auto lifted = [](const Tensor& t) { return t.defined() && t.is_meta() && t.impl()->meta->lifted != nullptr; };
  if (std::ranges::any_of(args, [&](const Tensor* t) { return lifted(*t); })) return true;
  if (std::ranges::any_of(parts_.captures, [&](const Capture& c) { return lifted(c.value); })) return true;
  return draws_numbers_;
}

const ConcreteFunction::Inlined& ConcreteFunction::inlined(int orders) const {
  {
    const std::lock_guard lock(inlined_mutex_);
    if (const auto it = inlined_.find(orders); it != inlined_.end()) return it->second;
  }
  // Not under the lock, as making a function ready inlines functions that it calls, and one may call itself.
  Inlined made{parts_.graph, {}};
  if (orders > 0) make_ready_for_gradients(made.graph, parts_.outputs, all_inputs_, orders);
  std::vector<int> roots = parts_.effects;
  for (NodeOutput o : parts_.outputs) roots.push_back(o.node);
  const std::vector<uint8_t> needed =
      reach(made.graph, std::move(roots), std::vector<uint8_t>(static_cast<size_t>(made.graph.id_limit()), 0));
  made.nodes = made.graph.topological_order();
  std::erase_if(made.nodes, [&](int id) { return needed[static_cast<size_t>(id)] == 0; });
  const std::lock_guard lock(inlined_mutex_);
  return inlined_.try_emplace(orders, std::move(made)).first->second;
}

void ConcreteFunction::inline_checked(Arguments args, std::span<Tensor> outputs) const {
  std::vector<Tensor> checked;
  checked.reserve(args.size());
  std::vector<const Tensor*> inputs(args.begin(), args.end());
  for (size_t i = 0; i < args.size(); ++i) {
    const PartialShape& known = args[i]->partial_shape();
    const PartialShape& expected = parts_.graph.info(parts_.inputs[i]).shape;
    if (known.merged_with(expected) == known) continue;
    checked.push_back(ensure_shape(*args[i], expected));
    inputs[i] = &checked.back();
  }
  inline_call(inputs, outputs);
}

void ConcreteFunction::inline_call(Arguments args, std::span<Tensor> outputs) const {
  const LibraryScope inside;
  const bool symbolic = symbolic_recorder() != nullptr ||
                        std::ranges::any_of(args, [](const Tensor* t) { return t->defined() && t->is_meta(); });
  const Inlined& inlined = this->inlined(symbolic && calls_functions_ ? wanted_gradient_orders() : 0);
  Replay replay(inlined.graph);
  for (size_t i = 0; i < args.size(); ++i) replay.set(parts_.inputs[i].node, {*args[i]});
  for (const Capture& c : parts_.captures) replay.set(c.input.node, {c.value});
  replay.must_run(parts_.effects);
  for (int id : inlined.nodes) replay.run(id);
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = replay.value(parts_.outputs[i]);
}

}  // namespace panto
