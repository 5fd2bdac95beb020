// Const, Placeholder and Identity nodes, before they are in a graph. Internal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/graph/graph.h"

namespace panto {

NodeSpec placeholder_spec(std::string name, const OutputInfo& info);
NodeSpec const_spec(std::string name, const Tensor& value);
NodeSpec identity_spec(std::string name, NodeOutput input, const OutputInfo& info);

// Puts a value into `attrs`, which are by signature position. Throws InvalidArgument for an attribute that the op does
// not have, or one of another kind.
void put_attr(const Op& op, std::string_view name, AttrValue value, std::vector<AttrValue>& attrs);

// An internal attribute of nodes that may keep something between runs, while an executable is made: which node it is of
// those that share an instance (NodeStates in lib/runtime/executable.h).
inline constexpr const char* kNodeIdentity = "_node_identity";

// True if data input `slot` must be in host memory wherever the node runs.
bool is_host_input(const Node& node, int slot);

}  // namespace panto
