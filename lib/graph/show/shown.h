// Text fragments for graphs, shared by the text and the picture. Internal.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "panto/lib/core/op/attr.h"
#include "panto/lib/graph/graph.h"

namespace panto {

// The text of a value; a tensor's text is on one line.
std::string shown_on_a_line(const AttrValue& value);
// "float32[2,?]"; "?" if nothing is known.
std::string output_text(const OutputInfo& output);
// Names and values of the attributes, except those that follow from the inputs or equal their defaults.
std::vector<std::pair<std::string, std::string>> attr_texts(const Node& node);
// Every node after its inputs; among nodes that could come next, the one with the smaller name. Depends on nothing but
// the graph itself. Nodes on cycles come last, by name, so that a faulty graph can still be printed.
std::vector<int> printing_order(const Graph& graph);

}  // namespace panto
