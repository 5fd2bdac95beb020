// A graph in Graphviz's language, for pictures.
//
//   write_file("g.dot", graph_dot(graph, {.most_boxes = 100}));     // then: dot -Tsvg g.dot -o g.svg
#pragma once

#include <string>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/graph.h"

namespace panto {

struct DotOptions {
  // 0: every node is a box, with its attributes. Else name scopes ("layer/") are frames around their nodes, and the
  // innermost ones are drawn as one box each until there are no more boxes than this.
  int most_boxes = 0;
  // Nodes have the colour of their device, and what goes from device to device is thick. Every node has a device.
  bool devices = false;
};

// Throws ResourceExhausted where there are more boxes than `most_boxes` though every scope is one box.
PANTO_EXPORT std::string graph_dot(const Graph& graph, const DotOptions& options = {});

}  // namespace panto
