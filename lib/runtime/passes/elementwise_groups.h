// Which elementwise nodes are computed together, in one loop. Internal.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "panto/lib/core/op/op.h"
#include "panto/lib/runtime/passes/passes.h"

namespace panto::passes {

// Whether the node may be a step of a program of elementwise ops where it is.
bool may_be_step_there(const Graph& graph, const Node& node);

// Groups are found in one walk over the graph, inputs first. Every group and every other node has a level, one more
// than the highest level it reads from; a node joins the groups of its inputs at the highest of their levels, if it may
// be computed together with all of them. All edges then lead from lower to higher levels, so no group waits for itself:
// nor do two of one level for one another, which become one where they read the same (but where one could become part
// of a reduction). Afterwards a group that only one other reads joins that one: whatever waits for it waits for its
// reader, too. At last what one group gives out for one other only is computed there, where that reads what it is made
// of anyway: half of what a gradient's forward half would write is such, as 1 - y * y of y = tanh(x).
class ElementwiseGroups {
 public:
  // May put copies of nodes into the graph, for groups that compute them once more.
  explicit ElementwiseGroups(PassContext& context);

  // The nodes of each group, inputs first; some groups are empty.
  const std::vector<std::vector<int>>& members() const { return members_; }
  // Of a node; -1: none, as of all that were added since.
  int of(int id) const;
  // Somebody outside the node's group reads it, or waits for it.
  bool is_seen(int id) const;

 private:
  struct Group {
    int parent;  // another group that it was merged with, or itself
    int like;    // one of its nodes, whose shape and device are those of all
    int size = 1;
    int level = 0;
    bool reduced = false;  // one of its values is read by a reduction alone
  };
  // What must be computed for a value that a group is to make itself.
  struct Cone {
    std::vector<int> nodes;  // inputs first
    std::vector<NodeOutput> read;
    int whole = 0;  // of `read`, those as large as the group's values
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
  std::vector<int> level_, group_, position_;  // by node id; the last: in order_, of a copy that of what it copies
  std::vector<Group> groups_;
  std::vector<std::vector<int>> members_;
  std::vector<std::optional<size_t>> num_inputs_;  // of a group; counted when asked for
  std::map<std::pair<int, int>, int> copies_;      // by node and group
};

}  // namespace panto::passes
