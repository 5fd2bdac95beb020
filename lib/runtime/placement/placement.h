// Where the nodes of a graph would run, without running it: for tools.
#pragma once

#include <string>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/graph.h"

namespace panto {

class CostModel;

struct PlacementOptions {
  std::string device = {};           // where nodes run that ask for no device; "": the first CPU
  bool soft_placement = false;       // as in SessionOptions
  const CostModel* costs = nullptr;  // given: placed by cost, with feeds on the first CPU
};

// A copy in which every node has the name of one of this process's devices. Composites that have no kernel where they
// are placed are the nodes of their bodies there. Throws as a run does; Unimplemented for ops that are not here.
PANTO_EXPORT Graph place_graph(const Graph& graph, const PlacementOptions& options);

}  // namespace panto
