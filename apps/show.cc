// panto show MODEL: what a graph holds.
#include <fmt/core.h>

#include <map>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "panto/apps/commands.h"
#include "panto/lib/core/op.h"
#include "panto/lib/graph/endpoints.h"
#include "panto/lib/graph/outline.h"

namespace panto::apps {
namespace {

std::string endpoint_text(const Graph& graph, NodeOutput output) {
  const OutputInfo& info = graph.info(output);
  return fmt::format("{:<28} {}{}", graph.output_name(output), dtype_name(info.dtype), info.shape.to_string());
}

void summary(const Graph& graph) {
  std::map<std::string, int> by_op;
  int64_t constant_bytes = 0;
  for (int id : graph.ids()) {
    const Node& node = graph.at(id);
    ++by_op[node.op().name()];
    if (node.has(Trait::kConstant)) {
      constant_bytes += static_cast<int64_t>(node.attr("value").as<Tensor>().nbytes());
    }
  }
  fmt::print("nodes      {}\nconstants  {} bytes\nversions   producer {}, min_consumer {}\n", graph.num_nodes(),
             constant_bytes, graph.versions().producer, graph.versions().min_consumer);
  const Endpoints endpoints = endpoints_or_order(graph);
  fmt::print("inputs\n");
  for (NodeOutput o : endpoints.inputs) fmt::print("  {}\n", endpoint_text(graph, o));
  fmt::print("outputs\n");
  for (NodeOutput o : endpoints.outputs) fmt::print("  {}\n", endpoint_text(graph, o));
  if (!endpoints.effects.empty()) fmt::print("targets\n");
  for (int id : endpoints.effects) fmt::print("  {}\n", graph.at(id).name());
  fmt::print("ops\n");
  for (const auto& [op, count] : by_op) fmt::print("  {:<28} {}\n", op, count);
}

void summary(const Outline& outline) {
  std::map<std::string, int> by_op;
  std::vector<bool> read(outline.nodes.size());
  for (const OutlineNode& node : outline.nodes) {
    ++by_op[Outline::op_text(node)];
    for (const NodeOutput& input : node.inputs) read[static_cast<size_t>(input.node)] = true;
    for (int control : node.control_inputs) read[static_cast<size_t>(control)] = true;
  }
  fmt::print("nodes      {}\nversions   producer {}, min_consumer {}\n", outline.nodes.size(),
             outline.versions.producer, outline.versions.min_consumer);
  fmt::print("inputs\n");
  for (const OutlineNode& node : outline.nodes) {
    if (node.kind == OutlineNode::Kind::kPlaceholder) fmt::print("  {}\n", outline.node_text(node));
  }
  fmt::print("read by no node\n");
  for (size_t i = 0; i < outline.nodes.size(); ++i) {
    if (!read[i]) fmt::print("  {}\n", outline.nodes[i].name);
  }
  fmt::print("ops\n");
  for (const auto& [op, count] : by_op) fmt::print("  {:<28} {}\n", op, count);
}

void show_outline(const Outline& outline, const ShowOptions& options) {
  if (options.dot) {
    fmt::print("{}", outline.to_dot());
    std::istringstream missing(outline.missing_text());
    for (std::string line; std::getline(missing, line);) fmt::print("// {}\n", line);
    return;
  }
  if (options.nodes) {
    fmt::print("{}", outline.to_string());
  } else {
    summary(outline);
  }
  fmt::print("{}", outline.missing_text());
}

}  // namespace

void show(const ShowOptions& options) {
  for (const std::string& library : options.libraries) load_library(library);
  const auto shown = read_to_show(options.model);
  if (const auto* outline = std::get_if<Outline>(&shown)) return show_outline(*outline, options);
  const Graph& graph = std::get<Graph>(shown);
  if (options.dot) {
    fmt::print("{}", graph.to_dot());
  } else if (options.nodes) {
    fmt::print("{}", graph.to_string());
  } else {
    summary(graph);
  }
}

}  // namespace panto::apps
