#include "panto/lib/runtime/session.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <set>

#include "panto/lib/base/format.h"
#include "panto/lib/base/quote.h"
#include "panto/lib/base/spares.h"
#include "panto/lib/core/resource.h"
#include "panto/lib/graph/check.h"
#include "panto/lib/graph/validate.h"
#include "panto/lib/runtime/executable.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/lib/runtime/recent_plans.h"

namespace panto {

namespace {

constexpr size_t kMaxCalls = 64;  // combinations of feeds, fetches and targets that are remembered
constexpr int kMaxShapes = 16;    // of each: combinations of shapes that get plans of their own

std::string shown(const TensorRef& ref) {
  return ref.symbolic().defined() ? ref.symbolic().to_string() : "'" + printable(ref.name()) + "'";
}

// One combination of feeds, fetches and targets, with the plans for the shapes it was run with.
struct CallPlans {
  std::vector<TensorRef> feeds;
  std::vector<TensorRef> fetches;
  std::vector<std::string> targets;
  std::vector<NodeOutput> feed_outputs;
  std::vector<NodeOutput> fetch_outputs;
  std::vector<int> target_nodes;

  struct Plan {
    std::vector<PartialShape> shapes;
    std::vector<const Device*> devices;
    std::shared_ptr<Executable> executable;
    Spares<Executable::Frame> frames;
  };
  std::mutex mutex;
  RecentPlans<std::shared_ptr<Plan>> plans;
  int num_planned = 0;
  std::shared_ptr<Plan> open_plan;

  bool fits(const Feeds& given, const Fetches& wanted, const std::vector<std::string>& run) const {
    return given.size() == feeds.size() && wanted == fetches && run == targets &&
           std::ranges::equal(given, feeds, {}, &Feeds::value_type::first);
  }
};

}  // namespace

class Session::Impl {
 public:
  Impl(Graph graph, SessionOptions options) : graph_(std::move(graph)), options_(std::move(options)) {
    check_passes(options_.passes);
    validate(graph_);
  }

  std::vector<Tensor> run(const Feeds& feeds, const Fetches& fetches, const std::vector<std::string>& targets) {
    const std::shared_ptr<CallPlans> call = find_call(feeds, fetches, targets);
    std::vector<const Tensor*> inputs;
    inputs.reserve(feeds.size());
    for (size_t i = 0; i < feeds.size(); ++i) {
      check_feed(call->feed_outputs[i], feeds[i].second);
      inputs.push_back(&feeds[i].second);
    }
    const std::shared_ptr<Plan> plan = find_plan(*call, inputs);
    plan->executable->check(inputs);
    std::vector<Tensor> outputs(fetches.size());
    std::unique_ptr<Executable::Frame> frame = plan->frames.take([](const Executable::Frame&) { return true; });
    if (frame == nullptr) frame = plan->executable->frame();
    plan->executable->run(*frame, inputs, outputs);
    plan->frames.put(std::move(frame));
    return outputs;
  }

  const Graph& graph() const { return graph_; }
  ResourceManager& resources() { return resources_; }
  std::shared_ptr<Executable> latest() const {
    const std::lock_guard lock(mutex_);
    if (latest_ == nullptr) fail(Code::kFailedPrecondition, "session: expected it to have run, got no run yet");
    return latest_;
  }

 private:
  std::shared_ptr<CallPlans> find_call(const Feeds& feeds, const Fetches& fetches,
                                       const std::vector<std::string>& targets) {
    {
      const std::lock_guard lock(mutex_);
      for (auto it = calls_.begin(); it != calls_.end(); ++it) {
        if (!(*it)->fits(feeds, fetches, targets)) continue;
        if (it != calls_.begin()) calls_.splice(calls_.begin(), calls_, it);
        return calls_.front();
      }
    }
    std::shared_ptr<CallPlans> call = resolve(feeds, fetches, targets);
    const std::lock_guard lock(mutex_);
    if (calls_.size() >= kMaxCalls) calls_.pop_back();
    calls_.push_front(call);
    return call;
  }

  NodeOutput output_of(const TensorRef& ref, std::string_view role) const {
    return with_context([&] { return fmt::format("{} {}", role, shown(ref)); },
                        [&] {
                          if (!ref.symbolic().defined()) return graph_.output(ref.name());
                          const NodeOutput output = graph_.output_of(ref.symbolic());
                          if (!output.valid()) {
                            invalid("symbolic tensor: expected one of this session's graph, got {}", shown(ref));
                          }
                          return output;
                        });
  }

  std::shared_ptr<CallPlans> resolve(const Feeds& feeds, const Fetches& fetches,
                                     const std::vector<std::string>& targets) const {
    auto call = std::make_shared<CallPlans>();
    std::set<NodeOutput> seen;
    for (const auto& [ref, value] : feeds) {
      const NodeOutput output = output_of(ref, "feed");
      if (!seen.insert(output).second) {
        invalid("feeds: expected each tensor once, got '{}' twice", graph_.output_name(output));
      }
      call->feeds.push_back(ref);
      call->feed_outputs.push_back(output);
    }
    for (const TensorRef& ref : fetches) {
      call->fetches.push_back(ref);
      call->fetch_outputs.push_back(output_of(ref, "fetch"));
    }
    for (const std::string& name : targets) {
      if (name.starts_with('^') || name.find(':') != std::string::npos) {
        invalid("target: expected the name of a node, got '{}'", name);
      }
      call->targets.push_back(name);
      call->target_nodes.push_back(
          with_context([&] { return "target '" + printable(name) + "'"; }, [&] { return graph_.at(name).id(); }));
    }
    return call;
  }

  using Plan = CallPlans::Plan;

  std::shared_ptr<Plan> find_plan(CallPlans& call, std::span<const Tensor* const> inputs) {
    // Held while planning too: two threads with the same new shapes must not both plan.
    const std::lock_guard lock(call.mutex);
    const std::shared_ptr<Plan>* known = call.plans.find([&](const std::shared_ptr<Plan>& plan) {
      bool same = true;
      for (size_t i = 0; same && i < inputs.size(); ++i) {
        same = plan->shapes[i] == inputs[i]->partial_shape() && plan->devices[i] == &inputs[i]->device();
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
      feeds.back().info = graph_.info(call.feed_outputs[i]);
      feeds.back().device = nullptr;
    }
    ExecutableOptions options;
    options.passes = options_.passes;
    options.soft_placement = options_.soft_placement;
    if (!options_.device.empty()) options.device = &find_device(options_.device);
    options.resources = &resources_;
    options.states = &states_;
    return Executable::make(graph_, feeds, call.fetch_outputs, call.target_nodes, options);
  }

  void check_feed(NodeOutput output, const Tensor& value) const {
    const OutputInfo& expected = graph_.info(output);
    if (value.defined() && !value.is_meta() && value.dtype() == expected.dtype &&
        value.partial_shape().compatible_with(expected.shape)) {
      return;
    }
    const std::string got = !value.defined() ? "an undefined tensor"
                            : value.is_meta()
                                ? value.to_string()
                                : std::string(dtype_name(value.dtype())) + value.partial_shape().to_string();
    invalid("feed '{}': expected {}{}, got {}", graph_.output_name(output), dtype_name(expected.dtype),
            expected.shape.to_string(), got);
  }

  void set_latest(const std::shared_ptr<Executable>& executable) {
    const std::lock_guard lock(mutex_);
    if (latest_ != executable) latest_ = executable;
  }

  Graph graph_;
  SessionOptions options_;
  ResourceManager resources_;
  NodeStates states_;
  mutable std::mutex mutex_;
  std::list<std::shared_ptr<CallPlans>> calls_;  // latest first
  std::shared_ptr<Executable> latest_;
};

Session::Session(Graph graph, SessionOptions options)
    : impl_(std::make_unique<Impl>(std::move(graph), std::move(options))) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

std::vector<Tensor> Session::run(const Feeds& feeds, const Fetches& fetches, const std::vector<std::string>& targets) {
  return impl_->run(feeds, fetches, targets);
}
const Graph& Session::graph() const { return impl_->graph(); }
ResourceManager& Session::resources() { return impl_->resources(); }
PlanStats Session::plan_stats() const { return impl_->latest()->stats(); }
Graph Session::optimized_graph() const { return impl_->latest()->optimized(); }

}  // namespace panto
