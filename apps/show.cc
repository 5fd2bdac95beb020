// panto show MODEL: shows the content of a graph.
#include <fmt/core.h>

#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "panto/apps/commands.h"
#include "panto/apps/picture.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/library.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/functions/endpoints.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/runtime/placement/cost_model.h"
#include "panto/lib/runtime/placement/placement.h"

namespace panto::apps {
namespace {

std::string endpoint_text(const Graph& graph, NodeOutput output) {
  const OutputInfo& info = graph.info(output);
  const std::string_view dtype = info.dtype == DType::kInvalid ? "?" : dtype_name(info.dtype);
  return fmt::format("{:<28} {}{}", graph.output_name(output), dtype, info.shape.to_string());
}

void summary(const Graph& graph) {
  std::map<std::string, int> by_op;
  int64_t constant_bytes = 0;
  for (int id : graph.ids()) {
    const Node& node = graph.at(id);
    ++by_op[op_text(node)];
    if (node.is(OpKind::kConstant)) {
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

void check_is_svg(std::string_view option, const std::string& path) {
  if (!path.ends_with(".svg")) invalid("{}: expected a path *.svg, got '{}'", option, path);
}

void draw_placement(const Graph& graph, const ShowOptions& options) {
  check_is_svg("--placement", options.placement);
  if (!options.devices.empty()) set_devices(options.devices);
  CostModel costs;
  if (!options.costs.empty()) costs.load(options.costs);
  const Graph placed = place_graph(graph, {.costs = options.by_cost ? &costs : nullptr});
  draw_dot(graph_dot(placed, {.most_boxes = options.boxes, .devices = true}), options.placement);
}

}  // namespace

void show(const ShowOptions& options) {
  for (const std::string& library : options.libraries) load_library(library);
  const Graph graph = read_graph(options.model);
  if (!options.placement.empty()) return draw_placement(graph, options);
  if (!options.svg.empty()) {
    check_is_svg("--svg", options.svg);
    draw_dot(graph_dot(graph, {.most_boxes = options.boxes}), options.svg);
    return;
  }
  const std::string missing = missing_text(graph);
  if (options.dot) {
    fmt::print("{}", graph.to_dot());
    std::istringstream lines(missing);
    for (std::string line; std::getline(lines, line);) fmt::print("// {}\n", line);
    return;
  }
  if (options.functions) {
    for (const auto& function : functions_of(graph)) fmt::print("{}\n", function->to_string());
  } else if (options.nodes) {
    fmt::print("{}", graph.to_string());
  } else {
    summary(graph);
  }
  fmt::print("{}", missing);
}

}  // namespace panto::apps
