// A graph in the language of Graphviz, to draw pictures.
//
//   write_file("g.dot", graph_dot(graph, {.most_boxes = 100}));     // then: dot -Tsvg g.dot -o g.svg
#pragma once

#include <string>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/graph.h"

namespace panto {

struct DotOptions {
  // 0: every node is a box, with its attributes. Otherwise name scopes ("layer/") are frames around their nodes, and
  // the innermost scopes are collapsed into one box each until there are at most this many boxes.
  int most_boxes = 0;
  // Colours nodes by device, and draws edges between devices thick. Requires that every node has a device.
  bool devices = false;
};

// Throws ResourceExhausted if there are more boxes than `most_boxes` although every scope is one box.
PANTO_EXPORT std::string graph_dot(const Graph& graph, const DotOptions& options = {});

}  // namespace panto
