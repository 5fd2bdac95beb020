// TensorFlow 1's loops and conditionals in a graph: the way back, the loops that nodes are in, and the nodes that
// nothing can keep from running. Internal.
//
// A loop is a frame: the nodes behind an Enter of its name. Its rounds are closed by an edge from NextIteration to
// Merge, the one way back that a graph may have: whoever orders nodes ignores it. What a Switch does not give is dead,
// and so is what is made of it, up to a Merge.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/graph.h"

namespace panto {

// The kind of the node's op; of a node that cannot run here, of the op that it stands for.
PANTO_EXPORT OpKind flow_kind(const Node& node);

// Whether that edge is a loop's way back. `slot`: of the reader; the first input of a Merge is none.
inline bool is_back_edge(OpKind producer, OpKind reader, int slot) noexcept {
  return slot > 0 && producer == OpKind::kNextIteration && reader == OpKind::kMerge;
}
PANTO_EXPORT bool is_back_edge(const Node& producer, const Node& reader, int slot);

struct Frame {
  std::string name;
  int parent = 0;
  int64_t parallel_iterations = 0;
  std::vector<int> enters;  // node ids
};

// Which frame each node is in.
class PANTO_EXPORT Frames {
 public:
  // Throws InvalidArgument, naming nodes, for inputs of one node that are in different frames, an Enter without a
  // frame's name, a NextIteration or Exit in no frame, and enters of one frame that do not fit together.
  explicit Frames(const Graph& graph);

  // 0: in none. An Enter is in the frame that it leads from, an Exit in the one that it leads from.
  int of(int node) const { return of_[static_cast<size_t>(node)]; }
  // Where the node's outputs are seen.
  int behind(const Node& node) const;
  // The first is no frame.
  const std::vector<Frame>& all() const { return frames_; }
  const Frame& frame(int index) const { return frames_[static_cast<size_t>(index)]; }

 private:
  void visit(const Graph& graph, const Node& node);
  void enter(const Node& node, int from);
  std::string text(int frame) const;

  std::vector<Frame> frames_;
  std::map<std::string, int, std::less<>> by_name_;
  bool all_known_ = true;    // no node of control flow cannot run here
  std::vector<int> of_;      // by node id
  std::vector<int> behind_;  // by node id
};

// Throws Unimplemented for a node of control flow, where nodes are to be called one after another.
PANTO_EXPORT void refuse_control_flow(const Node& node);

enum class FlowPlace : uint8_t {
  kOutside,   // runs once
  kBoundary,  // is of control flow, and gives something once
  kInside,    // is in a loop, or some of what it gives may be dead
};
// Where nodes are, by id; empty where there is no control flow.
struct Flow {
  std::vector<FlowPlace> places;
  // Of two nodes with the same number, in every round either both run or neither does: what is made of them together
  // runs when they did. 0: outside; -1: nothing is known, or the node is one of control flow.
  std::vector<int> contexts;
};
PANTO_EXPORT Flow flow_of(const Graph& graph);

}  // namespace panto
