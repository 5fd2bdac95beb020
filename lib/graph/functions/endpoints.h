// Inputs, outputs and effects of a graph that stands for a function, and how a file says which they are. Internal.
//
// A saved function says it by internal attributes of nodes, which TensorFlow keeps when it reads and writes a graph:
//   _function_input: [i, n]    a Placeholder: input i of n
//   _function_output: [i, n]   a node whose first output is output i of n
//   _function_effect: true     a node that every call runs, whether or not an output needs it
// A graph without any of them is foreign: the order is that of its nodes.
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

// As the graph says, or endpoints_by_order if it says nothing. Throws InvalidArgument where an input or an output is
// missing or said twice.
PANTO_EXPORT Endpoints endpoints_of(const Graph& graph);
// Inputs are the Placeholders, outputs those of nodes that nobody consumes, effects the nodes without outputs that
// nobody waits for.
PANTO_EXPORT Endpoints endpoints_by_order(const Graph& graph);
// The same for who only shows a graph: by order too where it says nothing that holds.
PANTO_EXPORT Endpoints endpoints_or_order(const Graph& graph);
// Makes the graph say so, and nothing else. Outputs must be the first ones of their nodes, each once.
PANTO_EXPORT void write_endpoints(Graph& graph, const Endpoints& endpoints);
PANTO_EXPORT void erase_endpoints(Graph& graph);
// Nodes of `to` say what nodes of those names say in `from`, and nothing else.
void copy_endpoints(const Graph& from, Graph& to);
// Whether the graph says that the node is an output or an effect.
bool is_endpoint(const Node& node);
// The same values at nodes of which each has that one output and no consumers, where need be behind an Identity.
std::vector<NodeOutput> separate_outputs(Graph& graph, std::span<const NodeOutput> outputs);

}  // namespace panto
