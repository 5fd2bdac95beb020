// TensorFlow 1's loops and conditionals as the While and If nodes that they stand for. Internal.
//
//   const Raised raised = raise_control_flow(graph, kept);
//   y = raised.find(graph, y);
//
// A loop of Enter, Merge, Switch, NextIteration and Exit becomes a While, of which a plan runs round after round: that
// is faster than to look after every node that became ready, and it has a gradient. What tf.while_loop and tf.cond of
// TensorFlow 1 write can be raised; a loop or a conditional of another form stays as it is, and the dataflow executor
// runs it (lib/runtime/dataflow). So does one in which a node waits for others: all of a While runs on one thread.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/functions/endpoints.h"
#include "panto/lib/graph/graph.h"

namespace panto {

struct PANTO_EXPORT Raised {
  int loops = 0, conditionals = 0;         // that were raised
  std::map<NodeOutput, NodeOutput> moved;  // what Exits and Merges gave

  // Where an output of the graph is now; invalid if it is inside of what was raised.
  NodeOutput find(const Graph& graph, NodeOutput output) const;
};

// Nodes that are not part of what is raised keep their ids; what Exits and Merges gave is given by nodes of their
// names. `kept`: ids of nodes that are read or run by others than the graph: what they are inside of is not raised.
// Throws what Frames throws, and where shapes do not fit.
PANTO_EXPORT Raised raise_control_flow(Graph& graph, std::span<const int> kept);

// The same of a graph with endpoints, which are kept and are those of the graph as it is then.
PANTO_EXPORT Raised raise_control_flow(Graph& graph, Endpoints& endpoints);
// Ids of the nodes of endpoints.
std::vector<int> nodes_of(const Endpoints& endpoints);

}  // namespace panto
