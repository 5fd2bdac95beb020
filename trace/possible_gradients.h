// Gradients of graphs in which some ops have none, and preparations for gradients. Internal.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/graph/graph.h"

namespace panto {

// As `gradients` in graph_gradients.h, but calls without a gradient are treated as constants instead of throwing;
// `stopped` is set to whether there was one.
std::vector<NodeOutput> possible_gradients(Graph& graph, std::span<const NodeOutput> ys, std::span<const NodeOutput> xs,
                                           std::span<const NodeOutput> seeds,
                                           std::span<const std::pair<NodeOutput, Tensor>> known, bool& stopped);

// The first step of both: expands composites on paths from `xs` to `ys` that have no gradient of their own, so that
// values that the gradients of their bodies read are in the graph.
void expand_for_gradients(Graph& graph, std::span<const NodeOutput> ys, std::span<const NodeOutput> xs);

// Makes conditionals and loops on paths from `xs` to `ys` also return the values that gradients of this many orders
// will read.
void make_ready_for_gradients(Graph& graph, std::span<const NodeOutput> ys, std::span<const NodeOutput> xs, int orders);

// For each of `ys`, the bit set of positions in `xs` that it depends on along differentiable paths.
std::vector<std::vector<uint64_t>> gradient_ways(const Graph& graph, std::span<const NodeOutput> ys,
                                                 std::span<const NodeOutput> xs);

}  // namespace panto
