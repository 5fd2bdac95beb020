// Executable: a graph that is placed, optimized and planned for given feeds and fetches.
//
// Used by sessions and traced functions. `make` does the work (validate -> place -> optimize -> plan); `run` only
// executes the plan. Immutable once made.
// Thread-safety: `run` may be called from several threads at once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/runtime/plan/plan_stats.h"

namespace panto {

class CostModel;

// A node output whose value the caller gives at every run (of any node, not only a Placeholder), with what is known of
// the value now. The values of every run must match it; static shapes allow buffers to be planned.
struct ExecutableFeed {
  NodeOutput output;
  OutputInfo info;
  // For a resource: the handle that every run will get, if known. Values read from the resource then have the type and
  // shape that the handle declares.
  Tensor handle = {};
  // The device that holds the value in every run; null: not known, usually host memory.
  Device* device = nullptr;
  // The caller does not read the value after a run: the run may overwrite it if no one else refers to it (a donated
  // buffer).
  bool given_away = false;
};

// Describes the values of every run for `output` after one such value, `value`. Its handle is not recorded, as runs may
// get different handles.
PANTO_EXPORT ExecutableFeed feed_like(NodeOutput output, const Tensor& value);

// State that nodes keep between runs (random number generators, counts of prints). All executables of one session or
// function share one instance. A node is found by its identity, which it gets from the graph that the executable is
// made of, and which no pass changes. Nodes that a composite expands to are found by the composite and their position
// in it.
// Thread-safe.
class PANTO_EXPORT NodeStates {
 public:
  // When nodes of the different graphs of one session or function count as the same node.
  enum class Identity {
    kId,     // for versions of one graph, in which nodes keep their ids
    kOrder,  // for traces of one function: the k-th node added with this op and these attributes, ignoring types
             // and shapes
  };
  explicit NodeStates(Identity identity) : identity_(identity) {}
  Identity identity() const noexcept { return identity_; }
  // Returns the state of that node; stores `fresh` as its state if there is none.
  std::shared_ptr<KernelState> share(const std::string& node, std::shared_ptr<KernelState> fresh);
  // `positions` returns the positions of all resumable states (ResumableState) as bytes. `go_to` continues from such
  // bytes, also for nodes that are created later; states that the bytes do not mention restart. `positions` throws
  // FailedPrecondition if a state cannot tell its position, `go_to` throws DataLoss for malformed bytes.
  std::string positions();
  void go_to(std::string_view positions);
  // A separate instance for the function's gradient function.
  std::shared_ptr<NodeStates> gradients();

 private:
  Identity identity_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<KernelState>> states_;
  std::shared_ptr<NodeStates> gradients_;
};

struct ExecutableOptions {
  std::string passes;                                    // as in --optimize: "" all, "off", "cse,-fusion"
  std::shared_ptr<ResourceManager> resources = nullptr;  // where VarHandleOp looks; null: default_resources()
  NodeStates* states = nullptr;  // null: the executable has its own. It need not outlive the executable
  bool soft_placement = false;   // use the first CPU if a device does not exist or has no kernel
  // The device of nodes that ask for none. Null: the first GPU that holds a feed, or the value of a resource that is
  // fed; else the first CPU.
  Device* device = nullptr;
  bool log_device_placement = false;  // one line per node on standard error, as TensorFlow does
  std::string log_scope = {};         // prefix of the node names in that log: the name of the function
  // "": nodes run where they ask to, else on `device`. "by_cost": nodes that may run on several devices go where the
  // simulation of lib/runtime/placement/cost_placer.h finishes them first. Throws InvalidArgument for anything else.
  std::string placement = {};
  std::shared_ptr<CostModel> costs = nullptr;  // used by "by_cost"; the first runs are recorded in it; null: estimates
  bool narrow_transfers = false;               // send float32 between devices as bfloat16
  // How many nodes of the first CPU may run at once, if that is faster (lib/runtime/parts/trial.h).
  int inter_op_threads = 1;
  // Limit on PlanStats::planned_bytes; -1: no limit. To stay within it, values are recomputed (lib/runtime/recompute.h)
  // and not fused, and nodes run one after the other. Throws ResourceExhausted if that is not enough, InvalidArgument
  // if shapes are not known, Unimplemented for loops of TensorFlow 1 that could not be raised. Plans of functions that
  // nodes call are not counted.
  int64_t memory_limit = -1;
};

// The mutable state of a run, reused by later runs. Opaque: each executable defines its own.
class PANTO_EXPORT RunState {
 public:
  RunState() = default;
  RunState(const RunState&) = delete;
  RunState& operator=(const RunState&) = delete;
  virtual ~RunState();
};

class PANTO_EXPORT Executable {
 public:
  // Keeps only what `fetches` and `targets` (node ids) need. Throws InvalidArgument for a Placeholder that is needed
  // but not fed, a cycle, or a device that does not exist; Unimplemented if an op has no kernel.
  static std::shared_ptr<Executable> make(const Graph& graph, std::span<const ExecutableFeed> feeds,
                                          std::span<const NodeOutput> fetches, std::span<const int> targets,
                                          const ExecutableOptions& options);
  virtual ~Executable() = default;

  // Whether `run` takes these inputs, one per feed: their number, dtypes, shapes and devices match, and they have
  // values.
  virtual bool accepts(std::span<const Tensor* const> inputs) const noexcept = 0;
  // Throws InvalidArgument if `accepts` is false.
  virtual void check(std::span<const Tensor* const> inputs) const = 0;
  // False for a graph of one call on feeds and constants.
  virtual bool needs_state() const noexcept = 0;
  // Precondition: `needs_state()` is false. Returns false, having done nothing, if it does not accept the inputs.
  // `outputs` must be undefined tensors. Throws as `run` does.
  virtual bool run_without_state(const Step& step, std::span<const Tensor* const> inputs,
                                 std::span<Tensor> outputs) const = 0;
  // Returns a new state. Discard a state after an error: it may hold parts of a run.
  virtual std::unique_ptr<RunState> new_state() const = 0;
  // Overwrites `outputs`, one per fetch. Throws what an op throws, with node and line; Cancelled or DeadlineExceeded if
  // the step is stopped.
  // Preconditions: `state` was made by this executable and is in no other run; the inputs are accepted.
  virtual void run(RunState& state, const Step& step, std::span<const Tensor* const> inputs,
                   std::span<Tensor> outputs) const = 0;
  virtual const PlanStats& stats() const = 0;
  // The shortest run measured for ExecutableOptions::costs; 0 if none was.
  virtual double measured_seconds() const noexcept { return 0; }
  // The graph after placement and optimization.
  virtual const Graph& optimized() const = 0;
};

}  // namespace panto
