// Makes Functions from existing graphs: files, FunctionDefs, and graphs with names of inputs and outputs.
#include <algorithm>
#include <set>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/files/function_io.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/graph/flow/raise.h"
#include "panto/lib/graph/functions/endpoints.h"
#include "panto/lib/graph/nodes.h"
#include "panto/lib/runtime/rewrite.h"
#include "panto/trace/concrete.h"
#include "panto/trace/control/raise_arrays.h"
#include "panto/trace/function.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

// Every Placeholder that is needed must be an input.
void check_inputs(const Graph& graph, const Endpoints& endpoints) {
  std::vector<int> roots = endpoints.effects;
  for (NodeOutput o : endpoints.outputs) roots.push_back(o.node);
  std::vector<uint8_t> is_input(static_cast<size_t>(graph.id_limit()), 0);
  for (NodeOutput o : endpoints.inputs) is_input[static_cast<size_t>(o.node)] = 1;
  const std::vector<uint8_t> needed = reach(graph, std::move(roots), is_input);
  for (int id : graph.ids()) {
    const Node& node = graph.at(id);
    const auto at = static_cast<size_t>(id);
    if (needed[at] == 0 || is_input[at] != 0 || !node.is(OpKind::kPlaceholder)) continue;
    invalid("inputs of the function: expected every Placeholder that the outputs need, got '{}' that is none",
            node.name());
  }
}

ConcretePtr concrete_of(Graph graph, Endpoints endpoints) {
  check_inputs(graph, endpoints);
  // Raise TensorFlow 1's loops and conditionals to While and If where possible, as these have gradients.
  raise_arrays(graph, nodes_of(endpoints));
  raise_control_flow(graph, endpoints);
  ConcreteFunction::Parts parts;
  for (NodeOutput in : endpoints.inputs) {
    const OutputInfo& info = graph.info(in);
    parts.specs.emplace_back(info.dtype, info.shape, graph.at(in.node).name());
  }
  parts.graph = std::move(graph);
  parts.inputs = std::move(endpoints.inputs);
  parts.outputs = std::move(endpoints.outputs);
  parts.effects = std::move(endpoints.effects);
  parts.states = new_states();
  return std::make_shared<ConcreteFunction>(std::move(parts));
}

// Makes an output an input: returns it if it is a Placeholder's, else replaces it by a new Placeholder.
NodeOutput as_input(Graph& graph, NodeOutput output) {
  const Node& node = graph.at(output.node);
  if (node.is(OpKind::kPlaceholder)) return output;
  const NodeOutput input{graph.add(placeholder_spec(graph.unique_name(node.name()), node.output(output.index))), 0};
  graph.replace_output(output, input);
  // If its only output is given, nodes that wait for it need not wait for the node to run.
  if (graph.at(output.node).num_outputs() == 1) graph.replace_control(output.node, input.node);
  return input;
}

}  // namespace

Function function_of(Graph graph) {
  Endpoints endpoints = endpoints_of(graph);
  return function_of(concrete_of(std::move(graph), std::move(endpoints)));
}

Function function_of(Graph graph, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  std::vector<NodeOutput> wanted;
  for (const std::string& name : outputs) wanted.push_back(graph.output(name));
  std::vector<NodeOutput> given;
  std::set<NodeOutput> seen;
  for (const std::string& name : inputs) {
    given.push_back(graph.output(name));
    if (seen.insert(given.back()).second) continue;
    invalid("inputs of the function: expected each once, got '{}' twice", graph.output_name(given.back()));
  }
  Endpoints endpoints;
  std::vector<std::pair<int, std::string>> names;  // names to give to inputs once the old nodes are removed
  for (const NodeOutput o : given) {
    const std::string name = graph.at(o.node).name();
    endpoints.inputs.push_back(as_input(graph, o));
    std::ranges::replace(wanted, o, endpoints.inputs.back());
    names.emplace_back(endpoints.inputs.back().node, name);
  }
  endpoints.outputs = separate_outputs(graph, wanted);
  std::vector<int> roots;
  for (NodeOutput o : endpoints.inputs) roots.push_back(o.node);
  for (NodeOutput o : endpoints.outputs) roots.push_back(o.node);
  remove_dead(graph, roots);
  for (auto& [input, name] : names) {
    if (graph.find(name) == nullptr) graph.rename(input, std::move(name));
  }
  write_endpoints(graph, endpoints);
  return function_of(concrete_of(std::move(graph), std::move(endpoints)));
}

namespace {

Function function_of(const GraphFunction& function) {
  Graph graph = function.graph();
  Endpoints endpoints = function.endpoints();
  endpoints.outputs = separate_outputs(graph, endpoints.outputs);
  write_endpoints(graph, endpoints);
  return function_of(std::move(graph));
}

}  // namespace

Function function_from_def(std::string_view bytes) { return function_of(*parse_function_def(bytes)); }
Function function_from_library(std::string_view bytes, const std::string& name) {
  return function_of(*parse_function_library(bytes, name));
}

namespace {

Graph read_saved(const std::string& path) {
  if (is_folder(path)) {
    failf(Code::kUnimplemented, "load: expected a .pb or .pbtxt file, got the folder '{}' (a SavedModel)", path);
  }
  return read_graph(path);
}

}  // namespace

Function load(const std::string& path) {
  Graph graph = read_saved(path);
  return with_context([&] { return path; }, [&] { return function_of(std::move(graph)); });
}

Function load(const std::string& path, const std::vector<std::string>& inputs,
              const std::vector<std::string>& outputs) {
  Graph graph = read_saved(path);
  return with_context([&] { return path; }, [&] { return function_of(std::move(graph), inputs, outputs); });
}

}  // namespace panto
