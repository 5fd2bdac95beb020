#include "panto/lib/runtime/session/session_impl.h"

#include <algorithm>
#include <optional>
#include <set>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/bind.h"
#include "panto/lib/core/step/threads.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/graph/check.h"
#include "panto/lib/graph/validate.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/lib/runtime/placement/placer.h"
#include "panto/lib/runtime/session/run_metadata.h"
#include "panto/lib/runtime/step_stats.h"

namespace panto {

namespace {

constexpr size_t kMaxCalls = 64;  // remembered combinations of fetches and feeds

// A fed number as a scalar of type `t`; `what` names the feed.
template <class What>
Tensor number_tensor(const FeedValue& value, DType t, const What& what) {
  switch (value.kind()) {
    case FeedValue::Kind::kBool: return dispatch::literal_tensor(value.integer() != 0, t, what());
    case FeedValue::Kind::kInteger: return dispatch::literal_tensor(value.integer(), t, what());
    default: return dispatch::literal_tensor(value.real(), t, what());
  }
}

// Calls f(), adding `role` and the element to its errors.
template <class F>
auto with_element(std::string_view role, const GraphElement& element, F&& f) {
  return with_context([&] { return fmt::format("{} {}", role, element.to_string()); }, std::forward<F>(f));
}

void add_fetch(CallPlans& call, const GraphElement& element, const void* identity) {
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

// A cancellation that is requested when either of two others is.
class JoinedCancellation {
 public:
  JoinedCancellation(std::shared_ptr<Cancellation> a, std::shared_ptr<Cancellation> b)
      : of_{std::move(a), std::move(b)} {
    for (size_t i = 0; i < 2; ++i) watches_[i] = of_[i]->watch([joined = joined_] { joined->request(); });
  }
  ~JoinedCancellation() {
    for (size_t i = 0; i < 2; ++i) of_[i]->unwatch(watches_[i]);
  }
  JoinedCancellation(const JoinedCancellation&) = delete;
  JoinedCancellation& operator=(const JoinedCancellation&) = delete;
  const std::shared_ptr<Cancellation>& get() const { return joined_; }

 private:
  const std::shared_ptr<Cancellation> joined_ = std::make_shared<Cancellation>();
  const std::shared_ptr<Cancellation> of_[2];
  uint64_t watches_[2] = {};
};

// All sessions of the process, for Session::reset.
class OpenSessions {
 public:
  static OpenSessions& get() {
    static auto* all = new OpenSessions;  // leaked on purpose
    return *all;
  }
  void add(const std::shared_ptr<Session::Impl>& session) {
    const std::lock_guard lock(mutex_);
    std::erase_if(sessions_, [](const auto& s) { return s.expired(); });
    sessions_.push_back(session);
  }
  std::vector<std::shared_ptr<Session::Impl>> all() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Session::Impl>> found;
    for (const auto& session : sessions_) {
      if (auto s = session.lock()) found.push_back(std::move(s));
    }
    return found;
  }

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<Session::Impl>> sessions_;
};

void check_options(const SessionOptions& options) {
  check_passes(options.passes);
  check_placement(options.placement);
  if (options.intra_op_threads < 0 || options.intra_op_threads > 1024) {
    invalid("intra_op_threads: expected 0 to 1024, got {}", options.intra_op_threads);
  }
  if (options.inter_op_threads < 0 || options.inter_op_threads > 64) {
    invalid("inter_op_threads: expected 0 to 64, got {}", options.inter_op_threads);
  }
  if (options.memory_limit < -1) {
    invalid("memory_limit: expected bytes, or -1 for none, got {}", options.memory_limit);
  }
  if (options.max_plans < 1) invalid("max_plans: expected at least 1, got {}", options.max_plans);
  if (options.cpu_devices < 0) invalid("cpu_devices: expected at least 0, got {}", options.cpu_devices);
}

}  // namespace

void check_run_options(const RunOptions& options) {
  if (!(options.timeout >= 0)) invalid("timeout: expected 0 (none) or seconds, got {}", options.timeout);
}

void check_feed(const Graph& graph, NodeOutput output, const Tensor& value) {
  const OutputInfo& expected = graph.info(output);
  const bool any_type = expected.dtype == DType::kInvalid;  // of an unknown op
  if (value.defined() && !value.is_meta() && (any_type || value.dtype() == expected.dtype) &&
      value.partial_shape().compatible_with(expected.shape)) {
    return;
  }
  const std::string got = !value.defined()  ? "an undefined tensor"
                          : value.is_meta() ? value.to_string()
                                            : type_text(value.dtype(), value.partial_shape());
  invalid("feed '{}': expected {}{}, got {}", graph.output_name(output),
          any_type ? "a tensor" : dtype_name(expected.dtype), expected.shape.to_string(), got);
}

bool CallPlans::fits(std::span<const GraphElement> wanted, const Feeds& given) const {
  return given.size() == feeds.size() && std::ranges::equal(wanted, fetches) &&
         std::ranges::equal(given, feeds, {}, &Feeds::value_type::first);
}

void CallPlans::give_values(std::span<const Tensor> outputs, std::span<Tensor> values) const {
  for (size_t i = 0; i < values.size(); ++i) {
    const GraphElement& element = fetches[i];
    if (fetch_of[i] >= 0) values[i] = outputs[static_cast<size_t>(fetch_of[i])];
    if (element.is_variable()) values[i] = variable_of(values[i].defined() ? values[i] : element.tensor()).read();
  }
}

FedTensors::FedTensors(const CallPlans& call, std::span<const FeedValue* const> values) {
  numbers_.reserve(values.size());  // no reallocation, as the inputs point to the elements
  for (size_t i = 0; i < values.size(); ++i) {
    const FeedValue& value = *values[i];
    const Tensor* input = &value.tensor();
    if (value.kind() != FeedValue::Kind::kTensor) {
      const NodeOutput output = call.feed_outputs[i];
      const DType expected = call.graph->info(output).dtype;
      if (expected == DType::kInvalid) {
        invalid("feed '{}': expected a tensor, as its type is not known, got a number",
                call.graph->output_name(output));
      }
      input = &numbers_.emplace_back(
          number_tensor(value, expected, [&] { return fmt::format("feed '{}'", call.graph->output_name(output)); }));
    }
    inputs_.push_back(input);
  }
}

// ---- Life ----------------------------------------------------------------------------------------------------------

std::shared_ptr<Session::Impl> Session::Impl::make(Graph graph, const Graph* original, SessionOptions options) {
  auto made = std::make_shared<Impl>(std::move(graph), original, std::move(options));
  OpenSessions::get().add(made);
  return made;
}

Session::Impl::Impl(Graph graph, const Graph* original, SessionOptions options)
    : graph_(std::make_shared<const Graph>(std::move(graph))),
      options_(std::move(options)),
      resources_(options_.resources != nullptr ? options_.resources : std::make_shared<ResourceManager>()) {
  if (original == nullptr) own_graph_ = graph_;
  location_ = original != nullptr ? original->location() : graph_->location();
  if (original != nullptr) seen_edits_ = original->edits();
  check_options(options_);
  validate(*graph_);
  if (options_.cpu_devices > 0) set_cpu_device_count(options_.cpu_devices);
}

void Session::Impl::expect_open() const {
  if (closed()) [[unlikely]]
    fail(Code::kFailedPrecondition, "session: expected one that is open, got one that was closed");
}

void Session::Impl::close() {
  closed_.store(true, std::memory_order_relaxed);
  closing_->request();
}

void Session::Impl::reset(const std::vector<std::string>& containers) {
  const std::vector<std::shared_ptr<Impl>> sessions = OpenSessions::get().all();
  for (const std::shared_ptr<Impl>& session : sessions) session->close();
  const std::vector<std::string> unnamed = {""};
  for (const std::shared_ptr<Impl>& session : sessions) {
    for (const std::string& name : containers.empty() ? unnamed : containers) session->resources_->clear(name);
  }
}

const Graph& Session::Impl::graph() const {
  const std::lock_guard lock(mutex_);
  return *graph_;
}

std::shared_ptr<Executable> Session::Impl::latest() const {
  const std::lock_guard lock(mutex_);
  if (latest_ == nullptr) fail(Code::kFailedPrecondition, "session: expected it to have run, got no run yet");
  return latest_;
}

void Session::Impl::set_latest(const std::shared_ptr<Executable>& executable) {
  const std::lock_guard lock(mutex_);
  if (latest_ != executable) latest_ = executable;
}

// Copies nodes that were added to the original graph. Precondition: mutex_ is locked.
void Session::Impl::follow() {
  if (own_graph_ != nullptr) return;
  const std::shared_ptr<Graph* const> location = location_.lock();
  if (location == nullptr) return;
  const Graph& original = **location;
  if (original.edits() == seen_edits_) return;
  auto grown = std::make_shared<const Graph>(original);
  validate(*grown);
  graph_ = std::move(grown);
  seen_edits_ = original.edits();
}

void Session::Impl::extend(const Graph& more) {
  expect_open();
  const std::lock_guard lock(mutex_);
  if (own_graph_ == nullptr) {
    fail(Code::kFailedPrecondition,
         "extend: expected a session of a graph of its own, got one of a graph that grows elsewhere");
  }
  auto grown = std::make_shared<Graph>(*graph_);
  std::vector<int> id_of(static_cast<size_t>(more.id_limit()), -1);
  for (const int id : more.topological_order()) {
    const Node& node = more.at(id);
    const Node* known = grown->find(node.name());
    if (known != nullptr && node.is(OpKind::kPlaceholder)) {
      const bool fits = known->num_outputs() > 0 && known->output(0).dtype == node.output(0).dtype;
      if (!fits) {
        invalid("placeholder '{}': expected the type of the node that it stands for, got {}", node.name(),
                dtype_name(node.output(0).dtype));
      }
      id_of[static_cast<size_t>(id)] = known->id();
      continue;
    }
    NodeSpec spec = node.spec();
    for (NodeOutput& input : spec.inputs) {
      const int made = id_of[static_cast<size_t>(input.node)];
      input = made >= 0 ? NodeOutput{made, input.index} : spec.inputs[0];
    }
    for (int& control : spec.control_inputs) control = id_of[static_cast<size_t>(control)];
    spec.place = -1;
    id_of[static_cast<size_t>(id)] = grown->add(std::move(spec));
  }
  // Back edges of loops come from nodes that were not added yet.
  for (const int id : more.ids()) {
    const Node& node = more.at(id);
    for (int i = 0; i < node.num_inputs(); ++i) {
      const NodeOutput from{id_of[static_cast<size_t>(node.input(i).node)], node.input(i).index};
      const int made = id_of[static_cast<size_t>(id)];
      if (node.is(OpKind::kMerge) && !(grown->at(made).input(i) == from)) grown->set_input(made, i, from);
    }
  }
  validate(*grown);
  graph_ = std::move(grown);
  calls_.clear();
}

// ---- Calls and plans
// ---------------------------------------------------------------------------------------------------

std::shared_ptr<CallPlans> Session::Impl::find_call(std::span<const GraphElement> fetches, const Feeds& feeds) {
  const std::lock_guard lock(mutex_);
  for (auto it = calls_.begin(); it != calls_.end(); ++it) {
    if (!(*it)->fits(fetches, feeds)) continue;
    if (it != calls_.begin()) calls_.splice(calls_.begin(), calls_, it);
    return calls_.front();
  }
  follow();
  std::vector<GraphElement> fed;
  for (const auto& [element, value] : feeds) fed.push_back(element);
  std::shared_ptr<CallPlans> call = resolve(graph_, fetches, fed);
  use_raised(*call);
  calls_.push_front(std::move(call));
  if (calls_.size() > kMaxCalls) calls_.pop_back();
  return calls_.front();
}

std::shared_ptr<CallPlans> Session::Impl::resolve_now(std::span<const GraphElement> fetches,
                                                      std::span<const GraphElement> feeds) {
  const std::lock_guard lock(mutex_);
  follow();
  std::shared_ptr<CallPlans> call = resolve(graph_, fetches, feeds);
  use_raised(*call);
  return call;
}

// Uses the raised graph (with While and If), unless a fetch or feed is inside of them. Precondition: mutex_ is locked.
void Session::Impl::use_raised(CallPlans& call) {
  if (!options_.raise_control_flow || options_.passes == "off" || !graph_->has_control_flow()) return;
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

std::shared_ptr<CallPlans> Session::Impl::resolve(std::shared_ptr<const Graph> graph,
                                                  std::span<const GraphElement> fetches,
                                                  std::span<const GraphElement> feeds) const {
  const std::shared_ptr<Graph* const> location = location_.lock();
  const void* identity = location == nullptr ? nullptr : (*location)->identity();
  auto call = std::make_shared<CallPlans>(std::move(graph), static_cast<size_t>(options_.max_plans));
  std::set<NodeOutput> seen;
  for (const GraphElement& element : feeds) {
    const NodeOutput output = with_element("feed", element, [&] {
      if (element.kind() == GraphElement::Kind::kName) return call->graph->output(element.name());
      const NodeOutput found = element.is_variable() ? NodeOutput() : output_of(*call->graph, element, identity);
      if (!found.valid()) invalid("feed: expected a tensor, got {}", element.to_string());
      return found;
    });
    if (!seen.insert(output).second) {
      invalid("feeds: expected each tensor once, got '{}' twice", call->graph->output_name(output));
    }
    call->feeds.push_back(element);
    call->feed_outputs.push_back(output);
  }
  for (const GraphElement& element : fetches) {
    call->fetches.push_back(element);
    with_element("fetch", element, [&] { add_fetch(*call, element, identity); });
  }
  return call;
}

std::shared_ptr<CallPlans::Plan> Session::Impl::find_plan(CallPlans& call, std::span<const Tensor* const> inputs) {
  // Hold the lock while planning, so that two threads with the same new shapes do not both plan.
  const std::lock_guard lock(call.mutex);
  const std::shared_ptr<Plan>* known = call.plans.find([&](const std::shared_ptr<Plan>& plan) {
    bool same = true;
    for (size_t i = 0; same && i < inputs.size(); ++i) {
      same = plan->shapes[i] == inputs[i]->partial_shape() && plan->devices[i] == &inputs[i]->device() &&
             plan->dtypes[i] == inputs[i]->dtype();
    }
    return same;
  });
  if (known != nullptr) return *known;
  // If shapes keep changing (lengths of sentences), use one plan with the graph's own, partly unknown shapes. A memory
  // limit needs known shapes.
  const bool open = call.num_planned >= options_.max_plans && options_.memory_limit < 0;
  if (open && call.open_plan != nullptr) return call.open_plan;
  auto made = std::make_shared<Plan>();
  for (const Tensor* t : inputs) {
    made->shapes.push_back(t->partial_shape());
    made->devices.push_back(&t->device());
    made->dtypes.push_back(t->dtype());
  }
  made->executable = make_executable(call, inputs, open);
  if (open) {
    call.open_plan = made;
  } else {
    call.plans.add(made);
    ++call.num_planned;
  }
  return made;
}

Step Session::Impl::step_here() const {
  Step step = current_step();
  step.resources = resources_;
  if (options_.intra_op_threads > 0) step.threads = options_.intra_op_threads;
  step.graph_files = step.graph_files && options_.allow_files;
  step.soft_placement = options_.soft_placement;
  step.log_device_placement = options_.log_device_placement;
  return step;
}

std::shared_ptr<Executable> Session::Impl::make_executable(const CallPlans& call, std::span<const Tensor* const> inputs,
                                                           bool open) {
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
  options.states = &states_;
  options.log_device_placement = options_.log_device_placement;
  options.placement = options_.placement;
  if (!options_.placement.empty()) options.costs = costs_;
  options.narrow_transfers = options_.narrow_transfers;
  options.memory_limit = options_.memory_limit;
  options.inter_op_threads = std::max(1, options_.inter_op_threads);
  const Step step = step_here();  // values computed while planning belong to the session, too
  const StepScope scope(step);
  return Executable::make(*call.graph, feeds, call.fetch_outputs, call.target_nodes, options);
}

// ---- Running -------------------------------------------------------------------------------------------------------

void Session::Impl::run(std::span<const GraphElement> fetches, const Feeds& feeds, std::span<Tensor> values,
                        const RunOptions& options, RunMetadata* metadata) {
  expect_open();
  const std::shared_ptr<CallPlans> call = find_call(fetches, feeds);
  SmallVector<const FeedValue*, 8> given;
  for (const auto& [element, value] : feeds) given.push_back(&value);
  const FedTensors fed(*call, {given.data(), given.size()});
  const std::span<const Tensor* const> inputs = fed.tensors();
  for (size_t i = 0; i < inputs.size(); ++i) check_feed(*call->graph, call->feed_outputs[i], *inputs[i]);
  const std::shared_ptr<Plan> plan = find_plan(*call, inputs);
  set_latest(plan->executable);
  plan->executable->check(inputs);
  if (call->values_only) return execute(*plan, inputs, values, options, metadata);
  std::vector<Tensor> outputs(call->fetch_outputs.size());
  execute(*plan, inputs, outputs, options, metadata);
  call->give_values(outputs, values);
}

Tensor Session::Impl::run_one(const GraphElement& fetch, const Feeds& feeds) {
  Tensor value;
  run({&fetch, 1}, feeds, {&value, 1}, {}, nullptr);
  return value;
}

void Session::Impl::execute(Plan& plan, std::span<const Tensor* const> inputs, std::span<Tensor> outputs,
                            const RunOptions& options, RunMetadata* metadata) const {
  std::unique_ptr<RunState> state = plan.states.take([](const RunState&) { return true; });
  if (state == nullptr) state = plan.executable->new_state();
  execute(*plan.executable, *state, inputs, outputs, options, metadata);
  plan.states.put(std::move(state));
}

void Session::Impl::execute(const Executable& executable, RunState& state, std::span<const Tensor* const> inputs,
                            std::span<Tensor> outputs, const RunOptions& options, RunMetadata* metadata) const {
  Step step = step_here();
  std::optional<JoinedCancellation> joined;
  if (step.cancellation != nullptr) joined.emplace(step.cancellation, closing_);
  step.cancellation = joined ? joined->get() : closing_;
  if (options.timeout > 0) step.deadline = std::min(step.deadline, Step::deadline_in(options.timeout));
  const bool traced = metadata != nullptr && options.trace != RunOptions::Trace::kNone;
  if (metadata == nullptr && !options.report_out_of_memory) [[likely]]
    return executable.run(state, step, inputs, outputs);

  StepStats stats;
  const StepStatsScope watched(traced || options.report_out_of_memory ? &stats : watching_stats);
  try {
    executable.run(state, step, inputs, outputs);
  } catch (Error& error) {
    if (options.report_out_of_memory && error.code() == Code::kResourceExhausted) {
      error.add_context(stats.largest_outputs());
    }
    if (metadata != nullptr) fill_metadata(*metadata, executable, stats, options);
    throw;
  }
  if (metadata != nullptr) fill_metadata(*metadata, executable, stats, options);
}

}  // namespace panto
