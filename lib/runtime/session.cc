#include "panto/lib/runtime/session.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <set>

#include "panto/lib/base/format.h"
#include "panto/lib/base/object_pool.h"
#include "panto/lib/core/call/bind.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/graph/check.h"
#include "panto/lib/graph/flow/raise.h"
#include "panto/lib/graph/validate.h"
#include "panto/lib/runtime/cost_model.h"
#include "panto/lib/runtime/executable.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/lib/runtime/placer.h"
#include "panto/lib/runtime/recent_plans.h"

namespace panto {

namespace {

constexpr size_t kMaxCalls = 64;  // combinations of fetches and feeds that are remembered
constexpr int kMaxShapes = 16;    // of each: combinations of shapes that get plans of their own

// A fed number as a scalar of type `t`; `what` names the feed.
template <class What>
Tensor number_tensor(const FeedValue& value, DType t, const What& what) {
  switch (value.kind()) {
    case FeedValue::Kind::kBool: return dispatch::literal_tensor(value.integer() != 0, t, what());
    case FeedValue::Kind::kInteger: return dispatch::literal_tensor(value.integer(), t, what());
    default: return dispatch::literal_tensor(value.real(), t, what());
  }
}

// One combination of fetches and feeds, with the plans for the shapes it was run with.
struct CallPlans {
  std::shared_ptr<const Graph> graph;
  std::vector<GraphElement> feeds;
  std::vector<GraphElement> fetches;
  std::vector<NodeOutput> feed_outputs;
  std::vector<NodeOutput> fetch_outputs;
  std::vector<int> fetch_of;  // by fetch: its position among `fetch_outputs`; -1: nothing is fetched for it
  bool values_only = true;    // fetch i is fetch output i, and no variable
  std::vector<int> target_nodes;

  struct Plan {
    std::vector<PartialShape> shapes;
    std::vector<const Device*> devices;
    std::vector<DType> dtypes;  // two of one feed only where its node is of an unknown op
    std::shared_ptr<Executable> executable;
    ObjectPool<RunState> states;
  };
  std::mutex mutex;
  RecentPlans<std::shared_ptr<Plan>> plans;
  int num_planned = 0;
  std::shared_ptr<Plan> open_plan;

  bool fits(const Fetches& wanted, const Feeds& given) const {
    return given.size() == feeds.size() && wanted == fetches &&
           std::ranges::equal(given, feeds, {}, &Feeds::value_type::first);
  }
};

}  // namespace

class Session::Impl {
 public:
  Impl(Graph graph, const Graph* original, SessionOptions options)
      : graph_(std::make_shared<const Graph>(std::move(graph))), options_(std::move(options)) {
    location_ = original != nullptr ? original->location() : graph_->location();
    if (original != nullptr) seen_edits_ = original->edits();
    check_passes(options_.passes);
    check_placement(options_.placement);
    validate(*graph_);
  }

  std::vector<Tensor> run(const Fetches& fetches, const Feeds& feeds) {
    const std::shared_ptr<CallPlans> call = find_call(fetches, feeds);
    std::vector<Tensor> numbers;  // room for all: the inputs point to them
    numbers.reserve(feeds.size());
    std::vector<const Tensor*> inputs;
    inputs.reserve(feeds.size());
    for (size_t i = 0; i < feeds.size(); ++i) {
      const FeedValue& value = feeds[i].second;
      const NodeOutput output = call->feed_outputs[i];
      const Tensor* input = &value.tensor();
      if (value.kind() != FeedValue::Kind::kTensor) {
        const DType expected = call->graph->info(output).dtype;
        if (expected == DType::kInvalid) {
          invalid("feed '{}': expected a tensor, as its type is not known, got a number",
                  call->graph->output_name(output));
        }
        input = &numbers.emplace_back(
            number_tensor(value, expected, [&] { return fmt::format("feed '{}'", call->graph->output_name(output)); }));
      }
      check_feed(*call->graph, output, *input);
      inputs.push_back(input);
    }
    const std::shared_ptr<Plan> plan = find_plan(*call, inputs);
    plan->executable->check(inputs);
    std::vector<Tensor> outputs(call->fetch_outputs.size());
    std::unique_ptr<RunState> state = plan->states.take([](const RunState&) { return true; });
    if (state == nullptr) state = plan->executable->new_state();
    Step step = current_step();
    step.resources = resources_;
    plan->executable->run(*state, step, inputs, outputs);
    plan->states.put(std::move(state));
    return call->values_only ? outputs : values_of(*call, outputs);
  }

  const Graph& graph() const {
    const std::lock_guard lock(mutex_);
    return *graph_;
  }
  ResourceManager& resources() { return *resources_; }
  CostModel& costs() { return *costs_; }
  std::shared_ptr<Executable> latest() const {
    const std::lock_guard lock(mutex_);
    if (latest_ == nullptr) fail(Code::kFailedPrecondition, "session: expected it to have run, got no run yet");
    return latest_;
  }

 private:
  std::shared_ptr<CallPlans> find_call(const Fetches& fetches, const Feeds& feeds) {
    const std::lock_guard lock(mutex_);
    for (auto it = calls_.begin(); it != calls_.end(); ++it) {
      if (!(*it)->fits(fetches, feeds)) continue;
      if (it != calls_.begin()) calls_.splice(calls_.begin(), calls_, it);
      return calls_.front();
    }
    follow();
    calls_.push_front(resolve(fetches, feeds));
    if (calls_.size() > kMaxCalls) calls_.pop_back();
    return calls_.front();
  }

  // Takes what was added to the original graph. Precondition: locked.
  void follow() {
    const std::shared_ptr<Graph* const> location = location_.lock();
    if (location == nullptr || *location == graph_.get()) return;
    const Graph& original = **location;
    if (original.edits() == seen_edits_) return;
    auto grown = std::make_shared<const Graph>(original);
    validate(*grown);
    graph_ = std::move(grown);
    seen_edits_ = original.edits();
  }

  // Calls f() with what an error says of the element.
  template <class F>
  static auto with_element(std::string_view role, const GraphElement& element, F&& f) {
    return with_context([&] { return fmt::format("{} {}", role, element.to_string()); }, std::forward<F>(f));
  }

  // Precondition: locked.
  std::shared_ptr<CallPlans> resolve(const Fetches& fetches, const Feeds& feeds) {
    const std::shared_ptr<Graph* const> location = location_.lock();
    const void* identity = location == nullptr ? nullptr : (*location)->identity();
    auto call = std::make_shared<CallPlans>();
    call->graph = graph_;
    std::set<NodeOutput> seen;
    for (const auto& [element, value] : feeds) {
      const NodeOutput output = with_element("feed", element, [&] {
        if (element.kind() == GraphElement::Kind::kName) return graph_->output(element.name());
        const NodeOutput found = element.is_variable() ? NodeOutput() : output_of(*graph_, element, identity);
        if (!found.valid()) invalid("feed: expected a tensor, got {}", element.to_string());
        return found;
      });
      if (!seen.insert(output).second) {
        invalid("feeds: expected each tensor once, got '{}' twice", graph_->output_name(output));
      }
      call->feeds.push_back(element);
      call->feed_outputs.push_back(output);
    }
    for (const GraphElement& element : fetches) {
      call->fetches.push_back(element);
      with_element("fetch", element, [&] { add_fetch(*call, element, identity); });
    }
    if (options_.raise_control_flow && options_.passes != "off" && graph_->has_control_flow()) use_raised(*call);
    return call;
  }

  // The graph with While and If, unless something of the call is inside of them. Precondition: locked.
  void use_raised(CallPlans& call) {
    if (raised_of_ != graph_) {
      Graph graph = *graph_;
      raised_ = raise_control_flow(graph, {});
      raised_graph_ = std::make_shared<const Graph>(std::move(graph));
      raised_of_ = graph_;
    }
    if (raised_.loops + raised_.conditionals == 0) return;
    bool outside = true;
    const auto find = [&](NodeOutput output) {
      const NodeOutput found = raised_.find(*raised_graph_, output);
      outside = outside && found.valid();
      return found;
    };
    std::vector<NodeOutput> feeds, fetches;
    std::vector<int> targets;
    for (const NodeOutput& o : call.feed_outputs) feeds.push_back(find(o));
    for (const NodeOutput& o : call.fetch_outputs) fetches.push_back(find(o));
    for (const int id : call.target_nodes) targets.push_back(find({id, 0}).node);
    if (!outside) return;
    call.graph = raised_graph_;
    call.feed_outputs = std::move(feeds);
    call.fetch_outputs = std::move(fetches);
    call.target_nodes = std::move(targets);
  }

  static void add_fetch(CallPlans& call, const GraphElement& element, const void* identity) {
    // A variable from outside the graph is read as it is.
    NodeOutput output;
    const bool outside = element.is_variable() && element.tensor().defined() && !element.tensor().is_meta();
    if (!outside) {
      output = output_of(*call.graph, element, identity);
      if (!output.valid()) call.target_nodes.push_back(node_of(*call.graph, element, identity));
    }
    if (!output.valid() || element.is_variable()) call.values_only = false;
    call.fetch_of.push_back(output.valid() ? static_cast<int>(call.fetch_outputs.size()) : -1);
    if (output.valid()) call.fetch_outputs.push_back(output);
  }

  // By fetch, from what the run gave.
  static std::vector<Tensor> values_of(const CallPlans& call, std::span<const Tensor> outputs) {
    std::vector<Tensor> values(call.fetches.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const GraphElement& element = call.fetches[i];
      if (call.fetch_of[i] >= 0) values[i] = outputs[static_cast<size_t>(call.fetch_of[i])];
      if (element.is_variable()) values[i] = variable_of(values[i].defined() ? values[i] : element.tensor()).read();
    }
    return values;
  }

  using Plan = CallPlans::Plan;

  std::shared_ptr<Plan> find_plan(CallPlans& call, std::span<const Tensor* const> inputs) {
    // Held while planning too: two threads with the same new shapes must not both plan.
    const std::lock_guard lock(call.mutex);
    const std::shared_ptr<Plan>* known = call.plans.find([&](const std::shared_ptr<Plan>& plan) {
      bool same = true;
      for (size_t i = 0; same && i < inputs.size(); ++i) {
        same = plan->shapes[i] == inputs[i]->partial_shape() && plan->devices[i] == &inputs[i]->device() &&
               plan->dtypes[i] == inputs[i]->dtype();
      }
      return same;
    });
    if (known != nullptr) {
      set_latest((*known)->executable);
      return *known;
    }
    // Ever new shapes (lengths of sentences) are served by one plan that leaves open what the graph leaves open.
    const bool open = call.num_planned >= kMaxShapes;
    if (open && call.open_plan != nullptr) {
      set_latest(call.open_plan->executable);
      return call.open_plan;
    }
    auto made = std::make_shared<Plan>();
    for (const Tensor* t : inputs) {
      made->shapes.push_back(t->partial_shape());
      made->devices.push_back(&t->device());
      made->dtypes.push_back(t->dtype());
    }
    made->executable = make(call, inputs, open);
    if (open) {
      call.open_plan = made;
    } else {
      call.plans.add(made);
      ++call.num_planned;
    }
    set_latest(made->executable);
    return made;
  }

  std::shared_ptr<Executable> make(const CallPlans& call, std::span<const Tensor* const> inputs, bool open) {
    std::vector<ExecutableFeed> feeds;
    for (size_t i = 0; i < inputs.size(); ++i) {
      feeds.push_back(feed_like(call.feed_outputs[i], *inputs[i]));
      if (!open) continue;
      const DType dtype = feeds.back().info.dtype;
      feeds.back().info = call.graph->info(call.feed_outputs[i]);
      feeds.back().info.dtype = dtype;
      feeds.back().device = nullptr;
    }
    ExecutableOptions options;
    options.passes = options_.passes;
    options.soft_placement = options_.soft_placement;
    if (!options_.device.empty()) options.device = &find_device(options_.device);
    options.resources = resources_;
    options.log_device_placement = options_.log_device_placement;
    options.placement = options_.placement;
    if (!options_.placement.empty()) options.costs = costs_;
    options.narrow_transfers = options_.narrow_transfers;
    options.states = &states_;
    return Executable::make(*call.graph, feeds, call.fetch_outputs, call.target_nodes, options);
  }

  static void check_feed(const Graph& graph, NodeOutput output, const Tensor& value) {
    const OutputInfo& expected = graph.info(output);
    const bool any_type = expected.dtype == DType::kInvalid;  // of an op that is not here
    if (value.defined() && !value.is_meta() && (any_type || value.dtype() == expected.dtype) &&
        value.partial_shape().compatible_with(expected.shape)) {
      return;
    }
    const std::string got = !value.defined() ? "an undefined tensor"
                            : value.is_meta()
                                ? value.to_string()
                                : std::string(dtype_name(value.dtype())) + value.partial_shape().to_string();
    invalid("feed '{}': expected {}{}, got {}", graph.output_name(output),
            any_type ? "a tensor" : dtype_name(expected.dtype), expected.shape.to_string(), got);
  }

  void set_latest(const std::shared_ptr<Executable>& executable) {
    const std::lock_guard lock(mutex_);
    if (latest_ != executable) latest_ = executable;
  }

  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<const Graph> raised_graph_;  // once for all calls: they share what its nodes keep
  std::shared_ptr<const Graph> raised_of_;     // the graph that it was made of
  Raised raised_;
  std::weak_ptr<Graph* const> location_;  // of the graph that the caller builds, or of our own
  uint64_t seen_edits_ = 0;
  SessionOptions options_;
  const std::shared_ptr<ResourceManager> resources_ = std::make_shared<ResourceManager>();
  const std::shared_ptr<CostModel> costs_ = std::make_shared<CostModel>();
  NodeStates states_{NodeStates::Identity::kId};
  mutable std::mutex mutex_;
  std::list<std::shared_ptr<CallPlans>> calls_;  // latest first
  std::shared_ptr<Executable> latest_;
};

Session::Session(const Graph& graph, SessionOptions options)
    : impl_(std::make_shared<Impl>(graph, &graph, std::move(options))) {}
Session::Session(Graph&& graph, SessionOptions options)
    : impl_(std::make_shared<Impl>(std::move(graph), nullptr, std::move(options))) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

std::vector<Tensor> Session::run(const Fetches& fetches, const Feeds& feeds) { return impl_->run(fetches, feeds); }
std::vector<Tensor> Session::run(const Fetches& fetches) { return run(fetches, {}); }
void Session::run_into(const Fetches& fetches, const Feeds& feeds, Tensor* values, size_t count) {
  if (fetches.size() != count) invalid("run: expected {} fetches, got {}", count, fetches.size());
  std::ranges::move(run(fetches, feeds), values);
}
void Session::run_into(const Fetches& fetches, Tensor* values, size_t count) { run_into(fetches, {}, values, count); }
Tensor Session::run_one(const GraphElement& fetch, const Feeds& feeds) {
  return std::move(run(Fetches{fetch}, feeds)[0]);
}
Tensor Session::run_one(const GraphElement& fetch) { return run_one(fetch, {}); }
const Graph& Session::graph() const { return impl_->graph(); }
ResourceManager& Session::resources() { return impl_->resources(); }
CostModel& Session::costs() { return impl_->costs(); }
PlanStats Session::plan_stats() const {
  const std::shared_ptr<Executable> latest = impl_->latest();
  PlanStats stats = latest->stats();
  stats.measured_seconds = latest->measured_seconds();
  return stats;
}
Graph Session::optimized_graph() const { return impl_->latest()->optimized(); }

}  // namespace panto
