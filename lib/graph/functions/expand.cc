#include "panto/lib/graph/functions/expand.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "panto/lib/base/fnv.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/core/call/composite.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/flow/flow.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/graph/functions/replay.h"
#include "panto/lib/graph/nodes.h"

namespace panto {

namespace {

AttrValue value_of(const Call& call, size_t position) {
  return to_value(call.attrs[position], call.op->signature().attrs[position].kind);
}

constexpr size_t kLong = 200;  // length of names and identities, in characters

// The scope for the nodes from a node of that name. A long name, as in deeply nested calls, is cut to its parent scope:
// otherwise the total length of names would grow with the square of the depth.
std::string scope_of(const std::string& name) {
  return name.size() < kLong ? name : name.substr(0, std::min(name.rfind('/'), name.size()));
}

// Shortens an identity in the same way: a hash stands for it.
std::string short_identity(const std::string& identity) {
  if (identity.size() < kLong) return identity;
  return fmt::format("#{:016x}", fnv1a(identity));
}

// Records the op calls of a body as nodes.
class BodyRecorder final : public Recorder, public ReplayWriter {
 public:
  BodyRecorder(Graph& graph, const NodeSpec& outer, std::span<const Tensor* const> inputs, bool in_flow)
      : graph_(graph), outer_(outer), scope_(scope_of(outer.name)), in_flow_(in_flow) {
    for (size_t i = 0; i < inputs.size(); ++i) outputs_[inputs[i]->id()] = outer.inputs[i];
  }

  bool keeps(const Call&) override { return false; }
  bool symbolic() const override { return true; }
  void record_custom(std::span<const Tensor>, std::span<const Tensor>, std::shared_ptr<CustomBackward>) override {
    fail(Code::kUnimplemented, "composite op: expected a body of ops, got a custom operation");
  }

  void record(const Call& call) override {
    NodeSpec spec;
    if (outer_.op != nullptr && outer_.op->is_composite()) dispatch::expect_effects(*outer_.op, *call.op);
    spec.op = call.op;
    spec.place = outer_.place;
    spec.name = name_within(call.op->name());
    spec.device = outer_.device;
    spec.where = outer_.where;
    bool reads_new = false;
    for (const Tensor* input : call.inputs) {
      spec.inputs.push_back(output_of(*input));
      reads_new = reads_new || spec.inputs.back().node >= first_;
    }
    if (!reads_new) spec.control_inputs = call.inputs.empty() && in_flow_ ? anchors() : outer_.control_inputs;
    spec.control_inputs.insert(spec.control_inputs.end(), also_.begin(), also_.end());
    for (size_t i = 0; i < call.attrs.size(); ++i) spec.attrs.push_back(value_of(call, i));
    if (call.op->has_effects() || call.op->is_composite()) give_identity(spec);
    for (const Tensor& output : call.outputs) spec.outputs.push_back(info_of(output));
    const int id = latest_ = graph_.add(std::move(spec));
    if (call.op->has_effect(Effect::kWrites | Effect::kExternal)) effects_.push_back(id);
    for (size_t k = 0; k < call.outputs.size(); ++k) {
      outputs_[call.outputs[k].id()] = {id, static_cast<int>(k)};
    }
  }

  // The output that a tensor of the body stands for. A real tensor becomes a constant.
  NodeOutput output_of(const Tensor& tensor) {
    if (const auto found = outputs_.find(tensor.id()); found != outputs_.end()) return found->second;
    if (tensor.is_meta())
      fail(Code::kInternal, "composite op: expected tensors of its own, got a foreign symbolic one");
    NodeSpec spec = const_spec(name_within("Const"), tensor);
    spec.where = outer_.where;
    spec.place = outer_.place;
    if (in_flow_) spec.control_inputs = anchors();
    const NodeOutput made{graph_.add(std::move(spec)), 0};
    outputs_.emplace(tensor.id(), made);
    kept_.push_back(tensor);  // keeps the tensor, so that its id is not reused
    return made;
  }

  // Control inputs for nodes without data inputs, so that they run in the composite's round of a loop, and are dead if
  // the composite is dead.
  const std::vector<int>& anchors() {
    if (!anchors_.empty()) return anchors_;
    anchors_ = outer_.control_inputs;
    for (const NodeOutput& input : outer_.inputs) {
      int id = input.node;
      if (graph_.at(id).is(OpKind::kSwitch)) {  // waiting for a Switch does not tell its outputs apart
        NodeSpec spec = identity_spec(name_within("Identity"), input, graph_.info(input));
        spec.device = outer_.device;
        spec.where = outer_.where;
        spec.place = outer_.place;
        id = graph_.add(std::move(spec));
      }
      if (std::ranges::find(anchors_, id) == anchors_.end()) anchors_.push_back(id);
    }
    return anchors_;
  }

  // Gives the node the composite's identity, extended by its number.
  void give_identity(NodeSpec& spec) {
    for (const auto& [name, value] : outer_.internal_attrs) {
      if (name != kNodeIdentity) continue;
      spec.internal_attrs.emplace_back(
          kNodeIdentity, AttrValue(fmt::format("{}/{}", short_identity(value.as<std::string>()), num_identities_++)));
    }
  }

  int latest_node() const override { return latest_; }
  std::vector<int> wait_also(std::vector<int> nodes) override { return std::exchange(also_, std::move(nodes)); }
  void must_run(int node) override {
    if (std::ranges::find(effects_, node) == effects_.end()) effects_.push_back(node);
  }

  bool made_here(NodeOutput output) const { return output.node >= first_; }
  // Nodes with effects outside of the body, besides its outputs.
  const std::vector<int>& effects() const { return effects_; }

 private:
  // A free name different from the outer name, which the node of the outputs will get.
  std::string name_within(std::string_view of) {
    std::string base = fmt::format("{}/{}", scope_, of), name = graph_.unique_name(base);
    while (name == outer_.name) name = graph_.unique_name(base += "_1");
    return name;
  }

  Graph& graph_;
  const NodeSpec& outer_;
  const std::string scope_;
  const bool in_flow_;  // the composite may be in a loop or a branch
  std::vector<int> anchors_;
  const int first_ = graph_.id_limit();
  std::unordered_map<int64_t, NodeOutput> outputs_;  // by tensor id
  std::vector<Tensor> kept_;
  std::vector<int> effects_;  // node ids
  int latest_ = -1;
  std::vector<int> also_;  // additional control inputs of calls
  int num_identities_ = 0;
};

// The results of recording a body.
struct Made {
  std::vector<NodeOutput> sources;  // of the outputs
  AbstractValues abstract_values;
  std::vector<int> effects;
  bool one_node = false;  // the output's node has no other output
};

Made record_body(Graph& graph, const NodeSpec& spec, std::span<const Tensor* const> inputs, bool in_flow,
                 const std::function<std::vector<Tensor>()>& body) {
  Made made;
  std::vector<Tensor> outputs;
  const RecorderPause others;
  BodyRecorder recorder(graph, spec, inputs, in_flow);
  {
    const RecorderScope scope(&recorder);
    outputs = body();
  }
  for (const Tensor& output : outputs) made.sources.push_back(recorder.output_of(output));
  made.abstract_values = AbstractValues(outputs.begin(), outputs.end());
  made.effects = recorder.effects();
  made.one_node = made.sources.size() == 1 && made.sources[0].index == 0 && recorder.made_here(made.sources[0]) &&
                  graph.at(made.sources[0].node).num_outputs() == 1;
  return made;
}

// The op that returns its inputs, and its attributes.
std::pair<const Op*, std::vector<AttrValue>> identity_of(const Graph& graph, const std::vector<NodeOutput>& sources) {
  if (sources.empty()) return {&get_op("NoOp"), {}};
  std::vector<DType> types;
  for (const NodeOutput& source : sources) types.push_back(graph.info(source).dtype);
  if (types.size() == 1) return {&get_op("Identity"), {AttrValue(types[0])}};
  return {&get_op("IdentityN"), {AttrValue(types)}};
}

// Adds a node of the outer name that returns the body's results.
int add_identity(Graph& graph, const NodeSpec& outer, const Made& made) {
  NodeSpec spec;
  std::tie(spec.op, spec.attrs) = identity_of(graph, made.sources);
  spec.name = outer.name;
  spec.inputs = made.sources;
  spec.device = outer.device;
  spec.where = outer.where;
  spec.place = outer.place;
  spec.control_inputs = outer.control_inputs;
  spec.control_inputs.insert(spec.control_inputs.end(), made.effects.begin(), made.effects.end());
  spec.internal_attrs = outer.internal_attrs;
  for (const NodeOutput& source : made.sources) spec.outputs.push_back(graph.info(source));
  return graph.add(std::move(spec));
}

// Abstract values of nodes' inputs, for bodies: with the shapes of the graph, and with known integers for host inputs.
class AbstractInputs {
 public:
  explicit AbstractInputs(const Graph& graph) : graph_(graph) {}

  Tensor of(const Node& node, int slot) {
    const NodeOutput input = node.input(slot);
    const Node& producer = graph_.at(input.node);
    if (producer.is(OpKind::kConstant)) return producer.attr("value").as<Tensor>();
    const OutputInfo& info = producer.output(input.index);
    std::optional<PartialValues> values;
    if (is_host_input(node, slot)) values = values_of(input);
    return meta_tensor(info.dtype, info.shape, std::move(values));
  }

 private:
  // Runs inference only when it is needed, so that not every composite costs a pass over the graph.
  std::optional<PartialValues> values_of(NodeOutput output) {
    if (!inference_) {
      inference_.emplace(graph_);
      for (int id : graph_.topological_order()) inference_->run(graph_.at(id));
    }
    return inference_->has(output) ? known_integers(inference_->at(output)) : std::nullopt;
  }

  const Graph& graph_;
  std::optional<Inference> inference_;
};

Made record_body_of(Graph& graph, const NodeSpec& spec, const std::vector<Tensor>& inputs, bool in_flow) {
  const SmallVector<const Tensor*, 8> pointers = dispatch::pointers_to(inputs);
  return with_context([&] { return "node '" + spec.name + "'"; },
                      [&] {
                        return record_body(graph, spec, pointers, in_flow, [&] {
                          const SmallVector<AttrSlot, 8> slots = borrow(spec.attrs);
                          const dispatch::Outputs made = dispatch::call_body(*spec.op, pointers, slots);
                          return std::vector<Tensor>(made.begin(), made.end());
                        });
                      });
}

NodeSpec outer_spec(const Node& node) {
  NodeSpec spec = node.spec();
  spec.place = node.place();
  return spec;
}

std::vector<Tensor> inputs_of(const Node& node, AbstractInputs& abstract_inputs) {
  std::vector<Tensor> inputs;
  for (int slot = 0; slot < node.num_inputs(); ++slot) inputs.push_back(abstract_inputs.of(node, slot));
  return inputs;
}

Expansion named(Graph& graph, const NodeSpec& spec, Made made) {
  Expansion result;
  result.abstract_values = std::move(made.abstract_values);
  if (made.one_node && std::ranges::all_of(made.effects, [&](int id) { return id == made.sources[0].node; })) {
    const int node = made.sources[0].node;
    graph.rename(node, spec.name);
    for (const auto& [name, value] : spec.internal_attrs) graph.set_internal_attr(node, name, value);
    result.outputs = made.sources;
    return result;
  }
  const int identity = add_identity(graph, spec, made);
  for (size_t k = 0; k < made.sources.size(); ++k) result.outputs.push_back({identity, static_cast<int>(k)});
  return result;
}

}  // namespace

bool is_composite(const Node& node) { return node.op().is_composite() && !is_unknown(node); }

Expansion expand_body(Graph& graph, const NodeSpec& spec, std::span<const Tensor* const> inputs,
                      const std::function<std::vector<Tensor>()>& body) {
  return named(graph, spec, record_body(graph, spec, inputs, graph.has_control_flow(), body));
}

bool CallTrail::is_in(const Callee& callee, int place) const {
  // In deeply nested calls, check at some depths only: checking each would take quadratic time, and endless recursion
  // is still found, because it comes again.
  constexpr int kEveryLevel = 64;
  const int depth = place < 0 ? 0 : places_[static_cast<size_t>(place)].depth;
  if (depth > kEveryLevel && !std::has_single_bit(static_cast<unsigned>(depth))) return false;
  for (; place >= 0; place = places_[static_cast<size_t>(place)].around) {
    if (places_[static_cast<size_t>(place)].callee == callee) return true;
  }
  return false;
}

void CallTrail::expanding(const Graph& graph, int id, const std::function<void()>& expand) {
  int place = -1;
  if (const auto known = within_.find(id); known != within_.end()) {
    place = known->second;
    within_.erase(known);
  }
  for_each_function(graph.at(id), [&](const FunctionRef& function) {
    Callee callee = function.body != nullptr ? Callee{function.body, ""} : Callee{function.library, function.name};
    if (is_in(callee, place)) {
      invalid("function '{}': expected one that ends, got one that always calls itself", printable(function.name));
    }
    const int depth = place < 0 ? 1 : places_[static_cast<size_t>(place)].depth + 1;
    places_.push_back({.callee = std::move(callee), .around = place, .depth = depth});
    place = static_cast<int>(places_.size() - 1);
  });
  const int first = graph.id_limit();
  expand();
  if (place < 0) return;
  for (int made = first; made < graph.id_limit(); ++made) {
    const Node* node = graph.find(made);
    if (node == nullptr || !is_composite(*node)) continue;
    bool calls = false;
    for_each_function(*node, [&](const FunctionRef&) { calls = true; });
    if (calls) within_[made] = place;
  }
}

void expand_composites(Graph& graph, const std::function<bool(const Node&)>& which) {
  const auto expands = [&](int id) { return is_composite(graph.at(id)) && which(graph.at(id)); };
  CallTrail trail;
  // Bodies may contain composites.
  while (std::ranges::any_of(graph.ids(), expands)) {
    AbstractInputs abstract_inputs(graph);
    const auto expand = [&](int id, bool in_flow) {
      const std::vector<Tensor> inputs = inputs_of(graph.at(id), abstract_inputs);
      const NodeSpec spec = outer_spec(graph.at(id));
      graph.rename(id, graph.unique_name(spec.name));  // the node of the outputs takes the name
      Expansion expansion;
      trail.expanding(graph, id, [&] { expansion = named(graph, spec, record_body_of(graph, spec, inputs, in_flow)); });
      for (size_t k = 0; k < expansion.outputs.size(); ++k) {
        graph.replace_output({id, static_cast<int>(k)}, expansion.outputs[k]);
      }
      graph.replace_control(id, graph.at(spec.name).id());
      graph.remove(id);
    };
    const std::vector<FlowPlace> places = flow_of(graph).places;
    for (int id : graph.topological_order()) {
      if (!expands(id)) continue;
      const bool in_flow = !places.empty() && places[static_cast<size_t>(id)] != FlowPlace::kOutside;
      for_calls_within(graph, id, expands, [&](int call) { expand(call, in_flow); });
    }
  }
}

void for_calls_within(const Graph& graph, int id, const std::function<bool(int)>& which,
                      const std::function<void(int)>& expand) {
  std::vector<int> calls = {id};
  while (!calls.empty()) {
    const int call = calls.back();
    calls.pop_back();
    const int first = graph.id_limit();
    expand(call);
    for (int made = graph.id_limit() - 1; made >= first; --made) {
      const Node* node = graph.find(made);
      if (node != nullptr && node->is(OpKind::kCall) && which(made)) calls.push_back(made);
    }
  }
}

void expand_in_place(Graph& graph, int id, CallTrail& trail) {
  AbstractInputs abstract_inputs(graph);
  const std::vector<Tensor> inputs = inputs_of(graph.at(id), abstract_inputs);
  Made made;
  trail.expanding(graph, id,
                  [&] { made = record_body_of(graph, outer_spec(graph.at(id)), inputs, graph.has_control_flow()); });
  auto [op, attrs] = identity_of(graph, made.sources);
  graph.replace_op(id, *op, made.sources, std::move(attrs));
  for (const int effect : made.effects) graph.add_control_input(id, effect);
}

}  // namespace panto
