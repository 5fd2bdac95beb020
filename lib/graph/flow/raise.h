// Converts TensorFlow 1's loops and conditionals into equivalent While and If nodes. Internal.
//
//   const Raised raised = raise_control_flow(graph, kept);
//   y = raised.find(graph, y);
//
// A loop of Enter, Merge, Switch, NextIteration and Exit becomes a While, whose rounds are runs of one plan. That is
// faster than tracking every node that becomes ready, and it has a gradient. The forms that TensorFlow 1's
// tf.while_loop and tf.cond write can be converted. Other forms stay, and the dataflow executor runs them
// (lib/runtime/dataflow). So does a loop or conditional in which a node waits for other nodes: a While runs on one
// thread.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/functions/endpoints.h"
#include "panto/lib/graph/graph.h"

namespace panto {

struct PANTO_EXPORT Raised {
  int loops = 0, conditionals = 0;         // numbers of those converted
  std::map<NodeOutput, NodeOutput> moved;  // new places of the outputs of Exits and Merges

  // The new place of an output of the graph; invalid if it is inside a converted loop or conditional.
  NodeOutput find(const Graph& graph, NodeOutput output) const;
};

// Nodes outside of converted parts keep their ids; outputs of Exits and Merges come from new nodes with the same names.
// `kept`: ids of nodes that are read or run from outside the graph; a loop or conditional with such a node inside
// stays. Throws what Frames throws, and if shapes do not fit.
PANTO_EXPORT Raised raise_control_flow(Graph& graph, std::span<const int> kept);

// The same for a graph with endpoints: their nodes are kept, and they are updated to the new graph.
PANTO_EXPORT Raised raise_control_flow(Graph& graph, Endpoints& endpoints);
// Ids of the nodes that the endpoints refer to.
std::vector<int> nodes_of(const Endpoints& endpoints);

}  // namespace panto
