#include "panto/lib/runtime/session.h"

#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/lib/runtime/session/session_impl.h"

namespace panto {

Session::Session(const Graph& graph, SessionOptions options) : impl_(Impl::make(graph, &graph, std::move(options))) {}
Session::Session(Graph&& graph, SessionOptions options)
    : impl_(Impl::make(std::move(graph), nullptr, std::move(options))) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

std::vector<Tensor> Session::run(const Fetches& fetches, const Feeds& feeds) {
  return run(fetches, feeds, RunOptions());
}
std::vector<Tensor> Session::run(const Fetches& fetches) { return run(fetches, {}); }
std::vector<Tensor> Session::run(const Fetches& fetches, const Feeds& feeds, const RunOptions& options,
                                 RunMetadata* metadata) {
  check_run_options(options);
  std::vector<Tensor> values(fetches.size());
  impl_->run(fetches, feeds, values, options, metadata);
  return values;
}
void Session::run_into(const Fetches& fetches, const Feeds& feeds, Tensor* values, size_t count) {
  if (fetches.size() != count) invalid("run: expected {} fetches, got {}", count, fetches.size());
  impl_->run(fetches, feeds, {values, count}, {}, nullptr);
}
void Session::run_into(const Fetches& fetches, Tensor* values, size_t count) { run_into(fetches, {}, values, count); }
Tensor Session::run_one(const GraphElement& fetch, const Feeds& feeds) { return impl_->run_one(fetch, feeds); }
Tensor Session::run_one(const GraphElement& fetch) { return run_one(fetch, {}); }

std::string Session::partial_run_setup(const Fetches& fetches, const std::vector<GraphElement>& feeds) {
  return impl_->partial_run_setup(fetches, feeds);
}
std::vector<Tensor> Session::partial_run(const std::string& handle, const Fetches& fetches, const Feeds& feeds) {
  return impl_->partial_run(handle, fetches, feeds);
}
std::vector<Tensor> Session::partial_run(const std::string& handle, const Fetches& fetches) {
  return partial_run(handle, fetches, {});
}

void Session::extend(const Graph& more) { impl_->extend(more); }
void Session::close() { impl_->close(); }
bool Session::closed() const noexcept { return impl_->closed(); }
void Session::reset(const std::vector<std::string>& containers) { Impl::reset(containers); }

const Graph& Session::graph() const { return impl_->graph(); }
ResourceManager& Session::resources() { return impl_->resources(); }
CostModel& Session::costs() { return impl_->costs(); }
std::string Session::node_positions() const { return impl_->states().positions(); }
void Session::go_to(std::string_view positions) { impl_->states().go_to(positions); }
PlanStats Session::plan_stats() const {
  const std::shared_ptr<Executable> latest = impl_->latest();
  PlanStats stats = latest->stats();
  stats.measured_seconds = latest->measured_seconds();
  return stats;
}
Graph Session::optimized_graph() const { return impl_->latest()->optimized(); }

// ---- Callables -----------------------------------------------------------------------------------------------------

SessionCallable Session::make_callable(const Fetches& fetches, const std::vector<GraphElement>& feeds,
                                       const RunOptions& options) {
  check_run_options(options);
  impl_->expect_open();
  auto made = std::make_shared<SessionCallable::Impl>();
  made->session = impl_.shared();
  made->call = impl_->resolve_now(fetches, feeds);
  made->options = options;
  return SessionCallable(std::move(made));
}
SessionCallable Session::make_callable(const Fetches& fetches, const std::vector<GraphElement>& feeds) {
  return make_callable(fetches, feeds, {});
}
SessionCallable Session::make_callable(const Fetches& fetches) { return make_callable(fetches, {}, {}); }

SessionCallable::SessionCallable(SharedImpl<Impl> impl) : impl_(std::move(impl)) {}

std::vector<Tensor> SessionCallable::run(const FeedValue* values, size_t count, RunMetadata* metadata) const {
  Impl& impl = *impl_;
  impl.session->expect_open();
  CallPlans& call = *impl.call;
  if (count != call.feeds.size()) invalid("callable: expected {} values, got {}", call.feeds.size(), count);
  SmallVector<const FeedValue*, 8> given;
  for (size_t i = 0; i < count; ++i) given.push_back(values + i);
  const FedTensors fed(call, {given.data(), count});
  const std::span<const Tensor* const> inputs = fed.tensors();
  std::unique_ptr<Impl::Ready> ready =
      impl.ready.take([&](const Impl::Ready& r) { return r.plan->executable->accepts(inputs); });
  if (ready == nullptr) {
    for (size_t i = 0; i < count; ++i) check_feed(*call.graph, call.feed_outputs[i], *inputs[i]);
    std::shared_ptr<CallPlans::Plan> plan = impl.session->find_plan(call, inputs);
    plan->executable->check(inputs);
    std::unique_ptr<RunState> state = plan->executable->new_state();
    ready = std::make_unique<Impl::Ready>(Impl::Ready{std::move(plan), std::move(state)});
  }
  std::vector<Tensor> outputs(call.fetch_outputs.size());
  impl.session->execute(*ready->plan->executable, *ready->state, inputs, outputs, impl.options, metadata);
  impl.ready.put(std::move(ready));
  if (call.values_only) return outputs;
  std::vector<Tensor> results(call.fetches.size());
  call.give_values(outputs, results);
  return results;
}

// ---- The session of a thread ---------------------------------------------------------------------------------------

namespace {
// Innermost last. Not in the header: a REPL's JIT cannot link thread_local.
std::vector<Session::Impl*>& open_sessions() {
  thread_local std::vector<Session::Impl*> open;
  return open;
}
}  // namespace

SessionScope::SessionScope(Session& session) : impl_(session.impl_) { open_sessions().push_back(impl_.get()); }
SessionScope::~SessionScope() { open_sessions().pop_back(); }

Tensor eval(const GraphElement& fetch, const Feeds& feeds) {
  if (open_sessions().empty()) {
    fail(Code::kFailedPrecondition, "eval: expected a SessionScope around it, got none");
  }
  return open_sessions().back()->run_one(fetch, feeds);
}
Tensor eval(const GraphElement& fetch) { return eval(fetch, {}); }

}  // namespace panto
