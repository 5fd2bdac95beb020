// Executable: a graph made ready to run for given feeds and fetches: placed, optimized, planned.
//
// Sessions and traced functions share it: the pipeline (validate -> place -> optimize -> plan) is in `make`, `run` only
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

// A node output that is given at every run (any node's, not only a Placeholder's), with what is known of it now. Every
// run must fit; static shapes allow buffers to be planned.
struct ExecutableFeed {
  NodeOutput output;
  OutputInfo info;
  // Of a resource: the handle that every run will get, if that is known. What it declares is then known of what is
  // read.
  Tensor handle = {};
  // Where every run will have it; null: not known, as a rule in host memory.
  Device* device = nullptr;
  // Nobody reads it after a run: where nobody else refers to it, the run may write over it.
  bool given_away = false;
};

// What is known of the value that every run will have for `output`, from one such value. Another may have another
// handle.
PANTO_EXPORT ExecutableFeed feed_like(NodeOutput output, const Tensor& value);

// What nodes (generators of random numbers, counts of prints) keep between runs. Executables of one instance, a session
// or a function, share it. A node is known by its identity, which the graph that an executable is made of gives it, and
// which no pass changes. What composites expand to is known by the composite and its place in it.
// Thread-safe.
class PANTO_EXPORT NodeStates {
 public:
  // What makes two nodes one, of the graphs that executables of this instance are made of.
  enum class Identity {
    kId,     // of versions of one graph, which keep ids
    kOrder,  // of traces of one function: the k-th node of one op with equal attributes, of which types and shapes do
             // not count, in the order in which they were added
  };
  explicit NodeStates(Identity identity) : identity_(identity) {}
  Identity identity() const noexcept { return identity_; }
  // What is kept for that node, or `fresh`, which is kept from now on.
  std::shared_ptr<KernelState> share(const std::string& node, std::shared_ptr<KernelState> fresh);
  // Where those stand that can say (ResumableState), as bytes; and from such bytes on, also for nodes that are made
  // later. The others go to their beginning. `positions` throws FailedPrecondition where one cannot say, go_to DataLoss
  // for other bytes.
  std::string positions();
  void go_to(std::string_view positions);
  // The instance of what differentiates a function, which has nodes of its own.
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
  NodeStates* states = nullptr;                          // null: the executable has its own. Need not outlive it
  bool soft_placement = false;  // a device that does not exist, or has no kernel, becomes the first CPU
  // Where nodes run that ask for no device; null: on the first GPU that a feed is on, or the value of a resource that
  // is fed, else on the first CPU.
  Device* device = nullptr;
  bool log_device_placement = false;  // on standard error, as TensorFlow does: a line for each node
  std::string log_scope = {};         // before the nodes' names there: the function that they are of
  // "": as asked, else on `device`. "by_cost": what may be on several devices is where the simulation of
  // lib/runtime/placement/cost_placer.h ends soonest. Throws InvalidArgument for anything else.
  std::string placement = {};
  std::shared_ptr<CostModel> costs = nullptr;  // that it asks, and that the first runs are noted in; null: estimates
  bool narrow_transfers = false;               // float32 goes from device to device as bfloat16
  // How many nodes of the first CPU may be computed at once, where that is faster (lib/runtime/parts/trial.h).
  int inter_op_threads = 1;
  // Bytes that the plan may make room for (PlanStats::planned_bytes); -1: as many as it needs. Values are computed
  // again where they would be more (lib/runtime/recompute.h), and not fused; nodes are then computed one after the
  // other. Throws ResourceExhausted where that does not do, InvalidArgument where shapes are not known, Unimplemented
  // for loops of TensorFlow 1 that stay as they are. Plans of functions that nodes call are not counted.
  int64_t memory_limit = -1;
};

// What one run of an executable writes to, and the next one after it. What is in it is the executable's affair.
class PANTO_EXPORT RunState {
 public:
  RunState() = default;
  RunState(const RunState&) = delete;
  RunState& operator=(const RunState&) = delete;
  virtual ~RunState();
};

class PANTO_EXPORT Executable {
 public:
  // Prunes to what `fetches` and `targets` (node ids) need. Throws InvalidArgument for a Placeholder that is needed and
  // not fed, a cycle, a device that does not exist; Unimplemented where an op has no kernel.
  static std::shared_ptr<Executable> make(const Graph& graph, std::span<const ExecutableFeed> feeds,
                                          std::span<const NodeOutput> fetches, std::span<const int> targets,
                                          const ExecutableOptions& options);
  virtual ~Executable() = default;

  // Whether `run` takes these inputs, by feed: as many, of the dtypes and shapes and where it was made for, with
  // values.
  virtual bool accepts(std::span<const Tensor* const> inputs) const noexcept = 0;
  // Throws InvalidArgument where it does not.
  virtual void check(std::span<const Tensor* const> inputs) const = 0;
  // False for a graph of one call on feeds and constants.
  virtual bool needs_state() const noexcept = 0;
  // Precondition: it needs no state. False, with nothing done, where it does not accept the inputs. `outputs` are
  // undefined before. Throws as `run` does.
  virtual bool run_without_state(const Step& step, std::span<const Tensor* const> inputs,
                                 std::span<Tensor> outputs) const = 0;
  // A new one. Dropped after an error: parts of a run may be left in it.
  virtual std::unique_ptr<RunState> new_state() const = 0;
  // `outputs` (as many as fetches) are overwritten. Throws what an op throws, with node and line; Cancelled or
  // DeadlineExceeded where the step is stopped.
  // Preconditions: `state` is this executable's and in no other run; the inputs are accepted.
  virtual void run(RunState& state, const Step& step, std::span<const Tensor* const> inputs,
                   std::span<Tensor> outputs) const = 0;
  virtual const PlanStats& stats() const = 0;
  // Of the shortest run that was measured for ExecutableOptions::costs; 0: none was.
  virtual double measured_seconds() const noexcept { return 0; }
  // The graph after placement and optimization.
  virtual const Graph& optimized() const = 0;
};

}  // namespace panto
