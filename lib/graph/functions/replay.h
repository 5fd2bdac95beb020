// Calling what the nodes of a graph say, one after another: eagerly, under tapes, or to be recorded again. Internal.
#pragma once

#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/graph/graph.h"

namespace panto {

// The node's op on these inputs, with its attributes; errors name the node. On `device`, or where the dispatcher says.
dispatch::Outputs call_node(const Node& node, std::span<const Tensor* const> inputs, Device* device = nullptr);

// Who writes calls down as nodes. Calls are tied by values only: of what else a node waits for it hears here.
class ReplayWriter {
 public:
  virtual ~ReplayWriter() = default;
  // The node that the latest call became; -1: none.
  virtual int latest_node() const = 0;
  // What is called from now on waits for these nodes. Gives those that it waited for before.
  virtual std::vector<int> wait_also(std::vector<int> nodes) = 0;
  // Whoever calls what is written down is done when this node is, too.
  virtual void must_run(int node) = 0;
};

// The values of a graph's nodes, each made by one call.
class Replay {
 public:
  explicit Replay(const Graph& graph) : graph_(graph), values_(static_cast<size_t>(graph.id_limit())) {}

  // Gives the outputs of a node that is not to be called.
  void set(int id, dispatch::Outputs outputs) { values_[static_cast<size_t>(id)] = std::move(outputs); }
  bool has(int id) const { return !values_[static_cast<size_t>(id)].empty(); }
  // Calls a node that has no values yet, and whose inputs have. Throws Unimplemented for an op that is unknown here.
  void run(int id);
  // Said before they are run: these nodes are needed, though nobody may read what they give.
  void must_run(std::span<const int> ids) { needed_.insert(ids.begin(), ids.end()); }
  const Tensor& value(NodeOutput output) const {
    return values_[static_cast<size_t>(output.node)][static_cast<size_t>(output.index)];
  }
  const dispatch::Outputs& values(int id) const { return values_[static_cast<size_t>(id)]; }

 private:
  const Graph& graph_;
  std::vector<dispatch::Outputs> values_;  // by node id
  std::unordered_map<int, int> written_;   // nodes that others wait for -> what they became
  std::unordered_set<int> needed_;
};

}  // namespace panto
