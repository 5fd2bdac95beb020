#include "panto/lib/graph/infer.h"

#include <utility>

#include "panto/lib/base/format.h"
#include "panto/lib/base/quote.h"
#include "panto/lib/core/call/bind.h"
#include "panto/lib/core/call/composite.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/graph/files/unknown.h"

namespace panto {

namespace {

using Slots = SmallVector<AttrSlot, 8>;

// Fills in the slots that are not set. `filled` hears of it before the op's shape function is asked.
template <class Filled>
AbstractValues infer_slots(const Op& op, std::span<const Tensor* const> inputs, Slots& slots, const Filled& filled) {
  dispatch::BindStorage storage;
  Call call;
  call.op = &op;
  call.inputs = inputs;
  call.attrs = slots;
  call.device = &meta_device();
  call.symbolic = true;
  try {
    dispatch::bind_inputs(call, storage);
    filled();
    dispatch::bind_outputs(call);
    if (op.shape() != nullptr) {
      ShapeContext context(call);
      op.shape()(context);
    } else {
      dispatch::infer_from_body(call);
    }
  } catch (Error& error) {
    error.add_context("in " + describe(call));
    throw;
  }
  if (op.is(OpKind::kConstant)) {
    const AttrSlot& value = slots[static_cast<size_t>(op.signature().find_attr("value"))];
    return {*static_cast<const Tensor*>(value.p)};
  }
  AbstractValues outputs;
  for (OutputSpec& spec : call.specs) {
    outputs.push_back(meta_tensor(spec.dtype, spec.shape, std::move(spec.values), nullptr, std::move(spec.handle)));
  }
  return outputs;
}

}  // namespace

AbstractValues infer_call(const Op& op, std::span<const Tensor* const> inputs, std::vector<AttrValue>& attrs) {
  const Signature& signature = op.signature();
  attrs.resize(signature.attrs.size());
  Slots slots = borrow(attrs);
  return infer_slots(op, inputs, slots, [&] {
    for (size_t i = 0; i < attrs.size(); ++i) {
      if (attrs[i].kind() == AttrKind::kNone) attrs[i] = to_value(slots[i], signature.attrs[i].kind);
    }
  });
}

AbstractValues infer_call(const Op& op, std::span<const Tensor* const> inputs, std::span<const AttrValue> attrs) {
  Slots slots = borrow(attrs);
  return infer_slots(op, inputs, slots, [] {});
}

std::string node_context(const Node& node) {
  const std::string line = node.where().to_string();
  return fmt::format("node '{}'{}", printable(node.name()), line.empty() ? "" : " at " + line);
}

OutputInfo info_of(const Tensor& abstract_value) { return {abstract_value.dtype(), abstract_value.partial_shape()}; }

void Inference::set(NodeOutput output, Tensor abstract_value) {
  if (abstract_values_.size() <= static_cast<size_t>(output.node)) {
    abstract_values_.resize(static_cast<size_t>(graph_.id_limit()));
  }
  AbstractValues& of_node = abstract_values_[static_cast<size_t>(output.node)];
  if (of_node.size() <= static_cast<size_t>(output.index)) of_node.resize(static_cast<size_t>(output.index) + 1);
  of_node[static_cast<size_t>(output.index)] = std::move(abstract_value);
}

void Inference::run(const Node& node) {
  if (abstract_values_.size() <= static_cast<size_t>(node.id()))
    abstract_values_.resize(static_cast<size_t>(graph_.id_limit()));
  AbstractValues& known = abstract_values_[static_cast<size_t>(node.id())];
  bool done = node.num_outputs() > 0 && known.size() == static_cast<size_t>(node.num_outputs());
  for (const Tensor& t : known) done = done && t.defined();
  if (done) return;
  if (is_unknown(node)) {
    // Nothing is asked of its inputs, which may come later where a loop is closed.
    known.resize(static_cast<size_t>(node.num_outputs()));
    for (size_t k = 0; k < known.size(); ++k) {
      const OutputInfo& info = node.output(static_cast<int>(k));
      if (!known[k].defined()) known[k] = meta_tensor(info.dtype, info.shape);
    }
    return;
  }
  SmallVector<const Tensor*, 8> inputs;
  for (const NodeOutput& input : node.inputs()) inputs.push_back(&at(input));
  AbstractValues inferred =
      with_context([&] { return node_context(node); }, [&] { return infer_call(node.op(), inputs, node.attrs()); });
  for (size_t k = 0; k < known.size() && k < inferred.size(); ++k) {
    if (known[k].defined()) inferred[k] = known[k];
  }
  known = std::move(inferred);
}

std::vector<OutputInfo> Inference::infos(const Node& node) const {
  std::vector<OutputInfo> out;
  for (const Tensor& t : abstract_values_[static_cast<size_t>(node.id())]) out.push_back(info_of(t));
  return out;
}

void infer_shapes(Graph& graph) {
  Inference inference(graph);
  for (int id : graph.topological_order()) {
    const Node& node = graph.at(id);
    inference.run(node);
    graph.set_outputs(id, inference.infos(node));
  }
}

}  // namespace panto
