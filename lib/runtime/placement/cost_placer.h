// Placement by cost: a simulation in which each node goes to the device where it finishes first. Internal.
#pragma once

#include <vector>

#include "panto/lib/core/tensor/device.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/runtime/placement/cost_model.h"

namespace panto {

// Nodes that must be on one device, and the possible devices; the first one wins a tie.
struct PlacementGroup {
  std::vector<int> nodes;
  std::vector<const Device*> choices;
};

struct PlacementByCost {
  std::vector<const Device*> devices;  // by group
  double seconds = 0;                  // simulated time of a run
  double single_seconds = 0;           // the same, with everything on `single` that can run there
  const Device* single = nullptr;
};

// In the simulation, a device computes one node after the other, in the graph's topological order. A node begins when
// its device has finished the nodes before it and its inputs have arrived. An input from another device is transferred
// once per reading device. Feeds are where their groups are, at time 0; constants are everywhere.
// The result is never worse than the best single device in the same simulation: if it would be, that device is used.
PANTO_EXPORT PlacementByCost place_by_cost(const Graph& graph, const std::vector<PlacementGroup>& groups,
                                           const CostModel& costs);
// The simulated time of one placement.
PANTO_EXPORT double simulated_seconds(const Graph& graph, const std::vector<PlacementGroup>& groups,
                                      const std::vector<const Device*>& devices, const CostModel& costs);

}  // namespace panto
