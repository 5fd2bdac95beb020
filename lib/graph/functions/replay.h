// Calling what the nodes of a graph say, one after another: eagerly, under tapes, or to be recorded again. Internal.
#pragma once

#include <span>
#include <vector>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/graph/graph.h"

namespace panto {

// The node's op on these inputs, with its attributes; errors name the node. On `device`, or where the dispatcher says.
dispatch::Outputs call_node(const Node& node, std::span<const Tensor* const> inputs, Device* device = nullptr);

// The values of a graph's nodes, each made by one call.
class Replay {
 public:
  explicit Replay(const Graph& graph) : graph_(graph), values_(static_cast<size_t>(graph.id_limit())) {}

  // Gives the outputs of a node that is not to be called.
  void set(int id, dispatch::Outputs outputs) { values_[static_cast<size_t>(id)] = std::move(outputs); }
  bool has(int id) const { return !values_[static_cast<size_t>(id)].empty(); }
  // Calls a node that has no values yet, and whose inputs have. Throws Unimplemented for an op that is unknown here.
  void run(int id);
  const Tensor& value(NodeOutput output) const {
    return values_[static_cast<size_t>(output.node)][static_cast<size_t>(output.index)];
  }
  const dispatch::Outputs& values(int id) const { return values_[static_cast<size_t>(id)]; }

 private:
  const Graph& graph_;
  std::vector<dispatch::Outputs> values_;  // by node id
};

}  // namespace panto
