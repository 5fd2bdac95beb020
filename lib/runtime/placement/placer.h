// Which device each node runs on. Internal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "panto/lib/core/tensor/device.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/runtime/placement/cost_placer.h"

namespace panto {

// Gives every node the full name of one device of this process. Nodes that ask for a device get it; others run on the
// `usual` one where all ops that must stay together have a kernel there, else on the first CPU. Together stay: a
// resource and whoever uses it, and what attribute `_class` says ("loc:@name"). Throws InvalidArgument, listing the
// devices there are, for one that does not exist or for nodes that must stay together and ask for different ones.
// `soft`: where there is no such device or no kernel on it, run on the first CPU. With `costs`, what may be on several
// devices is where the simulation of cost_placer.h ends soonest; gives what that says, else nothing. A composite that
// has no kernel where it is placed becomes the nodes of its body, which are placed each by itself.
std::optional<PlacementByCost> place_and_expand(Graph& graph, Device& usual, bool soft, const CostModel* costs);

// The device of a node that was placed.
Device& device_of(const Node& node);

// Whether there is a kernel for the node on `device`, or none is needed.
bool runs_on(const Node& node, const Device& device);
// False of what the executor does, or is done before it starts.
bool needs_kernel(const Node& node);
// Throws InvalidArgument for what ExecutableOptions::placement cannot be.
void check_placement(const std::string& placement);
// Writes where each node is to standard error, as TensorFlow does with log_device_placement; `but`: none of the user's.
// `scope`: of a function, its name.
void log_placement(const Graph& graph, int but, const std::string& scope);

}  // namespace panto
