// Which device each node runs on. Internal.
#pragma once

#include <vector>

#include "panto/lib/core/tensor/device.h"
#include "panto/lib/graph/graph.h"

namespace panto {

// Gives every node the full name of one device of this process. Nodes that ask for a device get it; others run on the
// `usual` one where all ops that must stay together have a kernel there, else on the first CPU. Together stay: a
// resource and whoever uses it, and what attribute `_class` says ("loc:@name"). Throws InvalidArgument, listing the
// devices there are, for one that does not exist or for nodes that must stay together and ask for different ones.
// `soft`: where there is no such device or no kernel on it, run on the first CPU.
void place(Graph& graph, const Device& usual, bool soft);

// The device of a node that was placed.
Device& device_of(const Node& node);

// Whether there is a kernel for the node on `device`, or none is needed.
bool runs_on(const Node& node, const Device& device);

}  // namespace panto
