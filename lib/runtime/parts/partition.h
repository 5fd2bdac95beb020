// A placed graph cut by devices: one part for each, and the values that go from one to another. Internal.
#pragma once

#include <vector>

#include "panto/lib/runtime/executable.h"
#include "panto/lib/runtime/rewrite.h"

namespace panto {

// A value that a part makes and another reads, in the memory of `memory`: the reader's device, or where the op wants it
// in host memory, the first CPU. One for all that read it there.
// Or, with output kOrder and no memory, no value: `first_reader`, and what comes after it in its part, begins when the
// node has run. These keep control edges and the order of effects where parts run side by side.
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
  std::vector<int> order;      // of all nodes: each after those that it needs, whatever their parts
  std::vector<int> part_of;    // by node id; -1: of none, as it is there before the run (feeds, constants, handles)
  std::vector<CrossEdge> edges;
  // By part: parts of one lane run on one thread. Lane 0 is the caller's: devices whose work goes on behind it, the
  // first CPU and the usual device share that; each other device has a lane of its own.
  std::vector<int> lane_of;
};

// In whose memory a node on `device` reads that input.
Device& memory_of_input(const Graph& graph, const Node& node, int slot, Device& device);
// Precondition: the graph is placed. `feeds`: those of the work graph. `usual`: where nodes are that ask for no device.
// `split`: as split_by_cost gives it: each number is a part of its own, in a lane of its own.
PANTO_EXPORT Partition partition(const WorkGraph& work, const std::vector<ExecutableFeed>& feeds, const Device& usual,
                                 std::vector<int> split = {});

}  // namespace panto
