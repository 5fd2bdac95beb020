// Replays the nodes of a graph by op calls, one after another: eagerly, under tapes, or to record them again. Internal.
#pragma once

#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/graph/graph.h"

namespace panto {

// Calls the node's op on these inputs, with its attributes; errors name the node. On `device`, or if null where the
// dispatcher chooses.
dispatch::Outputs call_node(const Node& node, std::span<const Tensor* const> inputs, Device* device = nullptr);

// A recorder that writes the replayed calls as nodes. Calls depend on each other by values only; this interface adds
// control edges.
class ReplayWriter {
 public:
  virtual ~ReplayWriter() = default;
  // The node of the latest call; -1: none.
  virtual int latest_node() const = 0;
  // Calls from now on wait for these nodes. Returns the nodes that they waited for before.
  virtual std::vector<int> wait_also(std::vector<int> nodes) = 0;
  // The function that is being written must run this node, even if no output needs it.
  virtual void must_run(int node) = 0;
};

// The values of a graph's nodes; each node is computed by one call.
class Replay {
 public:
  explicit Replay(const Graph& graph) : graph_(graph), values_(static_cast<size_t>(graph.id_limit())) {}

  // Sets the outputs of a node that must not be called.
  void set(int id, dispatch::Outputs outputs) { values_[static_cast<size_t>(id)] = std::move(outputs); }
  bool has(int id) const { return !values_[static_cast<size_t>(id)].empty(); }
  // Calls a node that has no values yet but whose inputs have. Throws Unimplemented for an unknown op.
  void run(int id);
  // Marks nodes as needed although their outputs may not be read. Call it before these nodes are run.
  void must_run(std::span<const int> ids) { needed_.insert(ids.begin(), ids.end()); }
  const Tensor& value(NodeOutput output) const {
    return values_[static_cast<size_t>(output.node)][static_cast<size_t>(output.index)];
  }
  const dispatch::Outputs& values(int id) const { return values_[static_cast<size_t>(id)]; }

 private:
  const Graph& graph_;
  std::vector<dispatch::Outputs> values_;  // by node id
  std::unordered_map<int, int> written_;   // nodes with control consumers -> the node that was written for them
  std::unordered_set<int> needed_;
};

}  // namespace panto
