// GraphCosts: an estimate of what one run of a graph computes, moves and keeps in memory. Shown by `panto optimize`.
//
//   const GraphCosts costs = graph_costs(graph);
//   std::cout << costs.operations.value_or(0) << " operations";
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/graph.h"

namespace panto {

// A value is nullopt if it is not known because a shape is not known.
struct GraphCosts {
  int nodes = 0;           // of the graph itself
  int functions = 0;       // functions that they call, each counted once
  int function_nodes = 0;  // nodes of those functions
  // For all nodes with kernels, including those of called functions: a loop's body counts CostModel::kRounds times, a
  // conditional counts its most expensive branch.
  std::optional<double> operations;
  std::optional<double> bytes_moved;  // read and written
  // Memory that plans of the graph as it is, and of its functions, reserve for values (PlanStats::planned_bytes),
  // without feeds and fetches. nullopt if no plan can be made, and for graphs with loops or conditionals of TensorFlow
  // 1.
  std::optional<int64_t> peak_bytes;
};

// `shapes`: shapes of Placeholders, more precise than the graph's. Throws InvalidArgument if they contradict the graph.
PANTO_EXPORT GraphCosts graph_costs(const Graph& graph,
                                    std::span<const std::pair<NodeOutput, PartialShape>> shapes = {});

}  // namespace panto
