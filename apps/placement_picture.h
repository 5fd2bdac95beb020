// A picture of where the nodes of a graph run: one colour for each device.
#pragma once

#include <string>

#include "panto/lib/graph/graph.h"

namespace panto::apps {

// An SVG file. Nodes are in rows, each below all that it reads; edges from device to device are drawn thick, what only
// waits is dashed. `placed`: every node has a device.
std::string placement_picture(const Graph& placed);

}  // namespace panto::apps
