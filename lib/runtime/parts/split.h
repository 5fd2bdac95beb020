// Nodes of one device that may run at once: which of several threads computes each. Internal.
#pragma once

#include <vector>

#include "panto/lib/runtime/placement/cost_model.h"
#include "panto/lib/runtime/rewrite.h"

namespace panto {

// How long a call may take; of what nobody can tell, a millisecond: it may take long.
double seconds_or_unknown(const Graph& graph, const Node& node, DeviceKind kind, const CostModel& costs);

// By node id, a number below `threads` for each node of a graph that is placed on the first CPU: the thread on which it
// is done soonest, node by node in topological order (list scheduling; Graham, "Bounds on Multiprocessing Timing
// Anomalies", 1969). What has effects, and what reads variables, is on thread 0, in its order. Empty where one thread
// would be done as soon, and where nodes are on other devices.
std::vector<int> split_by_cost(const WorkGraph& work, int threads, const CostModel& costs);

}  // namespace panto
