#include "panto/lib/graph/expand.h"

#include <unordered_map>
#include <utility>

#include "panto/lib/base/format.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/nodes.h"

namespace panto {

namespace {

AttrValue value_of(const Call& call, size_t position) {
  return to_value(call.attrs[position], call.op->signature().attrs[position].kind);
}

// Writes down what a body does.
class BodyRecorder final : public Recorder {
 public:
  BodyRecorder(Graph& graph, const NodeSpec& outer, std::span<const Tensor* const> inputs)
      : graph_(graph), outer_(outer) {
    for (size_t i = 0; i < inputs.size(); ++i) outputs_[inputs[i]->id()] = outer.inputs[i];
  }

  bool keeps(const Call&) override { return false; }
  bool symbolic() const override { return true; }
  void record_custom(std::span<const Tensor>, std::span<const Tensor>, std::shared_ptr<CustomBackward>) override {
    fail(Code::kUnimplemented, "composite op: expected a body of ops, got a custom operation");
  }

  void record(const Call& call) override {
    NodeSpec spec;
    spec.op = call.op;
    spec.name = graph_.unique_name(fmt::format("{}/{}", outer_.name, call.op->name()));
    spec.device = outer_.device;
    spec.where = outer_.where;
    bool reads_new = false;
    for (const Tensor* input : call.inputs) {
      spec.inputs.push_back(output_of(*input));
      reads_new = reads_new || spec.inputs.back().node >= first_;
    }
    if (!reads_new) spec.control_inputs = outer_.control_inputs;
    for (size_t i = 0; i < call.attrs.size(); ++i) spec.attrs.push_back(value_of(call, i));
    if (call.op->has_effects()) give_identity(spec);
    for (const Tensor& output : call.outputs) spec.outputs.push_back(info_of(output));
    const int id = graph_.add(std::move(spec));
    for (size_t k = 0; k < call.outputs.size(); ++k) {
      outputs_[call.outputs[k].id()] = {id, static_cast<int>(k)};
    }
  }

  // The output that a tensor of the body stands for; a real tensor becomes a constant.
  NodeOutput output_of(const Tensor& tensor) {
    if (const auto found = outputs_.find(tensor.id()); found != outputs_.end()) return found->second;
    if (tensor.is_meta())
      fail(Code::kInternal, "composite op: expected tensors of its own, got a foreign symbolic one");
    NodeSpec spec;
    spec.op = &get_op("Const");
    spec.name = graph_.unique_name(outer_.name + "/Const");
    spec.where = outer_.where;
    spec.attrs.resize(spec.op->signature().attrs.size());
    spec.attrs[static_cast<size_t>(spec.op->signature().find_attr("value"))] = AttrValue(tensor);
    spec.attrs[static_cast<size_t>(spec.op->signature().find_attr("dtype"))] = AttrValue(tensor.dtype());
    spec.outputs = {info_of(tensor)};
    const NodeOutput made{graph_.add(std::move(spec)), 0};
    outputs_.emplace(tensor.id(), made);
    kept_.push_back(tensor);  // so that its id stays its own
    return made;
  }

  // That of the composite, and which of its nodes it is.
  void give_identity(NodeSpec& spec) {
    for (const auto& [name, value] : outer_.internal_attrs) {
      if (name != kNodeIdentity) continue;
      spec.internal_attrs.emplace_back(kNodeIdentity,
                                       AttrValue(fmt::format("{}/{}", value.as<std::string>(), num_identities_++)));
    }
  }

  bool made_here(NodeOutput output) const { return output.node >= first_; }

 private:
  Graph& graph_;
  const NodeSpec& outer_;
  const int first_ = graph_.id_limit();
  std::unordered_map<int64_t, NodeOutput> outputs_;  // by tensor id
  std::vector<Tensor> kept_;
  int num_identities_ = 0;
};

// One node of the outer name whose outputs are `sources`.
int add_identity(Graph& graph, const NodeSpec& outer, const std::vector<NodeOutput>& sources) {
  const bool one = sources.size() == 1;
  NodeSpec spec;
  spec.op = &get_op(one ? "Identity" : "IdentityN");
  spec.name = outer.name;
  spec.inputs = sources;
  spec.device = outer.device;
  spec.where = outer.where;
  spec.control_inputs = outer.control_inputs;
  spec.internal_attrs = outer.internal_attrs;
  std::vector<DType> types;
  for (const NodeOutput& source : sources) {
    spec.outputs.push_back(graph.info(source));
    types.push_back(graph.info(source).dtype);
  }
  spec.attrs = {one ? AttrValue(types[0]) : AttrValue(types)};
  return graph.add(std::move(spec));
}

}  // namespace

Expansion expand_body(Graph& graph, const NodeSpec& spec, std::span<const Tensor* const> inputs,
                      const std::function<std::vector<Tensor>()>& body) {
  Expansion result;
  std::vector<Tensor> made;
  const RecorderPause others;
  BodyRecorder recorder(graph, spec, inputs);
  {
    const RecorderScope scope(&recorder);
    made = body();
  }
  std::vector<NodeOutput> sources;
  for (const Tensor& output : made) sources.push_back(recorder.output_of(output));
  result.abstract_values = AbstractValues(made.begin(), made.end());
  if (sources.size() == 1 && sources[0].index == 0 && recorder.made_here(sources[0]) &&
      graph.at(sources[0].node).num_outputs() == 1) {
    graph.rename(sources[0].node, spec.name);
    for (const auto& [name, value] : spec.internal_attrs) graph.set_internal_attr(sources[0].node, name, value);
    result.outputs = sources;
    return result;
  }
  const int identity = add_identity(graph, spec, sources);
  for (size_t k = 0; k < sources.size(); ++k) result.outputs.push_back({identity, static_cast<int>(k)});
  return result;
}

Expansion expand_composite(Graph& graph, const NodeSpec& spec, std::span<const Tensor* const> inputs) {
  return expand_body(graph, spec, inputs, [&] {
    SmallVector<AttrSlot, 8> slots;
    for (const AttrValue& value : spec.attrs) slots.push_back(borrow(value));
    dispatch::CallOptions options;
    dispatch::Outputs made = dispatch::call(*spec.op, inputs, slots, options);
    return std::vector<Tensor>(made.begin(), made.end());
  });
}

void expand_composites(Graph& graph) {
  const auto expands = [](const Node& node) { return node.op().body() != nullptr && !is_unknown(node); };
  bool any = false;
  for (int id : graph.ids()) any = any || expands(graph.at(id));
  if (!any) return;
  Inference inference(graph);
  for (int id : graph.topological_order()) {
    const Node& node = graph.at(id);
    if (!expands(node)) {
      inference.run(node);
      continue;
    }
    SmallVector<const Tensor*, 8> inputs;
    for (const NodeOutput& input : node.inputs()) inputs.push_back(&inference.at(input));
    NodeSpec spec = node.spec();
    graph.rename(id, graph.unique_name(spec.name));  // the expansion takes the name
    const Expansion expansion =
        with_context([&] { return "node '" + spec.name + "'"; }, [&] { return expand_composite(graph, spec, inputs); });
    for (size_t k = 0; k < expansion.outputs.size(); ++k) {
      inference.set(expansion.outputs[k], expansion.abstract_values[k]);
      graph.replace_output({id, static_cast<int>(k)}, expansion.outputs[k]);
      // Nodes later in the order read the replacement.
    }
    if (!expansion.outputs.empty()) graph.replace_control(id, expansion.outputs[0].node);
    graph.remove(id);
  }
}

}  // namespace panto
