#include "panto/lib/runtime/dataflow/dataflow.h"

#include <new>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/core/step/rendezvous.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/flow/flow.h"
#include "panto/lib/runtime/dataflow/flow_run.h"
#include "panto/lib/runtime/dataflow/flow_state.h"
#include "panto/lib/runtime/feed_checks.h"

namespace panto {

namespace {

class Dataflow final : public Executable {
 public:
  explicit Dataflow(FlowPlan plan) : plan_(std::move(plan)), feeds_(plan_.feeds) {}

  bool accepts(std::span<const Tensor* const> inputs) const noexcept override { return feeds_.accept(inputs); }
  void check(std::span<const Tensor* const> inputs) const override { feeds_.check(inputs); }
  bool needs_state() const noexcept override { return true; }
  bool run_without_state(const Step&, std::span<const Tensor* const>, std::span<Tensor>) const override {
    return false;
  }
  std::unique_ptr<RunState> new_state() const override { return std::make_unique<FlowState>(plan_); }

  void run(RunState& given, const Step& step, std::span<const Tensor* const> inputs,
           std::span<Tensor> outputs) const override {
    auto& state = static_cast<FlowState&>(given);
    for (size_t i = 0; i < inputs.size(); ++i) state.fixed[plan_.constants.size() + i] = inputs[i];
    for (FlowState::Fetched& fetched : state.fetched) fetched = {};
    try {
      if (plan_.transfers && step.rendezvous == nullptr) {
        Step own = step;
        own.rendezvous = std::make_shared<Rendezvous>();
        run_flow(plan_, state, own);
      } else {
        run_flow(plan_, state, step);
      }
      for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = fetch(i, state);
    } catch (const std::bad_alloc&) {
      fail(Code::kResourceExhausted, "memory: expected enough for the graph's run, got none");
    }
  }

  const PlanStats& stats() const override { return plan_.stats; }
  const Graph& optimized() const override { return plan_.graph; }

 private:
  // Returns a tensor of its own, as StraightLine's fetches are.
  Tensor fetch(size_t i, FlowState& state) const {
    const FlowPlan::Fetch& fetch = plan_.fetches[i];
    FlowState::Fetched& fetched = state.fetched[i];
    if (fetch.fixed < 0 && fetched.dead) {
      invalid("fetch '{}': expected a value, got none, as it is in a branch that was not taken", printable(fetch.name));
    }
    if (fetch.fixed < 0 && !fetched.there) {
      invalid("fetch '{}': expected a value, got none, as what it waits for did not come", printable(fetch.name));
    }
    const Tensor value =
        fetch.fixed >= 0 ? *state.fixed[static_cast<size_t>(fetch.fixed)] : std::exchange(fetched.value, Tensor());
    return value.dtype() == kResource || exclusively_owned(value) ? value : view_tensor(value, value.shape());
  }

  const FlowPlan plan_;
  const FeedChecks feeds_;
};

}  // namespace

std::shared_ptr<Executable> make_dataflow(FlowPlan plan) { return std::make_shared<Dataflow>(std::move(plan)); }

void expect_outside_of_loops(const Graph& graph, const char* role, std::span<const NodeOutput> outputs) {
  const Frames frames(graph);
  for (const NodeOutput& output : outputs) {
    const int loop = frames.behind(graph.at(output.node));
    if (loop == 0) continue;
    invalid("{} '{}': expected one outside of loops, got one in loop '{}'", role, graph.output_name(output),
            printable(frames.frame(loop).name));
  }
}

}  // namespace panto
