// panto optimize MODEL OUT: runs the passes over a graph and its functions, writes the result, and shows the savings.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/apps/commands.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/core/op/library.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/graph/flow/raise.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/lib/runtime/placement/graph_costs.h"
#include "panto/lib/runtime/recompute.h"

namespace panto::apps {
namespace {

struct NamedShape {
  std::string name;
  PartialShape shape;
};

// Parses "x=32,784"; "x=" is the shape of a scalar.
NamedShape named_shape(const std::string& text) {
  const size_t equals = text.find('=');
  const auto refuse = [&] { invalid("--shape: expected NAME=DIMS as in x=32,784, got '{}'", text); };
  if (equals == std::string::npos || equals == 0) refuse();
  std::vector<int64_t> dims;
  for (size_t at = equals + 1; at < text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    int64_t dim = -1;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + comma, dim);
    if (error != std::errc() || end != text.data() + comma || dim < 0 || comma + 1 == text.size()) refuse();
    dims.push_back(dim);
    at = comma + 1;
  }
  return {text.substr(0, equals), PartialShape(dims)};
}

// Returns the shapes of those Placeholders that are still in the graph.
std::vector<std::pair<NodeOutput, PartialShape>> shapes_of(const Graph& graph, const std::vector<NamedShape>& shapes) {
  std::vector<std::pair<NodeOutput, PartialShape>> given;
  for (const auto& [name, shape] : shapes) {
    if (graph.find(name) != nullptr) given.emplace_back(graph.output(name), shape);
  }
  return given;
}

std::string text_of(std::optional<double> value) { return value ? fmt::format("{:.0f}", *value) : "unknown"; }
std::string text_of(std::optional<int64_t> value) { return value ? fmt::format("{}", *value) : "unknown"; }

void print_table(const GraphCosts& before, const GraphCosts& after) {
  const auto row = [](std::string_view what, const std::string& was, const std::string& is) {
    fmt::print("{:<20}{:>16}{:>16}\n", what, was, is);
  };
  row("", "before", "after");
  row("nodes", std::to_string(before.nodes), std::to_string(after.nodes));
  row("functions", std::to_string(before.functions), std::to_string(after.functions));
  row("nodes of functions", std::to_string(before.function_nodes), std::to_string(after.function_nodes));
  row("flops", text_of(before.operations), text_of(after.operations));
  row("bytes moved", text_of(before.bytes_moved), text_of(after.bytes_moved));
  row("peak bytes", text_of(before.peak_bytes), text_of(after.peak_bytes));
}

void print_runs(const std::vector<PassRun>& runs) {
  for (const PassRun& run : runs) {
    if (!run.error.empty()) {
      fmt::print(stderr, "{} was left out: {}\n", printable(run.name), escaped(run.error));
    } else if (run.changes != 0) {
      fmt::print("{:<20}{:>16} changes\n", run.name, run.changes);
    }
  }
}

// Fetches and targets keep their names; control flow that contains them is not raised.
void raise_loops(Graph& graph, const OptimizeOptions& options) {
  std::vector<int> kept;
  for (const std::string& name : options.fetches) kept.push_back(graph.output(name).node);
  for (const std::string& name : options.targets) kept.push_back(graph.at(name).id());
  const Raised raised = raise_control_flow(graph, kept);
  fmt::print("{:<20}{:>16}\n{:<20}{:>16}\n", "loops raised", raised.loops, "conditionals raised", raised.conditionals);
}

}  // namespace

void optimize_file(const OptimizeOptions& options) {
  for (const std::string& library : options.libraries) load_library(library);
  for (const std::string& library : options.pass_libraries) load_pass_library(library);
  const std::string passes = options.own_ops ? options.passes : portable_passes(options.passes);
  check_passes(passes);
  std::vector<NamedShape> shapes;
  for (const std::string& text : options.shapes) shapes.push_back(named_shape(text));
  Graph graph = read_graph(options.model);
  if (options.raise_loops) raise_loops(graph, options);
  for (const auto& [name, shape] : shapes) graph.output(name);  // throws if it is missing
  std::vector<NodeOutput> fetches;
  std::vector<int> targets;
  for (const std::string& name : options.fetches) fetches.push_back(graph.output(name));
  for (const std::string& name : options.targets) targets.push_back(graph.at(name).id());
  const GraphCosts before = graph_costs(graph, shapes_of(graph, shapes));
  std::vector<PassRun> runs;
  Graph optimized = optimize_with_functions(graph, fetches, targets, passes, &runs);
  if (options.memory_limit >= 0) {
    optimized = recompute_within(optimized, options.memory_limit, shapes_of(optimized, shapes));
  }
  const GraphCosts after = graph_costs(optimized, shapes_of(optimized, shapes));
  write_graph(optimized, options.out, {.own_ops = options.own_ops});
  print_table(before, after);
  print_runs(runs);
}

}  // namespace panto::apps
