// TensorFlow 1's loops and conditionals in a graph: back edges, frames, and the nodes that always run. Internal.
//
// A loop is a frame: the nodes behind the Enter nodes of one frame name. An edge from NextIteration to Merge starts the
// next round. It is the only back edge that a graph may have, and topological orders ignore it. The output that a
// Switch does not choose is dead, and so is everything computed from it, up to a Merge.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/graph.h"

namespace panto {

// The kind of the node's op; for a node that cannot run here, of the op in the file.
PANTO_EXPORT OpKind flow_kind(const Node& node);

// True if the edge is a loop's back edge. `slot`: the input of `reader`; the first input of a Merge never is one.
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

// The frame of each node.
class PANTO_EXPORT Frames {
 public:
  // Throws InvalidArgument, naming nodes, for a node with inputs in different frames, an Enter without a frame name, a
  // NextIteration or Exit outside of frames, and Enter nodes of one frame that contradict each other.
  explicit Frames(const Graph& graph);

  // 0: in no frame. An Enter counts to the frame outside of its loop, an Exit to the frame of its loop.
  int of(int node) const { return of_[static_cast<size_t>(node)]; }
  // The frame of the node's outputs.
  int behind(const Node& node) const;
  // Element 0 is not a frame.
  const std::vector<Frame>& all() const { return frames_; }
  const Frame& frame(int index) const { return frames_[static_cast<size_t>(index)]; }

 private:
  void visit(const Graph& graph, const Node& node);
  void enter(const Node& node, int from);
  std::string text(int frame) const;

  std::vector<Frame> frames_;
  std::map<std::string, int, std::less<>> by_name_;
  bool all_known_ = true;    // every control-flow node can run here
  std::vector<int> of_;      // by node id
  std::vector<int> behind_;  // by node id
};

// Throws Unimplemented for a control-flow node: used where nodes are called one after another.
PANTO_EXPORT void refuse_control_flow(const Node& node);

enum class FlowPlace : uint8_t {
  kOutside,   // runs once
  kBoundary,  // a control-flow node whose output is available once
  kInside,    // in a loop, or some of its outputs may be dead
};
// The place of each node, by id; empty if the graph has no control flow.
struct Flow {
  std::vector<FlowPlace> places;
  // In every round, two nodes with the same number either both run or both do not, so a node made from both runs
  // exactly when they do. 0: outside; -1: nothing is known, or a control-flow node.
  std::vector<int> contexts;
};
PANTO_EXPORT Flow flow_of(const Graph& graph);

}  // namespace panto
