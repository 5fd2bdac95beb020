// Chooses which elementwise nodes are computed together, in one fused loop. Internal.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "panto/lib/core/op/op.h"
#include "panto/lib/runtime/passes/passes.h"

namespace panto::passes {

// Whether the node may be a step of a fused elementwise program on its device.
bool may_be_step_there(const Graph& graph, const Node& node);

// Groups are found in one walk in topological order. Every group and every other node has a level: one more than the
// highest level it reads from. A node joins the groups of its inputs that are at the highest of their levels, if it can
// be fused with all of them. Edges then always lead from lower to higher levels, so no group waits for itself, and
// groups of one level never wait for each other.
// Three steps follow. Two groups of one level that read the same value become one, unless one of them may become part
// of a reduction. A group that only one other group reads joins its reader: whatever waits for the group also waits for
// the reader. Last, if a value of one group is read by one other group only, and that group already reads the value's
// inputs, the value is recomputed in the reader instead of stored; this removes half of the values that the forward
// part of a gradient would store, as 1 - y * y for y = tanh(x).
class ElementwiseGroups {
 public:
  // May add copies of nodes to the graph, for groups that recompute them.
  explicit ElementwiseGroups(PassContext& context);

  // The nodes of each group, inputs first; some groups are empty.
  const std::vector<std::vector<int>>& members() const { return members_; }
  // The group of a node; -1: none, also for nodes added later.
  int of(int id) const;
  // Whether a node outside of its group reads it or waits for it.
  bool is_seen(int id) const;

 private:
  struct Group {
    int parent;  // union-find: a group that it was merged into, or itself
    int like;    // one of its nodes, whose shape and device are those of all
    int size = 1;
    int level = 0;
    bool reduced = false;  // one of its values is read by a reduction alone
  };
  // The nodes that a group must compute to make a value itself.
  struct Cone {
    std::vector<int> nodes;  // inputs first
    std::vector<NodeOutput> read;
    int whole = 0;  // how many of `read` are as large as the group's values
  };

  Group& group(int g) { return groups_[static_cast<size_t>(g)]; }
  int root(int g);
  int level_of(int id);
  void visit(const Node& node);
  void begin(const Node& node, int level);
  bool alike(const Node& a, const Node& b) const;
  bool may_be_one(int a, int b);
  void merge(int into, int from);
  void mark_reduced();
  void join_equals();
  int only_reader(int id);
  void join_readers();
  void collect_members();
  bool may_be_fused(const Node& node) const;

  void recompute();
  bool collect(int id, int from, int reader, Cone& cone) const;
  bool reads(int reader, NodeOutput value) const;
  bool is_wanted_elsewhere(int id, int reader) const;
  bool fits(const Cone& cone, int reader);
  std::vector<int> needed_here(const Cone& cone, int reader) const;
  void compute_in(int reader, const Cone& cone, const std::vector<int>& copied);

  PassContext& context_;
  Graph& graph_;
  std::vector<int> order_;
  std::vector<int> level_, group_, position_;  // by node id; position_: in order_, of a copy its original's
  std::vector<Group> groups_;
  std::vector<std::vector<int>> members_;
  std::vector<std::optional<size_t>> num_inputs_;  // of a group; counted when asked for
  std::map<std::pair<int, int>, int> copies_;      // by node and group
};

}  // namespace panto::passes
