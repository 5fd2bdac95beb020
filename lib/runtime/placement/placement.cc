#include "panto/lib/runtime/placement/placement.h"

#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/runtime/placement/placer.h"

namespace panto {

Graph place_graph(const Graph& graph, const PlacementOptions& options) {
  Graph placed = graph;
  refuse_unknown(placed);
  Device& usual = options.device.empty() ? cpu_device() : find_device(options.device);
  place_and_expand(placed, usual, options.soft_placement, options.costs);
  return placed;
}

}  // namespace panto
