// Specs of Const, Placeholder and Identity nodes. Internal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/graph/graph.h"

namespace panto {

NodeSpec placeholder_spec(std::string name, const OutputInfo& info);
NodeSpec const_spec(std::string name, const Tensor& value);
NodeSpec identity_spec(std::string name, NodeOutput input, const OutputInfo& info);

// Sets an attribute in `attrs`, which is by signature position. Throws InvalidArgument for an attribute that the op
// does not have, or a value of another kind.
void put_attr(const Op& op, std::string_view name, AttrValue value, std::vector<AttrValue>& attrs);

// While an executable is made, an internal attribute of nodes that may keep state between runs: it identifies the node
// among all nodes that share an instance (NodeStates in lib/runtime/executable.h).
inline constexpr const char* kNodeIdentity = "_node_identity";

// True if data input `slot` must be in host memory, whatever device the node runs on.
bool is_host_input(const Node& node, int slot);

}  // namespace panto
