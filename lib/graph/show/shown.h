// Pieces of the text and the picture of a graph, for those that make one. Internal.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "panto/lib/core/op/attr.h"
#include "panto/lib/graph/graph.h"

namespace panto {

// A value; a tensor's on one line.
std::string shown_on_a_line(const AttrValue& value);
// "float32[2,?]"; "?" where nothing is known.
std::string output_text(const OutputInfo& output);
// Attributes worth reading: not those that follow from the inputs, nor defaults.
std::vector<std::pair<std::string, std::string>> attr_texts(const Node& node);
// Every node after its inputs, of two that are free the one whose name is less: depends on nothing but the graph
// itself. Nodes on cycles come last, by name, so that a graph that is at fault can still be printed.
std::vector<int> printing_order(const Graph& graph);

}  // namespace panto
