// The implementation of Session. Internal.
#pragma once

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "panto/lib/base/object_pool.h"
#include "panto/lib/base/small_vector.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/graph/flow/raise.h"
#include "panto/lib/runtime/executable.h"
#include "panto/lib/runtime/placement/cost_model.h"
#include "panto/lib/runtime/plan/recent_plans.h"
#include "panto/lib/runtime/session.h"

namespace panto {

// One combination of fetches and feeds, with its plans for different shapes.
struct CallPlans {
  explicit CallPlans(std::shared_ptr<const Graph> of, size_t max_plans) : graph(std::move(of)), plans(max_plans) {}

  std::shared_ptr<const Graph> graph;
  std::vector<GraphElement> feeds;
  std::vector<GraphElement> fetches;
  std::vector<NodeOutput> feed_outputs;
  std::vector<NodeOutput> fetch_outputs;
  std::vector<int> fetch_of;  // by fetch: its position in `fetch_outputs`; -1: it has no output
  bool values_only = true;    // fetch i is fetch_outputs[i], and not a variable
  std::vector<int> target_nodes;

  struct Plan {
    std::vector<PartialShape> shapes;
    std::vector<const Device*> devices;
    std::vector<DType> dtypes;  // a feed's dtype varies only if its node is of an unknown op
    std::shared_ptr<Executable> executable;
    ObjectPool<RunState> states;
  };
  std::mutex mutex;
  RecentPlans<std::shared_ptr<Plan>> plans;
  int num_planned = 0;
  std::shared_ptr<Plan> open_plan;

  bool fits(std::span<const GraphElement> wanted, const Feeds& given) const;
  // Writes `values`, by fetch, from the values of `fetch_outputs`.
  void give_values(std::span<const Tensor> outputs, std::span<Tensor> values) const;
};

// Feeds as tensors: numbers become scalars.
class FedTensors {
 public:
  // `values`, one per feed of the call, must outlive the object. Throws InvalidArgument if a value does not fit.
  FedTensors(const CallPlans& call, std::span<const FeedValue* const> values);
  std::span<const Tensor* const> tensors() const { return inputs_; }

 private:
  std::vector<Tensor> numbers_;
  SmallVector<const Tensor*, 8> inputs_;
};

class StepStats;
struct PartialRun;
struct PartialSetup;

class Session::Impl {
 public:
  using Plan = CallPlans::Plan;

  // `original`: the caller's graph, of which `graph` is a copy; null: the session owns its graph.
  static std::shared_ptr<Impl> make(Graph graph, const Graph* original, SessionOptions options);
  Impl(Graph graph, const Graph* original, SessionOptions options);

  // Writes `values`, by fetch.
  void run(std::span<const GraphElement> fetches, const Feeds& feeds, std::span<Tensor> values,
           const RunOptions& options, RunMetadata* metadata);
  Tensor run_one(const GraphElement& fetch, const Feeds& feeds);
  std::shared_ptr<CallPlans> resolve(std::shared_ptr<const Graph> graph, std::span<const GraphElement> fetches,
                                     std::span<const GraphElement> feeds) const;
  // Resolves names in the current graph, raised to While and If if possible.
  std::shared_ptr<CallPlans> resolve_now(std::span<const GraphElement> fetches, std::span<const GraphElement> feeds);
  std::shared_ptr<Plan> find_plan(CallPlans& call, std::span<const Tensor* const> inputs);
  // Writes `outputs`, by fetch output of the call.
  void execute(const Executable& executable, RunState& state, std::span<const Tensor* const> inputs,
               std::span<Tensor> outputs, const RunOptions& options, RunMetadata* metadata) const;
  // The same with one of the plan's run states.
  void execute(Plan& plan, std::span<const Tensor* const> inputs, std::span<Tensor> outputs, const RunOptions& options,
               RunMetadata* metadata) const;

  std::string partial_run_setup(const Fetches& fetches, std::span<const GraphElement> feeds);
  std::vector<Tensor> partial_run(const std::string& handle, const Fetches& fetches, const Feeds& feeds);

  void extend(const Graph& more);
  void close();
  bool closed() const noexcept { return closed_.load(std::memory_order_relaxed); }
  // Throws FailedPrecondition if the session is closed.
  void expect_open() const;
  static void reset(const std::vector<std::string>& containers);

  const Graph& graph() const;
  ResourceManager& resources() { return *resources_; }
  CostModel& costs() { return *costs_; }
  NodeStates& states() { return states_; }
  std::shared_ptr<Executable> latest() const;

 private:
  std::shared_ptr<CallPlans> find_call(std::span<const GraphElement> fetches, const Feeds& feeds);
  void follow();
  void use_raised(CallPlans& call);
  // The caller's step, with the session's resources and options.
  Step step_here() const;
  std::shared_ptr<Executable> make_executable(const CallPlans& call, std::span<const Tensor* const> inputs, bool open);
  void set_latest(const std::shared_ptr<Executable>& executable);

  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<const Graph> raised_graph_;  // one for all calls, so that they share its nodes' states
  std::shared_ptr<const Graph> raised_of_;     // the graph that raised_graph_ was made from
  Raised raised_;
  std::weak_ptr<Graph* const> location_;    // of the caller's graph, or of our own
  std::shared_ptr<const Graph> own_graph_;  // the original graph, which Operations refer to; null: the caller's
  uint64_t seen_edits_ = 0;
  SessionOptions options_;
  const std::shared_ptr<ResourceManager> resources_;
  const std::shared_ptr<CostModel> costs_ = std::make_shared<CostModel>();
  NodeStates states_{NodeStates::Identity::kId};
  mutable std::mutex mutex_;
  std::list<std::shared_ptr<CallPlans>> calls_;  // latest first
  std::shared_ptr<Executable> latest_;
  std::atomic<bool> closed_ = false;
  const std::shared_ptr<Cancellation> closing_ = std::make_shared<Cancellation>();

  std::map<std::string, std::shared_ptr<PartialRun>> partial_runs_;      // by handle
  std::map<std::string, std::shared_ptr<PartialSetup>> partial_setups_;  // by fetches and feeds
  int64_t next_partial_run_ = 0;
};

struct SessionCallable::Impl {
  std::shared_ptr<Session::Impl> session;
  std::shared_ptr<CallPlans> call;
  RunOptions options;
  // The plan and state for the next call, if its inputs fit.
  struct Ready {
    std::shared_ptr<CallPlans::Plan> plan;
    std::unique_ptr<RunState> state;
  };
  ObjectPool<Ready> ready;
};

// Throws InvalidArgument for invalid options.
void check_run_options(const RunOptions& options);
// Throws InvalidArgument unless `value` may be fed for `output`.
void check_feed(const Graph& graph, NodeOutput output, const Tensor& value);
// Fills in what `options` ask for about a run of `executable`.
void fill_metadata(RunMetadata& metadata, const Executable& executable, const StepStats& stats,
                   const RunOptions& options);

}  // namespace panto
