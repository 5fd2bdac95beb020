// Plan: a graph as sequences of prepared calls that find their inputs by position, one sequence per device. Internal.
//
// A value is what a node output holds during a run: a feed, a constant, or a temporary of one part. Temporaries of
// known size that are not visible after the run live in one arena per device, where they share memory if their
// lifetimes allow (memory_plan.cc). Other temporaries are allocated by their step and released after their last use.
//
// A value that another part reads is sent by a step of the producing part, which copies it if the readers' memory is
// elsewhere, and received by a step of the reading part just before its first reader. An order edge between parts that
// may run at the same time is sent and received the same way, without a value. `segments` is an order of all steps that
// respects all of this and the order of effects.
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
  // kCopy and kSend move their input to the memory of `device`.
  enum class Kind : uint8_t { kCall, kCopy, kSend, kReceive } kind = Kind::kCall;
  uint32_t edge = 0;                                       // of kSend and kReceive: in Partition::edges
  std::shared_ptr<dispatch::Prepared> prepared = nullptr;  // of kCall
  Device* device = nullptr;
  int node = -1;             // in the plan's graph
  uint32_t first_input = 0;  // in PartPlan::inputs
  uint32_t num_inputs = 0;
  uint32_t first_output = 0;  // temporaries first_output ... are its outputs
  uint32_t num_outputs = 0;
  uint32_t first_dropped = 0;  // in PartPlan::dropped: temporaries to release after the step
  uint32_t num_dropped = 0;
  uint64_t donated = 0;    // bits of the inputs that the run owns and uses here last
  bool makes_own = false;  // the kernel allocates the outputs: their shapes are checked
};

// A temporary's lifetime, in steps, and its place in memory.
struct PlanTemporary {
  DType dtype = DType::kInvalid;
  PartialShape shape;  // as inferred
  Device* device = nullptr;
  int made_by = 0;
  int last_use = 0;
  bool fetched = false;
  bool kept = false;      // an op may keep it: as a variable's value, or as a sent value
  bool sent = false;      // to another part, without a copy
  bool in_arena = false;  // at `offset` of the device's arena
  int64_t offset = 0;
  int64_t bytes = 0;
};

// The steps of one device.
struct PartPlan {
  Device* device = nullptr;
  std::vector<PlanTemporary> temporaries;
  std::vector<PlanStep> steps;
  std::vector<PlanValue> inputs;  // of all steps, one after the other
  std::vector<uint32_t> dropped;  // of all steps
  std::vector<PlanValue> fetches;
  std::vector<std::pair<Device*, int64_t>> arenas;  // device, bytes
};

// Consecutive steps of one part.
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
  std::vector<int> lane_of;  // by part: parts of one lane run on one thread, as in Partition
  std::vector<PlanSegment> segments;
  std::vector<PlanFetch> fetches;
  PlanStats stats;
};

// Makes the plan of a graph that is placed, usually optimized, and partitioned.
Plan make_plan(WorkGraph work, Partition cut, std::vector<ExecutableFeed> feeds, const ExecutableOptions& options);
// Decides where temporaries live: fills in lifetimes, offsets, arenas, `donated` and `dropped`.
void plan_memory(PartPlan& plan, PlanStats& stats);
// Adds to `donated` the feeds with `given_away`.
void donate_feeds(Plan& plan);

// The mutable state of a run, for one part.
struct PartState {
  std::vector<Tensor> temporaries;
  std::vector<const Tensor*> inputs;                     // of all steps, one after the other
  std::vector<std::pair<size_t, size_t>> feeds;          // (position in `inputs` to set at each run, feed)
  std::vector<std::shared_ptr<CapturedSteps>> captured;  // captured ranges of steps, in order
};

}  // namespace panto
