// When nodes of a graph with TensorFlow 1's control flow run, as far as its Switches decide. Internal.
#pragma once

#include <optional>
#include <vector>

#include "panto/lib/graph/flow/flow.h"
#include "panto/lib/graph/graph.h"

namespace panto {

// A node runs if all of its conditions hold.
struct Condition {
  NodeOutput of;   // what decides; of an invalid index: nothing else is known but that it is this node's affair
  int branch = 0;  // which output of its Switches it takes
  auto operator<=>(const Condition&) const = default;
};
using Conditions = std::vector<Condition>;  // sorted

class Liveness {
 public:
  // Throws what Frames throws.
  explicit Liveness(const Graph& graph);

  const Frames& frames() const { return frames_; }
  // In its frame.
  const Conditions& when(int node) const { return when_[static_cast<size_t>(node)]; }
  // Of what runs in every round of the loop.
  static Conditions every_round(int frame) { return {{{-1 - frame, -1}, 0}}; }
  // Whether all values come round in the same rounds: all enter, and all go on, under the same conditions.
  bool whole(int frame) const { return whole_[static_cast<size_t>(frame)]; }
  // What decides in a Switch, behind Identities: tf.cond makes some Switches by its condition, others by an Identity of
  // it.
  // `controls` gets what these wait for.
  NodeOutput decides(const Node& choice, std::vector<int>* controls = nullptr) const;
  // When the loop is entered, in the frame around it.
  const Conditions& entered(const Frame& frame) const;
  // Whether the Merge is the one at which what enters and what comes round meet.
  bool begins_round(const Node& merge) const;
  // Of a Merge of what two branches of one condition give: the condition, and the branch that gives the first input.
  // The Merge then runs where that condition is there.
  std::optional<Condition> joins(const Node& merge) const;

 private:
  static constexpr size_t kMost = 64;  // a graph that was made to be slow is not worth more

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
