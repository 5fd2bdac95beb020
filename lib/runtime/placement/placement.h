// Shows where the nodes of a graph would run, without running it. For tools.
//
//   std::cout << place_graph(graph, {.device = "/gpu:0"}).find("y")->device();
#pragma once

#include <string>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/graph.h"

namespace panto {

class CostModel;

struct PlacementOptions {
  std::string device = {};           // the device of nodes that ask for none; "": the first CPU
  bool soft_placement = false;       // as in SessionOptions
  const CostModel* costs = nullptr;  // if not null: place by cost, with feeds on the first CPU
};

// Returns a copy in which every node names one of this process's devices. A composite that has no kernel on its device
// is replaced by the nodes of its body. Throws as a run does; Unimplemented for unknown ops.
PANTO_EXPORT Graph place_graph(const Graph& graph, const PlacementOptions& options);

}  // namespace panto
