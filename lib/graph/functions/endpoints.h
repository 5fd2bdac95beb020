// Inputs, outputs and effects of a graph that represents a function, and how a file marks them. Internal.
//
// A saved function marks them by internal attributes of nodes, which TensorFlow keeps when it reads and writes a graph:
//   _function_input: [i, n]    a Placeholder: input i of n
//   _function_output: [i, n]   a node whose first output is output i of n
//   _function_effect: true     a node that every call runs, whether or not an output needs it
// A graph without these marks comes from elsewhere: the order of its nodes decides.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/graph.h"

namespace panto {

inline constexpr std::string_view kFunctionOutput = "_function_output";

struct Endpoints {
  std::vector<NodeOutput> inputs;  // of Placeholders
  std::vector<NodeOutput> outputs;
  std::vector<int> effects;  // nodes
};

// By the marks, or endpoints_by_order if there are none. Throws InvalidArgument if an input or output is missing or
// marked twice.
PANTO_EXPORT Endpoints endpoints_of(const Graph& graph);
// Inputs are the Placeholders; outputs are the outputs of nodes without consumers; effects are the nodes without
// outputs and without nodes that wait for them.
PANTO_EXPORT Endpoints endpoints_by_order(const Graph& graph);
// For display: falls back to endpoints_by_order if the marks are inconsistent.
PANTO_EXPORT Endpoints endpoints_or_order(const Graph& graph);
// Replaces the marks of the graph. An output must be the first output of its node, and no two may be the same.
PANTO_EXPORT void write_endpoints(Graph& graph, const Endpoints& endpoints);
PANTO_EXPORT void erase_endpoints(Graph& graph);
// Replaces the marks of nodes in `to` by those of the nodes of the same names in `from`.
void copy_endpoints(const Graph& from, Graph& to);
// True if the node is marked as an output or an effect.
bool is_endpoint(const Node& node);
// The same values as outputs of nodes that have one output and no consumers, and differ from each other: adds an
// Identity if needed.
std::vector<NodeOutput> separate_outputs(Graph& graph, std::span<const NodeOutput> outputs);

}  // namespace panto
