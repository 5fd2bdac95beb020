// Assigns the nodes of one device to several threads that run at once. Internal.
#pragma once

#include <vector>

#include "panto/lib/runtime/placement/cost_model.h"
#include "panto/lib/runtime/rewrite.h"

namespace panto {

// The expected time of a call; 1 ms if it cannot be estimated, as the call may take long.
double seconds_or_unknown(const Graph& graph, const Node& node, DeviceKind kind, const CostModel& costs);

// For a graph that is placed on the first CPU: returns by node id the thread, below `threads`, on which the node
// finishes first, taking nodes in topological order (list scheduling; Graham, "Bounds on Multiprocessing Timing
// Anomalies", 1969). Nodes that have effects or read variables stay on thread 0, in order. Returns an empty list if one
// thread would finish as soon, or if nodes are on other devices.
std::vector<int> split_by_cost(const WorkGraph& work, int threads, const CostModel& costs);

}  // namespace panto
