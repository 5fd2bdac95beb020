// FlowPlan: a graph as nodes that notify their consumers when they are done. Internal.
//
// A *frame* is a loop; the first frame is everything outside of loops. At run time, a frame is entered from one round
// of the frame around it. Each round has slots ("places") for the values that its nodes read, and counts of the inputs
// that those nodes still wait for. Every node has places of its own for its inputs; the producer of a value writes the
// value there.
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

// An edge from a node's output to a consumer.
struct FlowEdge {
  uint32_t node = 0;      // in FlowPlan::nodes
  uint32_t place = 0;     // of the value, in the consumer's frame
  uint32_t count = 0;     // index of the consumer's count, in its frame
  uint32_t output = 0;    // index of the producer's output
  uint32_t input = 0;     // which input it is, if the consumer is a Merge
  bool to_merge = false;  //
  bool last = false;      // the last edge of that output
};

// A control edge.
struct FlowControl {
  uint32_t node = 0;
  uint32_t count = 0;
  bool to_merge = false;
};

struct FlowNode {
  enum class Kind : uint8_t {
    kCall,
    kStart,    // a call whose kernel is asynchronous
    kForward,  // passes its inputs on as outputs
    kFixed,    // outputs exist before the run
    kNothing,
    kSwitch,
    kMerge,
    kEnter,
    kExit,
    kNextIteration,
    kFetch,  // keeps its input for the caller
  };
  Kind kind = Kind::kNothing;
  bool never_dead = false;      // a ControlTrigger
  bool in_every_round = false;  // an Enter with is_constant
  bool checks_outputs = false;  // the kernel allocates them: compare with what later nodes were prepared for
  bool tells_index = false;     // a Merge whose second output (the input's index) is read
  uint32_t frame = 0;           // of its inputs
  uint32_t num_inputs = 0;
  uint32_t first_input = 0;  // in FlowPlan::inputs
  uint32_t num_places = 0;
  uint32_t first_place = 0;  // of the inputs that are computed in the run
  uint32_t num_outputs = 0;
  uint32_t first_edge = 0, end_edge = 0;        // in FlowPlan::edges
  uint32_t first_control = 0, end_control = 0;  // in FlowPlan::controls
  // kEnter: position of the inner frame in the outer frame's `children`. kExit: its number among the Exits of its
  // frame. kFixed: its first position in FlowState::fixed. kFetch: which fetch. kMerge: index of its two further counts
  // (the number of dead inputs; the index of the first live input).
  uint32_t detail = 0;
  uint64_t donated = 0;  // bits of the inputs that the op may overwrite
  std::shared_ptr<dispatch::Prepared> prepared;
  Device* memory = nullptr;  // of kForward: where its outputs must be; null: anywhere
  int id = -1;               // in FlowPlan::graph
};

struct FlowFrame {
  std::string name;
  uint32_t parent = 0;
  uint64_t hash = 0;  // of the name
  uint32_t num_enters = 0, num_exits = 0;
  size_t parallel_iterations = 1;
  uint32_t child = 0;              // its position in the parent's `children`
  std::vector<uint32_t> children;  // frames that are entered from here
  uint32_t num_places = 0;
  std::vector<uint32_t> counts;  // initial counts of a round
};

// A count is the number of values and nodes still awaited, with this bit set if one was dead. Merge is different: twice
// the number of control inputs still awaited, plus 1 while no live value has arrived.
inline constexpr uint32_t kDeadFlag = uint32_t{1} << 31;

struct FlowPlan {
  Graph graph;  // as planned, for messages
  std::vector<ExecutableFeed> feeds;
  std::vector<Tensor> constants;
  std::vector<FlowFrame> frames;  // outer ones first
  std::vector<FlowNode> nodes;
  std::vector<int32_t> inputs;  // of all nodes: a place, or ~i for fixed value i
  std::vector<FlowEdge> edges;
  std::vector<FlowControl> controls;
  std::vector<uint32_t> starts;  // nodes that wait for nothing
  // Number of values that exist before the run: constants, then feeds.
  size_t num_fixed() const { return constants.size() + feeds.size(); }
  struct Fetch {
    std::string name;
    int32_t fixed = -1;  // the fixed value, if no node computes it
  };
  std::vector<Fetch> fetches;
  size_t most_inputs = 1, most_outputs = 1;
  bool transfers = false;  // has a Send and the Recv that it matches
  PlanStats stats;
};

// Whether a placed graph needs the dataflow executor: it has control flow or asynchronous kernels.
bool needs_dataflow(const Graph& graph);
// Precondition: the graph is placed, and its inferred shapes are up to date.
FlowPlan make_flow_plan(WorkGraph work, std::vector<ExecutableFeed> feeds, const ExecutableOptions& options);

}  // namespace panto
