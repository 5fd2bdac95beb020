#include "panto/lib/graph/infer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/core/call/bind.h"
#include "panto/lib/core/call/composite.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/graph/files/unknown.h"

namespace panto {

namespace {

using Slots = SmallVector<AttrSlot, 8>;

// Fills in the slots that are not set, then calls `filled`, then the op's shape function.
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
    // Needs none of its inputs, which may come later if a loop is closed.
    return take_from_graph(node);
  }
  SmallVector<const Tensor*, 8> inputs;
  for (const NodeOutput& input : node.inputs()) {
    if (node.is(OpKind::kMerge) && !has(input)) return take_from_graph(node);
    inputs.push_back(&at(input));
  }
  AbstractValues inferred =
      with_context([&] { return node_context(node); }, [&] { return infer_call(node.op(), inputs, node.attrs()); });
  for (size_t k = 0; k < known.size() && k < inferred.size(); ++k) {
    if (known[k].defined()) inferred[k] = known[k];
  }
  known = std::move(inferred);
}

void Inference::take_from_graph(const Node& node) {
  AbstractValues& known = abstract_values_[static_cast<size_t>(node.id())];
  known.resize(static_cast<size_t>(node.num_outputs()));
  for (size_t k = 0; k < known.size(); ++k) {
    const OutputInfo& info = node.output(static_cast<int>(k));
    if (!known[k].defined()) known[k] = meta_tensor(info.dtype, info.shape);
  }
}

std::vector<OutputInfo> Inference::infos(const Node& node) const {
  std::vector<OutputInfo> out;
  for (const Tensor& t : abstract_values_[static_cast<size_t>(node.id())]) out.push_back(info_of(t));
  return out;
}

namespace {

using Given = std::span<const std::pair<NodeOutput, Tensor>>;

// Merges that come before some of their inputs in the order, and the assumed shapes of their values.
class LoopShapes {
 public:
  LoopShapes(Graph& graph, Given given, std::vector<int> order)
      : graph_(graph), given_(given), order_(std::move(order)) {
    std::vector<uint8_t> seen(static_cast<size_t>(graph.id_limit()), 0);
    for (const int id : order_) {
      const Node& node = graph.at(id);
      const bool open = node.is(OpKind::kMerge) && std::ranges::any_of(node.inputs(), [&](const NodeOutput& input) {
                          return seen[static_cast<size_t>(input.node)] == 0;
                        });
      if (open) merges_.push_back({id, {}});
      seen[static_cast<size_t>(id)] = 1;
    }
  }

  // Loosens the assumed shapes, at first those that enter the loops, until they hold in every round. If that takes too
  // long, or inference fails (perhaps because of a round that never runs), nothing is assumed.
  void run() {
    constexpr int kPasses = 8;
    try {
      for (int i = 0; i < kPasses; ++i) {
        pass(i == 0);
        if (!loosen(i >= kPasses / 2)) return;
      }
    } catch (const Error& error) {
      // If the assumptions were not the cause, the error comes again below.
      log_debug(fmt::format("shapes in loops: nothing is taken for known: {}", error.what()));
    }
    for (Merge& merge : merges_) merge.shape = PartialShape();
    pass(false);
  }

 private:
  struct Merge {
    int id;
    PartialShape shape;
  };

  void pass(bool first) {
    Inference inference(graph_);
    for (const auto& [output, value] : given_) inference.set(output, value);
    size_t next = 0;
    for (const int id : order_) {
      const Node& node = graph_.at(id);
      if (next < merges_.size() && merges_[next].id == id) {
        Merge& merge = merges_[next++];
        if (first) merge.shape = begin_of(inference, node);
        set(inference, node, merge.shape);
      }
      inference.run(node);
      graph_.set_outputs(id, inference.infos(node));
    }
  }

  // What the inputs from before the loop have in common.
  static PartialShape begin_of(const Inference& inference, const Node& node) {
    std::optional<PartialShape> shape;
    for (const NodeOutput& input : node.inputs()) {
      if (!inference.has(input)) continue;
      const PartialShape& here = inference.at(input).partial_shape();
      shape = shape ? shape->in_common_with(here) : here;
    }
    return shape.value_or(PartialShape());
  }

  void set(Inference& inference, const Node& node, const PartialShape& shape) const {
    const auto type = static_cast<size_t>(node.op().signature().find_attr("T"));
    const NodeOutput value{node.id(), 0}, index{node.id(), 1};
    if (!inference.has(value)) inference.set(value, meta_tensor(node.attrs()[type].as<DType>(), shape));
    if (!inference.has(index)) inference.set(index, meta_tensor(kInt32, PartialShape{}));
  }

  // Weakens assumed shapes that do not hold; returns true if there are some. `all`: drops such a shape completely.
  bool loosen(bool all) {
    bool changed = false;
    for (Merge& merge : merges_) {
      PartialShape shape = merge.shape;
      for (const NodeOutput& input : graph_.at(merge.id).inputs()) {
        shape = shape.in_common_with(graph_.info(input).shape);
      }
      if (shape == merge.shape) continue;
      merge.shape = all ? PartialShape() : std::move(shape);
      changed = true;
    }
    return changed;
  }

  Graph& graph_;
  Given given_;
  std::vector<int> order_;
  std::vector<Merge> merges_;  // in the order of order_
};

}  // namespace

void infer_shapes(Graph& graph, Given given) {
  std::vector<int> order = graph.topological_order();
  if (graph.has_control_flow()) return LoopShapes(graph, given, std::move(order)).run();
  Inference inference(graph);
  for (const auto& [output, value] : given) inference.set(output, value);
  for (int id : order) {
    const Node& node = graph.at(id);
    inference.run(node);
    graph.set_outputs(id, inference.infos(node));
  }
}

}  // namespace panto
