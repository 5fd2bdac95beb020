// Cuts a placed graph into one part per device, with the values that go from part to part. Internal.
#pragma once

#include <vector>

#include "panto/lib/runtime/executable.h"
#include "panto/lib/runtime/rewrite.h"

namespace panto {

// A value that one part computes and another part reads, in `memory`: the reader's device, or the first CPU if the op
// wants the input in host memory. All readers of that part and memory share one edge.
// With output kOrder and no memory it carries no value: `first_reader`, and what follows it in its part, begins after
// the node has run. Such edges keep control edges and the order of effects where parts run at the same time.
struct CrossEdge {
  static constexpr int kOrder = -1;
  NodeOutput value;
  int from = 0, to = 0;
  Device* memory = nullptr;
  int first_reader = -1;
  bool is_order() const noexcept { return value.index == kOrder; }
};

struct Partition {
  std::vector<Device*> parts;  // their devices, in the order of the first nodes
  std::vector<int> order;      // of all nodes, in all parts: a topological order
  std::vector<int> part_of;    // by node id; -1: in no part, as it exists before the run (feeds, constants, handles)
  std::vector<CrossEdge> edges;
  // By part: parts of one lane run on one thread. Lane 0 is the caller's thread: it serves the first CPU, the usual
  // device, and all devices that work asynchronously. Each other device has its own lane.
  std::vector<int> lane_of;
};

// The device in whose memory a node on `device` reads input `slot`.
Device& memory_of_input(const Graph& graph, const Node& node, int slot, Device& device);
// Precondition: the graph is placed. `feeds`: those of the work graph. `usual`: the device of nodes that ask for none.
// `split`: the result of split_by_cost; each number in it becomes a part with its own lane.
PANTO_EXPORT Partition partition(const WorkGraph& work, const std::vector<ExecutableFeed>& feeds, const Device& usual,
                                 std::vector<int> split = {});

}  // namespace panto
