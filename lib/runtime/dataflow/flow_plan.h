// FlowPlan: a graph as nodes that tell those behind them that they are done. Internal.
//
// A *frame* is a loop, or (the first one) what is outside of all loops. When the graph runs, a frame is entered from
// some round of the one around it, and each of its rounds has places for the values that its nodes read, and counts of
// what they still wait for. A node reads its inputs at places of its own: whoever makes a value puts it there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/runtime/executable.h"
#include "panto/lib/runtime/rewrite.h"

namespace panto {

// From an output to a node that reads it.
struct FlowEdge {
  uint32_t node = 0;      // in FlowPlan::nodes
  uint32_t place = 0;     // of the value, in the frame of that node
  uint32_t count = 0;     // of what that node waits for, in its frame
  uint32_t output = 0;    // of the node that the edge leads from
  uint32_t input = 0;     // of a Merge
  bool to_merge = false;  //
  bool last = false;      // of that output
};

// From a node to one that waits for it.
struct FlowControl {
  uint32_t node = 0;
  uint32_t count = 0;
  bool to_merge = false;
};

struct FlowNode {
  enum class Kind : uint8_t {
    kCall,
    kStart,    // a call whose kernel is asynchronous
    kForward,  // outputs are inputs
    kFixed,    // outputs are there before the run
    kNothing,
    kSwitch,
    kMerge,
    kEnter,
    kExit,
    kNextIteration,
    kFetch,  // keeps its input for who runs the graph
  };
  Kind kind = Kind::kNothing;
  bool never_dead = false;      // a ControlTrigger
  bool in_every_round = false;  // an Enter that is constant
  bool checks_outputs = false;  // the kernel makes them: later nodes were prepared for what was declared
  bool tells_index = false;     // a Merge whose second output is read
  uint32_t frame = 0;           // in which it reads
  uint32_t num_inputs = 0;
  uint32_t first_input = 0;  // in FlowPlan::inputs
  uint32_t num_places = 0;
  uint32_t first_place = 0;  // of its inputs that are made in the run
  uint32_t num_outputs = 0;
  uint32_t first_edge = 0, end_edge = 0;        // in FlowPlan::edges
  uint32_t first_control = 0, end_control = 0;  // in FlowPlan::controls
  // kEnter: of the inner frame among those that are entered from its outer one. kExit: among those of its frame.
  // kFixed: the first of FlowState::fixed. kFetch: which. kMerge: where its further counts are (dead inputs, the first
  // that was not).
  uint32_t detail = 0;
  uint64_t donated = 0;  // inputs that the node owns, where the op can write over them
  std::shared_ptr<dispatch::Prepared> prepared;
  Device* memory = nullptr;  // of kForward: where outputs are to be; null: where they are
  int id = -1;               // in FlowPlan::graph
};

struct FlowFrame {
  std::string name;
  uint32_t parent = 0;
  uint64_t hash = 0;  // of the name
  uint32_t num_enters = 0, num_exits = 0;
  size_t parallel_iterations = 1;
  uint32_t child = 0;              // which it is of those that are entered from its parent
  std::vector<uint32_t> children;  // entered from here
  uint32_t num_places = 0;
  std::vector<uint32_t> counts;  // as a round begins
};

// How a count is to be read, but for Merges': how many values and nodes it still waits for, and whether one was dead.
// Of a Merge: twice the number of nodes, and one if no value has come that is not dead.
inline constexpr uint32_t kDeadFlag = uint32_t{1} << 31;

struct FlowPlan {
  Graph graph;  // as planned, for messages
  std::vector<ExecutableFeed> feeds;
  std::vector<Tensor> constants;
  std::vector<FlowFrame> frames;  // outer ones first
  std::vector<FlowNode> nodes;
  std::vector<int32_t> inputs;  // of all nodes: a place, or ~i of what is fixed
  std::vector<FlowEdge> edges;
  std::vector<FlowControl> controls;
  std::vector<uint32_t> starts;  // nodes that wait for nothing
  // Values that are there before the run: constants, then feeds.
  size_t num_fixed() const { return constants.size() + feeds.size(); }
  struct Fetch {
    std::string name;
    int32_t fixed = -1;  // where it is made by no node
  };
  std::vector<Fetch> fetches;
  size_t most_inputs = 1, most_outputs = 1;
  bool transfers = false;  // has Sends and Recvs that meet in it
  PlanStats stats;
};

// Whether a placed graph needs the executor of this folder: it has control flow, or kernels that are not waited for.
bool needs_dataflow(const Graph& graph);
// Precondition: the graph is placed, and what it says of shapes holds.
FlowPlan make_flow_plan(WorkGraph work, std::vector<ExecutableFeed> feeds, const ExecutableOptions& options);

}  // namespace panto
