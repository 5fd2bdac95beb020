// panto show MODEL: what a graph holds.
#include <fmt/core.h>

#include <map>
#include <string>

#include "panto/apps/commands.h"
#include "panto/lib/core/op.h"
#include "panto/lib/graph/endpoints.h"
#include "panto/lib/graph/io.h"

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

}  // namespace

void show(const ShowOptions& options) {
  for (const std::string& library : options.libraries) load_library(library);
  const Graph graph = read_graph(options.model);
  if (options.dot) {
    fmt::print("{}", graph.to_dot());
  } else if (options.nodes) {
    fmt::print("{}", graph.to_string());
  } else {
    summary(graph);
  }
}

}  // namespace panto::apps
