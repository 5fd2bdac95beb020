#include "panto/lib/runtime/plan/straight_line.h"

#include <algorithm>
#include <memory>
#include <new>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/thread_state.h"
#include "panto/lib/core/step/rendezvous.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/runtime/feed_checks.h"
#include "panto/lib/runtime/parts/lanes.h"
#include "panto/lib/runtime/parts/transfers.h"
#include "panto/lib/runtime/parts/trial.h"
#include "panto/lib/runtime/placement/measurements.h"
#include "panto/lib/runtime/plan/captured_steps.h"
#include "panto/lib/runtime/step_stats.h"

namespace panto {
namespace {

// The RunState of a StraightLine.
struct StraightLineState final : RunState {
  std::vector<PartState> parts;
  std::vector<Tensor> edges;        // values sent and not yet received
  std::unique_ptr<LanesRun> lanes;  // for plans with several lanes
  LanesRun* beside = nullptr;       // `lanes`, if this run uses several threads
  MeasuredRun* measured = nullptr;  // not null: steps record their times here
};

class StraightLine final : public Executable {
 public:
  // `is_split`: the parts belong to one device (split_by_cost).
  StraightLine(Plan plan, const ExecutableOptions& options, bool is_split)
      : plan_(std::move(plan)),
        lanes_(lanes_of(plan_, options.costs.get())),
        trial_(is_split && !lanes_.empty() ? std::make_unique<Trial>() : nullptr),
        measurements_(options.costs != nullptr ? std::make_unique<Measurements>(plan_, options.costs) : nullptr),
        feeds_(plan_.feeds),
        last_fetches_(plan_.fetches.size()) {
    std::vector<std::vector<uint8_t>> later;  // by part and temporary: whether a later fetch reads it
    for (size_t p = 0; p < plan_.parts.size(); ++p) {
      later.emplace_back(plan_.parts[p].temporaries.size(), uint8_t{0});
      capturable_.push_back(find_capturable(plan_, p));
    }
    for (size_t i = plan_.fetches.size(); i-- > 0;) {
      const auto& [part, value] = plan_.fetches[i];
      if (value.kind != PlanValue::Kind::kTemporary) continue;
      if (std::exchange(later[part][static_cast<size_t>(value.index)], uint8_t{1}) == 0) last_fetches_[i] = 1;
    }
    one_call_ = measurements_ == nullptr && is_one_call();
    has_transfers_ = has_transfers(plan_.graph);
  }

  bool accepts(std::span<const Tensor* const> inputs) const noexcept override { return feeds_.accept(inputs); }
  void check(std::span<const Tensor* const> inputs) const override { feeds_.check(inputs); }

  std::unique_ptr<RunState> new_state() const override {
    auto state = std::make_unique<StraightLineState>();
    for (size_t p = 0; p < plan_.parts.size(); ++p) state->parts.push_back(part_state(p));
    state->edges.resize(plan_.edges.size());
    if (!lanes_.empty()) state->lanes = std::make_unique<LanesRun>(plan_, lanes_);
    return state;
  }

  void run(RunState& given, const Step& step, std::span<const Tensor* const> inputs,
           std::span<Tensor> outputs) const override {
    if (has_transfers_ && step.rendezvous == nullptr) [[unlikely]]
      return run_with_rendezvous(given, step, inputs, outputs);
    auto& state = static_cast<StraightLineState&>(given);
    const LentStep lent(step);
    try {
      for (PartState& part : state.parts) {
        for (const auto& [position, feed] : part.feeds) part.inputs[position] = inputs[feed];
      }
      look_for_stop(step);
      if (!lanes_.empty() || measurements_ != nullptr) [[unlikely]] {
        run_and_measure(state, step);
      } else {
        for (const PlanSegment& segment : plan_.segments) run_segment(segment, state, step);
      }
      for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = fetch(i, inputs, state);
    } catch (const std::bad_alloc&) {
      out_of_memory();
    }
  }

  bool needs_state() const noexcept override { return !one_call_; }

  bool run_without_state(const Step& step, std::span<const Tensor* const> inputs,
                         std::span<Tensor> outputs) const override {
    if (!accepts(inputs)) return false;
    if (watching_stats != nullptr) [[unlikely]]
      return false;
    const PartPlan& plan = plan_.parts[0];
    const Tensor* ordered[kMostInputsOfOneCall];
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      const auto& [kind, index, device] = plan.inputs[i];
      ordered[i] = kind == PlanValue::Kind::kFeed ? inputs[static_cast<size_t>(index)]
                                                  : &plan_.constants[static_cast<size_t>(index)];
    }
    const LentStep lent(step);
    look_for_stop(step);
    try {
      run_call(plan, plan.steps[0], step, {ordered, plan.inputs.size()}, outputs);
    } catch (const std::bad_alloc&) {
      out_of_memory();
    }
    return true;
  }

  const PlanStats& stats() const override { return plan_.stats; }
  double measured_seconds() const noexcept override { return measurements_ == nullptr ? 0 : measurements_->shortest(); }
  const Graph& optimized() const override { return plan_.graph; }

 private:
  [[noreturn]] static void out_of_memory() {
    fail(Code::kResourceExhausted, "memory: expected enough for the graph's run, got none");
  }

  // Whether the plan is one step on feeds and constants that makes the fetches in order.
  bool is_one_call() const {
    if (plan_.parts.size() != 1) return false;
    const PartPlan& plan = plan_.parts[0];
    if (plan.steps.size() != 1 || plan.inputs.size() > kMostInputsOfOneCall) return false;
    const PlanStep& step = plan.steps[0];
    if (step.kind != PlanStep::Kind::kCall || step.makes_own || step.num_outputs != plan_.fetches.size()) return false;
    for (size_t i = 0; i < plan_.fetches.size(); ++i) {
      const PlanValue& value = plan_.fetches[i].value;
      if (value.kind != PlanValue::Kind::kTemporary || value.index != static_cast<int>(step.first_output + i)) {
        return false;
      }
    }
    return std::ranges::all_of(plan.inputs, [](const PlanValue& v) { return v.kind != PlanValue::Kind::kTemporary; });
  }

  // Tensors in the arena exist from the beginning, other temporaries only while needed.
  PartState part_state(size_t p) const {
    const PartPlan& plan = plan_.parts[p];
    PartState state;
    state.temporaries.resize(plan.temporaries.size());
    state.inputs.resize(plan.inputs.size());
    std::vector<std::pair<Device*, std::shared_ptr<void>>> arenas;
    for (const auto& [device, bytes] : plan.arenas) {
      Buffer* buffer = Buffer::allocate(*device, kUint8, bytes);
      arenas.emplace_back(device, std::shared_ptr<void>(buffer, [](void* b) { static_cast<Buffer*>(b)->release(); }));
    }
    for (size_t i = 0; i < plan.temporaries.size(); ++i) {
      const PlanTemporary& t = plan.temporaries[i];
      if (!t.in_arena) continue;
      const auto arena = std::ranges::find(arenas, t.device, &std::pair<Device*, std::shared_ptr<void>>::first);
      auto* data = static_cast<std::byte*>(static_cast<Buffer*>(arena->second.get())->data()) + t.offset;
      state.temporaries[i] = adopt_tensor(*t.device, t.dtype, Shape(t.shape), data, arena->second);
    }
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      const PlanValue& value = plan.inputs[i];
      const auto index = static_cast<size_t>(value.index);
      switch (value.kind) {
        case PlanValue::Kind::kFeed: state.feeds.emplace_back(i, index); break;
        case PlanValue::Kind::kConstant: state.inputs[i] = &plan_.constants[index]; break;
        case PlanValue::Kind::kTemporary: state.inputs[i] = &state.temporaries[index]; break;
      }
    }
    for (const CapturableSteps& steps : capturable_[p]) {
      state.captured.push_back(std::make_shared<CapturedSteps>(plan, steps));
    }
    return state;
  }

  void run_with_rendezvous(RunState& state, const Step& step, std::span<const Tensor* const> inputs,
                           std::span<Tensor> outputs) const {
    Step own = step;
    own.rendezvous = std::make_shared<Rendezvous>();
    run(state, own, inputs, outputs);
  }

  void run_and_measure(StraightLineState& state, const Step& step) const {
    std::unique_ptr<MeasuredRun> measured = nullptr;
    // Do not measure watched runs, as they take longer.
    if (measurements_ != nullptr && watching_stats == nullptr) measured = measurements_->begin();
    state.measured = measured.get();
    if (trial_ != nullptr) {
      trial_->run([&](bool beside) { run_parts(beside, state, step); });
    } else {
      run_parts(state.lanes != nullptr, state, step);
    }
    state.measured = nullptr;
    if (measured != nullptr) measurements_->end(std::move(measured));
  }

  void run_parts(bool beside, StraightLineState& state, const Step& step) const {
    state.beside = beside ? state.lanes.get() : nullptr;
    if (beside) {
      state.lanes->run(step, trial_ != nullptr, [&](size_t s) { run_segment(plan_.segments[s], state, step); });
    } else {
      for (const PlanSegment& segment : plan_.segments) run_segment(segment, state, step);
    }
  }

  void receive(const PlanStep& step, StraightLineState& state, std::span<Tensor> outputs) const {
    if (state.beside != nullptr) state.beside->wait(step.edge);
    if (!outputs.empty()) outputs[0] = std::exchange(state.edges[step.edge], Tensor());
  }

  static void send(const PlanStep& step, StraightLineState& state, std::span<const Tensor* const> inputs) {
    if (!inputs.empty()) state.edges[step.edge] = on_device(*inputs[0], *step.device);
    if (state.beside != nullptr) state.beside->give(step.edge);
  }

  static Tensor on_device(const Tensor& t, Device& device) {
    return &t.device() == &device || !is_plain(t.dtype()) ? t : copy_to_device(t, device);
  }

  void run_segment(const PlanSegment& segment, StraightLineState& state, const Step& step) const {
    if (state.measured != nullptr) [[unlikely]] {
      for (uint32_t s = segment.first; s < segment.end; ++s) {
        state.measured->time(plan_.parts[segment.part], segment.part, s,
                             [&] { run_steps({segment.part, s, s + 1}, state, step); });
      }
      return;
    }
    if (watching_stats != nullptr || step.deadline != Step::kNoDeadline) [[unlikely]]
      return run_watched(segment, state, step);
    PartState& part = state.parts[segment.part];
    uint32_t next = segment.first;
    for (const std::shared_ptr<CapturedSteps>& captured : part.captured) {
      const CapturableSteps& steps = captured->steps();
      if (steps.first < next || steps.end > segment.end) continue;
      run_steps({segment.part, next, steps.first}, state, step);
      captured->run(part, [&] { run_steps({segment.part, steps.first, steps.end}, state, step); });
      next = steps.end;
    }
    run_steps({segment.part, next, segment.end}, state, step);
  }

  // Runs step by step, to record each step if the run is watched, and to check the deadline between steps.
  void run_watched(const PlanSegment& segment, StraightLineState& state, const Step& step) const {
    for (uint32_t s = segment.first; s < segment.end; ++s) {
      look_for_stop(step);
      if (watching_stats == nullptr) {
        run_steps({segment.part, s, s + 1}, state, step);
        continue;
      }
      const int64_t start = watching_stats->now();
      run_steps({segment.part, s, s + 1}, state, step,
                [&](const PlanStep& done, std::span<const Tensor* const> inputs, std::span<const Tensor> outputs) {
                  note(done, start, inputs, outputs);
                });
    }
  }

  void note(const PlanStep& step, int64_t start, std::span<const Tensor* const> inputs,
            std::span<const Tensor> outputs) const {
    if (step.device == nullptr) return;  // an order edge
    const Node& node = plan_.graph.at(step.node);
    switch (step.kind) {
      case PlanStep::Kind::kCall: return watching_stats->add(plan_.graph, node, *step.device, start, outputs);
      case PlanStep::Kind::kSend: outputs = {inputs[0], 1}; break;  // the receiver may have taken it already
      case PlanStep::Kind::kCopy:
      case PlanStep::Kind::kReceive: break;
    }
    const bool send = step.kind == PlanStep::Kind::kSend;
    const char* op = send ? "_Send" : step.kind == PlanStep::Kind::kCopy ? "_Copy" : "_Recv";
    watching_stats->add(fmt::format("{}/{}", node.name(), op), op, *step.device, start, outputs);
  }

  struct NotNoted {
    void operator()(const PlanStep&, std::span<const Tensor* const>, std::span<const Tensor>) const {}
  };
  template <class Note = NotNoted>
  void run_steps(const PlanSegment& steps, StraightLineState& state, const Step& of, const Note& noted = {}) const {
    const PartPlan& plan = plan_.parts[steps.part];
    PartState& part = state.parts[steps.part];
    for (uint32_t s = steps.first; s < steps.end; ++s) {
      const PlanStep& step = plan.steps[s];
      const std::span<const Tensor* const> inputs(part.inputs.data() + step.first_input, step.num_inputs);
      const std::span<Tensor> outputs(part.temporaries.data() + step.first_output, step.num_outputs);
      if (step.kind == PlanStep::Kind::kCall) [[likely]] {
        run_call(plan, step, of, inputs, outputs);
      } else if (step.kind == PlanStep::Kind::kReceive) {
        receive(step, state, outputs);
      } else if (step.kind == PlanStep::Kind::kSend) {
        send(step, state, inputs);
      } else {
        outputs[0] = on_device(*inputs[0], *step.device);
      }
      noted(step, inputs, outputs);
      for (uint32_t i = 0; i < step.num_dropped; ++i) {
        part.temporaries[plan.dropped[step.first_dropped + i]] = Tensor();
      }
    }
  }

  // Inlined at both places: a call would add a tenth to the cost of a small step.
  [[gnu::always_inline]] void run_call(const PartPlan& plan, const PlanStep& step, const Step& of,
                                       std::span<const Tensor* const> inputs, std::span<Tensor> outputs) const {
    try {
      dispatch::run(*step.prepared, of, inputs, outputs, step.donated);
      if (step.makes_own) check_made(plan, step, outputs);
    } catch (Error& error) {
      const std::string line = plan_.graph.at(step.node).where().to_string();
      if (!line.empty()) error.add_context("at " + line);
      throw;
    }
  }

  // Later steps were planned for these shapes and write to buffers of that size.
  void check_made(const PartPlan& plan, const PlanStep& step, std::span<const Tensor> outputs) const {
    for (size_t k = 0; k < outputs.size(); ++k) {
      const PlanTemporary& planned = plan.temporaries[step.first_output + k];
      if (!outputs[k].defined()) [[unlikely]] {
        failf(Code::kInternal, "output {}: expected a tensor, got none [node '{}']", k, step_name(step));
      }
      if (outputs[k].dtype() != planned.dtype || !outputs[k].partial_shape().compatible_with(planned.shape))
          [[unlikely]] {
        failf(Code::kFailedPrecondition, "output {}: expected {} as declared, got {} [node '{}']", k,
              type_text(planned.dtype, planned.shape), type_text(outputs[k].dtype(), outputs[k].partial_shape()),
              step_name(step));
      }
    }
  }
  const std::string& step_name(const PlanStep& step) const { return plan_.graph.at(step.node).name(); }

  // Makes every fetch a tensor of its own, except resource handles: a tape that watches one fetch must not watch other
  // fetches, feeds or results of other runs.
  static Tensor as_result(const Tensor& t) { return t.dtype() == kResource ? t : view_tensor(t, t.shape()); }

  Tensor fetch(size_t i, std::span<const Tensor* const> inputs, StraightLineState& state) const {
    const auto& [part, value] = plan_.fetches[i];
    const auto index = static_cast<size_t>(value.index);
    switch (value.kind) {
      case PlanValue::Kind::kFeed: return as_result(*inputs[index]);
      case PlanValue::Kind::kConstant: return as_result(plan_.constants[index]);
      case PlanValue::Kind::kTemporary: break;
    }
    Tensor& t = state.parts[part].temporaries[index];
    return last_fetches_[i] != 0 ? std::move(t) : as_result(t);
  }

  static constexpr size_t kMostInputsOfOneCall = 8;

  Plan plan_;
  std::vector<std::vector<size_t>> lanes_;  // segments by lane; empty: one thread runs all
  std::unique_ptr<Trial> trial_;            // for parts of one device: measures whether lanes are faster
  std::unique_ptr<Measurements> measurements_;
  FeedChecks feeds_;
  std::vector<std::vector<CapturableSteps>> capturable_;  // by part
  bool one_call_ = false;
  bool has_transfers_ = false;
  std::vector<uint8_t> last_fetches_;  // by fetch: whether no later fetch reads the same temporary
};

}  // namespace

std::shared_ptr<Executable> make_straight_line(Plan plan, const ExecutableOptions& options, bool is_split) {
  return std::make_shared<StraightLine>(std::move(plan), options, is_split);
}

}  // namespace panto
