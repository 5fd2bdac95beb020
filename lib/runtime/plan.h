// Plan: a graph as a straight line of prepared calls that find their inputs by position. Internal.
//
// A value is what a node output holds during a run: a feed, a constant, or a temporary. Temporaries whose size is known
// and which nobody can see after the run live in one arena for each device, where they share memory as their lives
// allow (memory_plan.cc); the others are allocated by their step and dropped after their last use.
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
#include "panto/lib/runtime/rewrite.h"

namespace panto {

struct PlanValue {
  enum class Kind : uint8_t { kFeed, kConstant, kTemporary } kind = Kind::kTemporary;
  int index = 0;  // of the feed, the constant or the temporary
  Device* device = nullptr;
};

struct PlanStep {
  std::shared_ptr<dispatch::Prepared> prepared;  // null: a copy to `device`
  Device* device = nullptr;
  int node = -1;             // in the plan's graph
  uint32_t first_input = 0;  // in Plan::inputs
  uint32_t num_inputs = 0;
  uint32_t first_output = 0;  // temporaries first_output ... are its outputs
  uint32_t num_outputs = 0;
  uint32_t first_dropped = 0;  // in Plan::dropped: temporaries that are not needed any more
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
  bool kept = false;      // by an op that has it: the value of a variable
  bool in_arena = false;  // at `offset` of the device's arena
  int64_t offset = 0;
  int64_t bytes = 0;
};

struct Plan {
  Graph graph;  // as planned, for messages
  std::vector<ExecutableFeed> feeds;
  std::vector<Tensor> constants;
  std::vector<PlanTemporary> temporaries;
  std::vector<PlanStep> steps;
  std::vector<PlanValue> inputs;  // of all steps, one after the other
  std::vector<uint32_t> dropped;  // of all steps
  std::vector<PlanValue> fetches;
  std::vector<std::pair<Device*, int64_t>> arenas;  // device, bytes
  PlanStats stats;
};

// Makes the plan of a graph that is placed (and, as a rule, optimized).
Plan make_plan(WorkGraph work, std::vector<ExecutableFeed> feeds, const ExecutableOptions& options);
// Decides where temporaries live: fills in lives, offsets, arenas, `donated` and `dropped`.
void plan_memory(Plan& plan);

}  // namespace panto
