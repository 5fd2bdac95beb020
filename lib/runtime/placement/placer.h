// Chooses the device of each node. Internal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "panto/lib/core/tensor/device.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/runtime/placement/cost_placer.h"

namespace panto {

// Gives every node the full name of one device of this process. A node that asks for a device gets it. Other nodes run
// on `usual` if all ops that must stay together have a kernel there, else on the first CPU. These stay together: a
// resource and its users, and nodes that the attribute `_class` names ("loc:@name"). A composite that has no kernel
// where it is placed is replaced by the nodes of its body, which are placed one by one. `soft`: use the first CPU if
// the device does not exist or has no kernel. `costs`: if not null, nodes that may run on several devices go where the
// simulation of cost_placer.h finishes them first; the result of the simulation is returned, otherwise nullopt. Throws
// InvalidArgument, listing the devices, if a device does not exist, or if nodes that must stay together ask for
// different ones.
std::optional<PlacementByCost> place_and_expand(Graph& graph, Device& usual, bool soft, const CostModel* costs);

// The device of a placed node.
Device& device_of(const Node& node);

// Whether the node has a kernel on `device` or needs none.
bool runs_on(const Node& node, const Device& device);
// False for nodes that the executor handles itself or that are evaluated before a run.
bool needs_kernel(const Node& node);
// Throws InvalidArgument unless `placement` is valid for ExecutableOptions::placement.
void check_placement(const std::string& placement);
// Writes the device of each node to standard error, as TensorFlow does with log_device_placement. `but`: a node to
// leave out, as it is not the user's. `scope`: the name of the function, if the graph is a function's.
void log_placement(const Graph& graph, int but, const std::string& scope);

}  // namespace panto
