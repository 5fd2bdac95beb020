// The conditions under which nodes run in a graph with TensorFlow 1's control flow, as far as its Switches tell.
// Internal.
#pragma once

#include <optional>
#include <vector>

#include "panto/lib/graph/flow/flow.h"
#include "panto/lib/graph/graph.h"

namespace panto {

// A node runs if all of its conditions hold.
struct Condition {
  NodeOutput of;   // the deciding value; with an invalid index: only known to depend on this node
  int branch = 0;  // which output of the Switch is taken
  auto operator<=>(const Condition&) const = default;
};
using Conditions = std::vector<Condition>;  // sorted

class Liveness {
 public:
  // Throws what Frames throws.
  explicit Liveness(const Graph& graph);

  const Frames& frames() const { return frames_; }
  // The conditions within the node's frame.
  const Conditions& when(int node) const { return when_[static_cast<size_t>(node)]; }
  // The condition of nodes that run in every round of the loop.
  static Conditions every_round(int frame) { return {{{-1 - frame, -1}, 0}}; }
  // True if all loop values are present in the same rounds: all Enters, and all NextIterations, have the same
  // conditions.
  bool whole(int frame) const { return whole_[static_cast<size_t>(frame)]; }
  // The value that decides in a Switch, skipping Identities: tf.cond gives some Switches its condition, others an
  // Identity of it. The control inputs of the skipped Identities are added to `controls`.
  NodeOutput decides(const Node& choice, std::vector<int>* controls = nullptr) const;
  // The conditions under which the loop is entered, in the outer frame.
  const Conditions& entered(const Frame& frame) const;
  // True if the Merge joins an Enter and a NextIteration.
  bool begins_round(const Node& merge) const;
  // For a Merge that joins the two branches of one condition: the condition, and the branch of the first input. Such a
  // Merge runs whenever the condition is available.
  std::optional<Condition> joins(const Node& merge) const;

 private:
  static constexpr size_t kMost = 64;  // limit against graphs that are made to be slow

  static Conditions only(const Node& node) { return {{{node.id(), -1}, 0}}; }
  static Conditions both(const Conditions& a, const Conditions& b, const Node& node);
  void find_whole_loops();
  bool enter_alike(const Frame& frame) const;
  Conditions of(const Node& node) const;
  Conditions of(NodeOutput output) const;
  Conditions behind(const Node& node) const;
  Conditions merged(const Node& node) const;
  Conditions behind_loop(const Node& node) const;

  const Graph& graph_;
  const Frames frames_;
  std::vector<Conditions> when_;  // by node id
  std::vector<bool> whole_;       // by frame
};

}  // namespace panto
