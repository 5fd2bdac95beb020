// Placement by cost: a simulation in which each node goes where it ends soonest. Internal.
#pragma once

#include <vector>

#include "panto/lib/core/tensor/device.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/runtime/placement/cost_model.h"

namespace panto {

// Nodes that are placed together, and where that may be; what is there comes first where it makes no difference.
struct PlacementGroup {
  std::vector<int> nodes;
  std::vector<const Device*> choices;
};

struct PlacementByCost {
  std::vector<const Device*> devices;  // by group
  double seconds = 0;                  // of a run with these, in the simulation
  double single_seconds = 0;           // the same with everything on `single` that may be there
  const Device* single = nullptr;
};

// A device computes one node after the other, in the graph's topological order. A node begins when its device has done
// with those before it and its inputs are there: when they were made and, from another device, transferred, once for
// all readers of a device. Feeds are where their groups are, at time 0; constants are everywhere.
// Never worse than the best single device in the same simulation: where it would be, everything is there.
PANTO_EXPORT PlacementByCost place_by_cost(const Graph& graph, const std::vector<PlacementGroup>& groups,
                                           const CostModel& costs);
// The simulated time of one placement.
PANTO_EXPORT double simulated_seconds(const Graph& graph, const std::vector<PlacementGroup>& groups,
                                      const std::vector<const Device*>& devices, const CostModel& costs);

}  // namespace panto
