// A placed graph cut by devices: one part for each, and the values that go from one to another. Internal.
#pragma once

#include <vector>

#include "panto/lib/runtime/executable.h"
#include "panto/lib/runtime/rewrite.h"

namespace panto {

// A value that a part makes and another reads, in the memory of `memory`: the reader's device, or where the op wants it
// in host memory, the first CPU. One for all that read it there.
struct CrossEdge {
  NodeOutput value;
  int from = 0, to = 0;
  Device* memory = nullptr;
};

struct Partition {
  std::vector<Device*> parts;  // their devices, in the order of the first nodes
  std::vector<int> order;      // of all nodes: each after those that it needs, whatever their parts
  std::vector<int> part_of;    // by node id; -1: of none, as it is there before the run (feeds, constants, handles)
  std::vector<CrossEdge> edges;
};

// In whose memory a node on `device` reads that input.
Device& memory_of_input(const Graph& graph, const Node& node, int slot, Device& device);
// Precondition: the graph is placed. `feeds`: those of the work graph.
PANTO_EXPORT Partition partition(const WorkGraph& work, const std::vector<ExecutableFeed>& feeds);

}  // namespace panto
