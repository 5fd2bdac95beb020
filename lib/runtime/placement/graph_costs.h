// GraphCosts: what one run of a graph computes, moves and keeps, before it runs. What `panto optimize` shows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/graph.h"

namespace panto {

// What is not known, as some shape is not, is std::nullopt.
struct GraphCosts {
  int nodes = 0;           // of the graph itself
  int functions = 0;       // that they call, each once
  int function_nodes = 0;  // of those
  // Of the nodes that kernels run, with what the functions do that they call: a loop's as often as CostModel::kRounds
  // says, of branches the largest.
  std::optional<double> operations;
  std::optional<double> bytes_moved;  // read and written
  // Of the values that a plan of the graph as it is, and those of the functions, make room for beforehand
  // (PlanStats::planned_bytes), without what is fed and given out. Nothing of a graph that no plan can be made of, and
  // of one with loops or conditionals of TensorFlow 1.
  std::optional<int64_t> peak_bytes;
};

// `shapes`: more than the graph says of some of its Placeholders. Throws InvalidArgument where they do not fit.
PANTO_EXPORT GraphCosts graph_costs(const Graph& graph,
                                    std::span<const std::pair<NodeOutput, PartialShape>> shapes = {});

}  // namespace panto
