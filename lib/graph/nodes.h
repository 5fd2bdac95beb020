// Const, Placeholder and Identity nodes, before they are in a graph. Internal.
#pragma once

#include <string>

#include "panto/lib/graph/graph.h"

namespace panto {

NodeInit placeholder_init(std::string name, const OutputInfo& info);
NodeInit const_init(std::string name, const Tensor& value);
NodeInit identity_init(std::string name, NodeOutput input, const OutputInfo& info);

// True if data input `slot` must be in host memory wherever the node runs.
bool is_host_input(const Node& node, int slot);

}  // namespace panto
