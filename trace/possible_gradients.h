// Which gradients a graph has, and those as far as there are any. Internal.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/graph/graph.h"

namespace panto {

// As `gradients` in graph_gradients.h, but a call on the way that has no gradient is taken for a constant instead of
// throwing; `stopped` is set if there was one.
std::vector<NodeOutput> possible_gradients(Graph& graph, std::span<const NodeOutput> ys, std::span<const NodeOutput> xs,
                                           std::span<const NodeOutput> seeds,
                                           std::span<const std::pair<NodeOutput, Tensor>> known, bool& stopped);

// What both do first: of composites on a way from `xs` to `ys` that have no gradient of their own the parts have one,
// and what that reads must be in the graph.
void expand_for_gradients(Graph& graph, std::span<const NodeOutput> ys, std::span<const NodeOutput> xs);

// Conditionals and loops on a way from `xs` to `ys` give what gradients of so many orders will read, beside what they
// give now.
void make_ready_for_gradients(Graph& graph, std::span<const NodeOutput> ys, std::span<const NodeOutput> xs, int orders);

// From which of `xs` each of `ys` is computed along a way that a tape follows: a set of bits, by position in `xs`.
std::vector<std::vector<uint64_t>> gradient_ways(const Graph& graph, std::span<const NodeOutput> ys,
                                                 std::span<const NodeOutput> xs);

}  // namespace panto
