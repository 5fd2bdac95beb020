#include "panto/lib/graph/flow/raise.h"

#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/flow/raise_parts.h"
#include "panto/lib/graph/infer.h"
#include "panto/lib/graph/nodes.h"

namespace panto {

NodeOutput Raised::find(const Graph& graph, NodeOutput output) const {
  if (const auto found = moved.find(output); found != moved.end()) return found->second;
  return graph.find(output.node) == nullptr ? NodeOutput() : output;
}

namespace raise {

int Work::replace(int from, NodeOutput value) {
  const Node& old = graph.at(from);
  NodeSpec spec = identity_spec(graph.unique_name(old.name()), value, old.output(0));
  spec.place = old.place();
  spec.where = old.where();
  spec.internal_attrs = old.internal_attrs();  // a function's output
  const int id = graph.add(std::move(spec));
  graph.replace_output({from, 0}, {id, 0});
  graph.replace_control(from, id);
  if (is_kept(from)) kept.insert(id);
  moved[{from, 0}] = {id, 0};
  std::string name = old.name();
  while (!graph.at(from).control_inputs().empty()) graph.remove_control_input(from, graph.at(from).control_inputs()[0]);
  graph.rename(from, graph.unique_name(name + "_raised"));
  graph.rename(id, std::move(name));
  return id;
}

void FunctionMaker::add_input(NodeOutput output, OutputInfo info) {
  const int id = graph_.add(placeholder_spec(graph_.unique_name(fmt::format("arg_{}", inputs_.size())), info));
  inputs_.push_back({id, 0});
  values_[output] = inputs_.back();
}

void FunctionMaker::copy(int id) {
  const Node& node = from_.at(id);
  NodeSpec spec = node.spec();
  for (NodeOutput& in : spec.inputs) in = values_.at(in);
  std::vector<int> controls;
  for (const int c : spec.control_inputs) {
    if (const auto found = nodes_.find(c); found != nodes_.end()) controls.push_back(found->second);
  }
  spec.control_inputs = std::move(controls);
  spec.name = graph_.unique_name(spec.name);
  spec.place = -1;
  const int to = graph_.add(std::move(spec));
  nodes_[id] = to;
  for (int k = 0; k < node.num_outputs(); ++k) values_[{id, k}] = {to, k};
}

NodeOutput FunctionMaker::add_constant(std::string_view name, const Tensor& value) {
  return {graph_.add(const_spec(graph_.unique_name(name), value)), 0};
}

std::shared_ptr<const GraphFunction> FunctionMaker::make(std::string name, std::vector<NodeOutput> outputs) {
  infer_shapes(graph_);
  Work work{graph_, {}, {}};
  for (const NodeOutput& o : outputs) work.kept.insert(o.node);
  if (raise_conditionals(work) > 0) infer_shapes(graph_);
  for (NodeOutput& o : outputs) {
    while (work.moved.contains(o)) o = work.moved.at(o);
  }
  std::vector<int> effects;
  for (const int id : graph_.ids()) {
    if (effects_of(graph_, {&id, 1}) != 0) effects.push_back(id);
  }
  return std::make_shared<GraphFunction>(std::move(name), std::move(graph_),
                                         Endpoints{std::move(inputs_), std::move(outputs), std::move(effects)});
}

std::vector<AttrValue> attributes(const Op& op, std::vector<std::pair<std::string_view, AttrValue>> set) {
  std::vector<AttrValue> attrs(op.signature().attrs.size());
  for (auto& [name, value] : set) attrs[static_cast<size_t>(op.signature().find_attr(name))] = std::move(value);
  return attrs;
}

bool waits(const Node& node) {
  if (is_unknown(node)) return false;
  if (node.is(OpKind::kSend) || node.is(OpKind::kReceive)) return true;
  const int p = node.op().primary_attr();
  const DType type = p < 0 ? DType::kInvalid : node.attrs()[static_cast<size_t>(p)].as<DType>();
  return node.op().kernel(DeviceKind::kCpu, type).start != nullptr;
}

std::string scope_of(const Node& node, std::string_view otherwise) {
  const size_t slash = node.name().rfind('/');
  return slash == std::string::npos ? std::string(otherwise) : node.name().substr(0, slash);
}

void remove_all(Graph& graph, const std::set<int>& nodes) {
  // Break the cycles: let each Merge read its initial value instead of its back edge.
  for (const int id : nodes) {
    const Node& node = graph.at(id);
    for (int slot = 1; slot < node.num_inputs(); ++slot) {
      if (is_back_edge(graph.at(node.input(slot).node), node, slot)) graph.set_input(id, slot, node.input(0));
    }
  }
  std::vector<int> free;
  for (const int id : nodes) {
    if (graph.at(id).consumers().empty()) free.push_back(id);
  }
  while (!free.empty()) {
    const int id = free.back();
    free.pop_back();
    std::set<int> producers(graph.at(id).control_inputs().begin(), graph.at(id).control_inputs().end());
    for (const NodeOutput& in : graph.at(id).inputs()) producers.insert(in.node);
    graph.remove(id);
    for (const int p : producers) {
      if (nodes.contains(p) && graph.at(p).consumers().empty()) free.push_back(p);
    }
  }
}

}  // namespace raise

Raised raise_control_flow(Graph& graph, std::span<const int> kept) {
  Raised raised;
  if (!graph.has_control_flow()) return raised;
  raise::Work work{graph, {kept.begin(), kept.end()}, {}};
  raised.loops = raise::raise_loops(work);
  raised.conditionals = raise::raise_conditionals(work);
  if (raised.loops + raised.conditionals > 0) infer_shapes(graph);
  for (const auto& [from, to] : work.moved) {
    NodeOutput now = to;
    while (work.moved.contains(now)) now = work.moved.at(now);
    if (graph.find(now.node) != nullptr) raised.moved[from] = now;
  }
  return raised;
}

std::vector<int> nodes_of(const Endpoints& endpoints) {
  std::vector<int> nodes = endpoints.effects;
  for (const NodeOutput& o : endpoints.inputs) nodes.push_back(o.node);
  for (const NodeOutput& o : endpoints.outputs) nodes.push_back(o.node);
  return nodes;
}

Raised raise_control_flow(Graph& graph, Endpoints& endpoints) {
  Raised raised = raise_control_flow(graph, nodes_of(endpoints));
  for (NodeOutput& o : endpoints.inputs) o = raised.find(graph, o);
  for (NodeOutput& o : endpoints.outputs) o = raised.find(graph, o);
  for (int& id : endpoints.effects) id = raised.find(graph, {id, 0}).node;
  return raised;
}

}  // namespace panto
