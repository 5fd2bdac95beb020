// Plan: a graph as straight lines of prepared calls that find their inputs by position, one line for each device.
// Internal.
//
// A value is what a node output holds during a run: a feed, a constant, or a temporary of one part. Temporaries whose
// size is known and which nobody can see after the run live in one arena for each device, where they share memory as
// their lives allow (memory_plan.cc); the others are allocated by their step and dropped after their last use.
//
// A value that another part reads is sent by a step of the part that made it, which copies it where the readers' memory
// is elsewhere, and received by a step of theirs, just before the first who reads it. So is, without a value, what only
// orders parts that may run side by side. `segments` is an order of all steps that keeps all this, and the order of
// effects.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/runtime/executable.h"
#include "panto/lib/runtime/parts/partition.h"
#include "panto/lib/runtime/rewrite.h"

namespace panto {

class CapturedSteps;

struct PlanValue {
  enum class Kind : uint8_t { kFeed, kConstant, kTemporary } kind = Kind::kTemporary;
  int index = 0;  // of the feed, the constant or the part's temporary
  Device* device = nullptr;
};

struct PlanStep {
  // Of a copy, and of what is sent: the input to the memory of `device`.
  enum class Kind : uint8_t { kCall, kCopy, kSend, kReceive } kind = Kind::kCall;
  uint32_t edge = 0;                                       // of kSend and kReceive: in Partition::edges
  std::shared_ptr<dispatch::Prepared> prepared = nullptr;  // of kCall
  Device* device = nullptr;
  int node = -1;             // in the plan's graph
  uint32_t first_input = 0;  // in PartPlan::inputs
  uint32_t num_inputs = 0;
  uint32_t first_output = 0;  // temporaries first_output ... are its outputs
  uint32_t num_outputs = 0;
  uint32_t first_dropped = 0;  // in PartPlan::dropped: temporaries that are not needed any more
  uint32_t num_dropped = 0;
  uint64_t donated = 0;    // inputs whose last use this is, and which the run owns
  bool makes_own = false;  // the kernel makes the outputs: their shapes are checked
};

// A temporary's life, in steps, and where its bytes are.
struct PlanTemporary {
  DType dtype = DType::kInvalid;
  PartialShape shape;  // as inferred
  Device* device = nullptr;
  int made_by = 0;
  int last_use = 0;
  bool fetched = false;
  bool kept = false;      // by an op that has it: the value of a variable, or what was sent
  bool sent = false;      // as it is, to another part
  bool in_arena = false;  // at `offset` of the device's arena
  int64_t offset = 0;
  int64_t bytes = 0;
};

// What one device does.
struct PartPlan {
  Device* device = nullptr;
  std::vector<PlanTemporary> temporaries;
  std::vector<PlanStep> steps;
  std::vector<PlanValue> inputs;  // of all steps, one after the other
  std::vector<uint32_t> dropped;  // of all steps
  std::vector<PlanValue> fetches;
  std::vector<std::pair<Device*, int64_t>> arenas;  // device, bytes
};

// Steps that follow one another.
struct PlanSegment {
  uint32_t part = 0;
  uint32_t first = 0, end = 0;
};

struct PlanFetch {
  uint32_t part = 0;  // of a temporary
  PlanValue value;
};

struct Plan {
  Graph graph;  // as planned, for messages
  std::vector<ExecutableFeed> feeds;
  std::vector<Tensor> constants;
  std::vector<PartPlan> parts;
  std::vector<CrossEdge> edges;
  std::vector<int> lane_of;  // by part: which run on one thread, as in Partition
  std::vector<PlanSegment> segments;
  std::vector<PlanFetch> fetches;
  PlanStats stats;
};

// Makes the plan of a graph that is placed (and, as a rule, optimized) and cut.
Plan make_plan(WorkGraph work, Partition cut, std::vector<ExecutableFeed> feeds, const ExecutableOptions& options);
// Decides where temporaries live: fills in lives, offsets, arenas, `donated` and `dropped`.
void plan_memory(PartPlan& plan, PlanStats& stats);
// Adds to `donated` the feeds that are given away.
void donate_feeds(Plan& plan);

// What one run writes to.
struct PartState {
  std::vector<Tensor> temporaries;
  std::vector<const Tensor*> inputs;                     // of all steps, one after the other
  std::vector<std::pair<size_t, size_t>> feeds;          // positions in `inputs` to be set at each run, and the feed
  std::vector<std::shared_ptr<CapturedSteps>> captured;  // stretches of steps, in their order
};

}  // namespace panto
