#include "panto/lib/runtime/passes/functions.h"

#include <utility>

#include "panto/lib/graph/nodes.h"
#include "panto/lib/runtime/rewrite.h"

namespace panto::passes {

std::shared_ptr<const GraphFunction> replaceable(const FunctionRef& function) {
  auto graph = std::dynamic_pointer_cast<const GraphFunction>(function.body);
  if (graph != nullptr && !graph->gradient().name.empty()) return nullptr;
  return graph;
}

NodeOutput FunctionDraft::add_input(const std::string& name, const OutputInfo& info) {
  const NodeOutput input{graph_.add(placeholder_spec(free_name(graph_, name), info)), 0};
  endpoints_.inputs.push_back(input);
  return input;
}

NodeOutput FunctionDraft::take_as_input(NodeOutput output, const OutputInfo& info) {
  const NodeOutput input = add_input(graph_.at(output.node).name() + "/before", info);
  graph_.replace_output(output, input);
  for (NodeOutput& result : endpoints_.outputs) {
    if (result == output) result = input;
  }
  return input;
}

FunctionRef FunctionDraft::finish() {
  std::vector<int> roots = endpoints_.effects;
  for (const NodeOutput& input : endpoints_.inputs) roots.push_back(input.node);
  for (const NodeOutput& output : endpoints_.outputs) roots.push_back(output.node);
  remove_dead(graph_, roots);
  std::string name = name_;
  return {name, std::make_shared<const GraphFunction>(std::move(name_), std::move(graph_), std::move(endpoints_))};
}

void add_arguments(const Graph& graph, NodeSpec& call, std::span<const NodeOutput> inputs) {
  const Signature& signature = call.op->signature();
  const int list = signature.inputs.back().type_list_attr;
  const bool gives_them = !signature.outputs.empty() && signature.outputs.back().type_list_attr == list;
  std::vector<DType> types = call.attrs[static_cast<size_t>(list)].as<std::vector<DType>>();
  const int at = signature.find_attr("output_shapes");
  AttrValue* shapes = gives_them && at >= 0 ? &call.attrs[static_cast<size_t>(at)] : nullptr;
  if (shapes != nullptr && shapes->list_length() <= 0) shapes = nullptr;  // an empty list says nothing about shapes
  for (const NodeOutput& input : inputs) {
    const OutputInfo& info = graph.info(input);
    call.inputs.push_back(input);
    types.push_back(info.dtype);
    if (!gives_them) continue;
    call.outputs.push_back(info);
    if (shapes == nullptr) continue;
    std::vector<PartialShape> known = shapes->as<std::vector<PartialShape>>();
    known.push_back(info.shape);
    *shapes = AttrValue(std::move(known));
  }
  call.attrs[static_cast<size_t>(list)] = AttrValue(std::move(types));
}

void take_place_of_call(Graph& graph, int id, int replacement) {
  std::vector<NodeOutput> with;
  for (int k = 0; k < graph.at(id).num_outputs(); ++k) with.push_back({replacement, k});
  const std::string name = graph.at(id).name();
  replace_node(graph, id, with);
  graph.remove(id);
  graph.rename(replacement, name);
}

}  // namespace panto::passes
