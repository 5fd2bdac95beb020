// What happens when a node is done follows TensorFlow's executor, including the order in which dead values reach a
// Merge.
#include "panto/lib/runtime/dataflow/flow_run.h"

#include <algorithm>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/core/call/thread_state.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/runtime/placement/placer.h"
#include "panto/lib/runtime/step_stats.h"

namespace panto {

namespace {

using Kind = FlowNode::Kind;

// Number of nodes between two checks for a stop request.
constexpr int kLookEvery = 256;

// While it lives, a stop of the step wakes threads that wait for calls to end.
class Wakeup {
 public:
  Wakeup(const Step& step, const std::shared_ptr<EndedCalls>& ended) : cancellation_(step.cancellation) {
    if (cancellation_ != nullptr) watch_ = cancellation_->watch([ended] { ended->wake(); });
  }
  ~Wakeup() {
    if (cancellation_ != nullptr) cancellation_->unwatch(watch_);
  }
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

 private:
  std::shared_ptr<Cancellation> cancellation_;
  uint64_t watch_ = 0;
};

// `kWatched`: records each node (lib/runtime/step_stats.h).
template <bool kWatched>
class FlowRunner {
 public:
  FlowRunner(const FlowPlan& plan, FlowState& state, const Step& step) : plan_(plan), state_(state), step_(step) {}

  void run() {
    const LentStep lent(step_);
    try {
      go();
    } catch (...) {
      for (FlowState::Started& started : state_.started) started.call = nullptr;  // destroying it asks it to stop
      throw;
    }
  }

 private:
  void go() {
    look_for_stop(step_);
    FrameRun* const outside = state_.new_frame(0, nullptr);
    Round* const first = outside->rounds.front();
    for (const uint32_t node : plan_.starts) push(*first, node, false);
    int until_look = kLookEvery;
    for (;;) {
      while (!state_.ready.empty()) {
        const ReadyNode next = state_.ready.pop();
        process(next);
        if (--until_look == 0) {
          look_for_stop(step_);
          until_look = kLookEvery;
        }
        if (going_on_ > 0 && state_.ended->any()) take_ended();
      }
      if (going_on_ == 0) break;
      wait_for_calls();
    }
    state_.free_frame(outside);
  }

  // ---- One node -----------------------------------------------------------------------------------------------------

  void process(const ReadyNode& ready) {
    const FlowNode& node = plan_.nodes[ready.node];
    Round& round = *ready.round;
    if (!ready.dead) {
      try {
        const int64_t begun = kWatched ? watching_stats->now() : 0;
        if (!compute(ready, node, round)) return;  // it ends later
        if (kWatched && node.kind != Kind::kFetch) note(node, begun);
      } catch (Error& error) {
        add_context(error, node, round);
        throw;
      }
    }
    if (node.kind == Kind::kFetch) keep(node, round, ready.dead);
    drop_inputs(node, round);
    tell(ready.node, node, round, ready.dead);
    finish(round);
  }

  void note(const FlowNode& node, int64_t begun) const {
    const Node& of = plan_.graph.at(node.id);
    watching_stats->add(plan_.graph, of, device_of(of), begun, {state_.outputs.data(), node.num_outputs});
  }

  // Computes `state_.outputs`. Returns false if an asynchronous call will do so later, on another thread.
  bool compute(const ReadyNode& ready, const FlowNode& node, Round& round) {
    switch (node.kind) {
      case Kind::kCall: call(node, round, node.donated); break;
      case Kind::kStart:
        if (going_on_ > 0 || !state_.ready.empty()) {
          start(ready, node, round);
          return false;
        }
        call(node, round, 0);  // no other work to do meanwhile
        break;
      case Kind::kForward:
        for (uint32_t k = 0; k < node.num_outputs; ++k) {
          Tensor value = taken(node, round, k);
          const bool moves = node.memory != nullptr && &value.device() != node.memory && is_plain(value.dtype());
          if (moves) value = copy_to_device(value, *node.memory);
          state_.outputs[k] = std::move(value);
        }
        break;
      case Kind::kEnter:
      case Kind::kExit:
      case Kind::kNextIteration: state_.outputs[0] = taken(node, round, 0); break;
      case Kind::kFixed:
        for (uint32_t k = 0; k < node.num_outputs; ++k) state_.outputs[k] = *state_.fixed[node.detail + k];
        break;
      case Kind::kSwitch: state_.outputs[decision(node, round) ? 1 : 0] = taken(node, round, 0); break;
      case Kind::kMerge:
        state_.outputs[0] = std::move(round.values[node.first_place]);
        if (node.tells_index) state_.outputs[1] = index_tensor(round.counts[node.detail + 1]);
        break;
      case Kind::kNothing:
      case Kind::kFetch: break;
    }
    return true;
  }

  std::span<const Tensor* const> inputs_of(const FlowNode& node, const Round& round) {
    const int32_t* from = plan_.inputs.data() + node.first_input;
    const Tensor** inputs = state_.inputs.data();
    for (uint32_t i = 0; i < node.num_inputs; ++i) {
      inputs[i] =
          from[i] >= 0 ? &round.values[static_cast<size_t>(from[i])] : state_.fixed[static_cast<size_t>(~from[i])];
    }
    return {inputs, node.num_inputs};
  }

  // Input i, moved out of its place if it was computed in the run.
  Tensor taken(const FlowNode& node, Round& round, uint32_t i) {
    const int32_t from = plan_.inputs[node.first_input + i];
    if (from >= 0) return std::move(round.values[static_cast<size_t>(from)]);
    return *state_.fixed[static_cast<size_t>(~from)];
  }

  void at(const Round& round) {
    step_.frame = round.frame->id;
    step_.iteration = round.number;
  }

  void call(const FlowNode& node, Round& round, uint64_t donated) {
    at(round);
    const std::span<Tensor> outputs(state_.outputs.data(), node.num_outputs);
    dispatch::run(*node.prepared, step_, inputs_of(node, round), outputs, donated);
    if (node.checks_outputs) check_made(node, outputs);
  }

  // Later nodes were prepared for the declared types and shapes.
  static void check_made(const FlowNode& node, std::span<const Tensor> outputs) {
    const std::span<const OutputSpec> specs = node.prepared->specs();
    for (size_t k = 0; k < outputs.size(); ++k) {
      const OutputSpec& spec = specs[k];
      if (!outputs[k].defined()) [[unlikely]] {
        failf(Code::kInternal, "output {}: expected a tensor, got none [node '{}']", k, node.prepared->node_name());
      }
      if (outputs[k].dtype() == spec.dtype && outputs[k].partial_shape().compatible_with(spec.shape)) continue;
      failf(Code::kFailedPrecondition, "output {}: expected {}{} as declared, got {}{} [node '{}']", k,
            dtype_name(spec.dtype), spec.shape.to_string(), dtype_name(outputs[k].dtype()),
            outputs[k].partial_shape().to_string(), node.prepared->node_name());
    }
  }

  bool decision(const FlowNode& node, const Round& round) {
    const Tensor& given = *inputs_of(node, round)[1];
    if (given.shape().rank() != 0) [[unlikely]] {
      with_context([&] { return fmt::format("node '{}'", name_of(node)); },
                   [&] { invalid("pred: expected a scalar, got shape {}", given.shape().to_string()); });
    }
    return given.item<bool>();
  }

  static Tensor index_tensor(uint32_t index) {
    Tensor made = allocate_tensor(cpu_device(), kInt32, Shape());
    *mutable_data<int32_t>(made) = static_cast<int32_t>(index);
    return made;
  }

  void keep(const FlowNode& node, Round& round, bool dead) {
    FlowState::Fetched& fetched = state_.fetched[node.detail];
    fetched.there = true;
    fetched.dead = dead;
    if (!dead) fetched.value = taken(node, round, 0);
  }

  static void drop_inputs(const FlowNode& node, Round& round) {
    Tensor* values = round.values.get() + node.first_place;
    for (uint32_t i = 0; i < node.num_places; ++i) {
      if (values[i].defined()) values[i] = Tensor();
    }
  }

  // ---- Calls that end later -----------------------------------------------------------------------------------------

  void start(const ReadyNode& ready, const FlowNode& node, Round& round) {
    at(round);
    if (state_.free_started.empty()) {
      state_.free_started.push_back(static_cast<uint32_t>(state_.started.size()));
      state_.started.emplace_back();
    }
    const uint32_t number = state_.free_started.back();
    const int64_t begun = kWatched ? watching_stats->now() : 0;
    state_.ended->expect(going_on_ + 1);
    std::shared_ptr<StartedCall> call = dispatch::start(*node.prepared, step_, inputs_of(node, round),
                                                        [ended = state_.ended, number] { ended->add(number); });
    state_.free_started.pop_back();
    state_.started[number] = {std::move(call), &round, ready.node, begun};
    ++going_on_;
    drop_inputs(node, round);
  }

  void wait_for_calls() {
    const Wakeup wakeup(step_, state_.ended);
    state_.ended->wait(step_);
    take_ended();
  }

  void take_ended() {
    state_.ended->take(state_.taken);
    for (const uint32_t number : state_.taken) {
      const FlowState::Started started = std::exchange(state_.started[number], {});
      state_.free_started.push_back(number);
      --going_on_;
      const FlowNode& node = plan_.nodes[started.node];
      const std::span<Tensor> outputs(state_.outputs.data(), node.num_outputs);
      try {
        dispatch::finish(*node.prepared, *started.call, outputs);
        if (node.checks_outputs) check_made(node, outputs);
      } catch (Error& error) {
        add_context(error, node, *started.round);
        throw;
      }
      if (kWatched) note(node, started.begun);
      tell(started.node, node, *started.round, false);
      finish(*started.round);
    }
  }

  // ---- Consumers ---------------------------------------------------------------------------------------------------

  void push(Round& round, uint32_t node, bool dead) {
    ++round.busy;
    state_.ready.push({&round, node, dead});
  }

  void tell(uint32_t number, const FlowNode& node, Round& round, bool dead) {
    switch (node.kind) {
      case Kind::kEnter: enter(number, node, round, dead); break;
      case Kind::kExit: leave(number, node, round, dead); break;
      case Kind::kNextIteration: next_round(number, node, round, dead); break;
      default: tell_in(node, round, dead, state_.outputs.data()); break;
    }
    for (uint32_t k = 0; k < node.num_outputs; ++k) {
      if (state_.outputs[k].defined()) state_.outputs[k] = Tensor();
    }
  }

  // Notifies the consumers in `round`. `outputs`: of the node; an undefined tensor is dead.
  void tell_in(const FlowNode& node, Round& round, bool dead, Tensor* outputs) {
    const FlowEdge* const edges = plan_.edges.data();
    for (uint32_t e = node.first_edge; e < node.end_edge; ++e) {
      const FlowEdge& edge = edges[e];
      Tensor& value = outputs[edge.output];
      const bool there = value.defined();
      if (edge.to_merge) [[unlikely]] {
        tell_merge(edge, round, value, node.kind == Kind::kEnter);
        continue;
      }
      if (there) {
        if (edge.last) {
          round.values[edge.place] = std::move(value);
        } else {
          round.values[edge.place] = value;
        }
      }
      arrive(round, edge.node, edge.count, !there);
    }
    const FlowControl* const controls = plan_.controls.data();
    for (uint32_t c = node.first_control; c < node.end_control; ++c) {
      const FlowControl& control = controls[c];
      if (control.to_merge) [[unlikely]] {
        tell_merge(control, round);
      } else {
        arrive(round, control.node, control.count, dead);
      }
    }
  }

  void arrive(Round& round, uint32_t node, uint32_t count, bool dead) {
    uint32_t& waits = round.counts[count];
    waits = (waits - 1) | (dead ? kDeadFlag : 0);
    if ((waits & ~kDeadFlag) != 0) return;
    push(round, node, waits != 0 && !plan_.nodes[node].never_dead);
  }

  // A Merge takes the first live value; if all are dead, the Merge is dead. A dead value from an Enter makes the Merge
  // dead at once, as no NextIteration will follow.
  void tell_merge(const FlowEdge& edge, Round& round, Tensor& value, bool from_enter) {
    const FlowNode& merge = plan_.nodes[edge.node];
    uint32_t& waits = round.counts[edge.count];
    uint32_t& dead = round.counts[merge.detail];
    if (value.defined()) {
      if ((waits & 1) == 0) return;
      round.values[edge.place] = value;
      round.counts[merge.detail + 1] = edge.input;
      waits &= ~uint32_t{1};
      if (waits == 0) push(round, edge.node, false);
    } else {
      dead = from_enter ? merge.num_inputs : dead + 1;
      if (dead >= merge.num_inputs && waits == 1) die(round, edge.node, waits);
    }
  }

  void tell_merge(const FlowControl& control, Round& round) {
    const FlowNode& merge = plan_.nodes[control.node];
    uint32_t& waits = round.counts[control.count];
    waits -= 2;
    if (waits == 0) push(round, control.node, false);
    if (waits == 1 && round.counts[merge.detail] >= merge.num_inputs) die(round, control.node, waits);
  }

  // Only once, whatever arrives afterwards.
  void die(Round& round, uint32_t merge, uint32_t& waits) {
    waits = 0;
    push(round, merge, true);
  }

  // ---- Loops --------------------------------------------------------------------------------------------------------

  void enter(uint32_t number, const FlowNode& node, Round& round, bool dead) {
    FrameRun*& entered = round.children[node.detail];
    if (entered == nullptr) {
      entered = state_.new_frame(child_of(node), &round);
      ++round.inside;
    }
    FrameRun& loop = *entered;
    if (node.in_every_round) {
      loop.invariants.emplace_back(number, state_.outputs[0]);
      for (Round* inner : loop.rounds) {
        Tensor value = state_.outputs[0];
        tell_in(node, *inner, dead, &value);
      }
    } else {
      tell_in(node, *loop.rounds.front(), dead, state_.outputs.data());
    }
    --loop.enters_to_come;
    settle(&loop);
  }

  uint32_t child_of(const FlowNode& node) const { return plan_.frames[node.frame].children[node.detail]; }

  void leave(uint32_t number, const FlowNode& node, Round& round, bool dead) {
    FrameRun& loop = *round.frame;
    if (!dead) {
      if (std::exchange(loop.left[node.detail], uint8_t{1}) != 0) [[unlikely]]
        left_again(node, round);
      return tell_in(node, *loop.from, false, state_.outputs.data());
    }
    // If this turns out to be the last round, this Exit is dead.
    if (round.number == loop.latest) loop.dead_exits.push_back(number);
  }

  // Nodes after a loop run once, so an Exit may produce only one value.
  [[noreturn]] void left_again(const FlowNode& node, const Round& round) const {
    try {
      with_context([&] { return fmt::format("node '{}'", name_of(node)); },
                   [] { invalid("Exit: expected one value that is not dead, got another"); });
      fail(Code::kInternal, "Exit: expected an error, got none");
    } catch (Error& error) {
      add_context(error, node, round);
      throw;
    }
  }

  void next_round(uint32_t number, const FlowNode& node, Round& round, bool dead) {
    if (dead) return;
    FrameRun& loop = *round.frame;
    if (round.number == loop.latest) {
      if (loop.rounds.size() >= plan_.frames[loop.frame].parallel_iterations) {
        loop.deferred.emplace_back(number, std::move(state_.outputs[0]));
        return;
      }
      begin_round(loop);
    }
    tell_in(node, *loop.round(round.number + 1), false, state_.outputs.data());
  }

  void begin_round(FrameRun& loop) {
    Round& round = *state_.new_round(loop, ++loop.latest);
    loop.dead_exits.clear();
    for (auto& [node, value] : loop.deferred) tell_in(plan_.nodes[node], round, false, &value);
    loop.deferred.clear();
    for (const auto& [node, kept] : loop.invariants) {
      Tensor value = kept;
      tell_in(plan_.nodes[node], round, !value.defined(), &value);
    }
  }

  void finish(Round& round) {
    if (--round.busy == 0 && round.frame->from != nullptr && round.inside == 0) settle(round.frame);
  }

  // Ends the loop's finished rounds, then the loop if all rounds have ended, then enclosing loops that this finishes.
  void settle(FrameRun* loop) {
    while (loop != nullptr && loop->from != nullptr) {
      while (!loop->rounds.empty()) {
        Round* const oldest = loop->rounds.front();
        if (oldest->busy > 0 || oldest->inside > 0 || loop->enters_to_come > 0) return;
        loop->rounds.pop_front();
        state_.free_round(oldest);
        if (!loop->deferred.empty()) begin_round(*loop);
      }
      loop = end_of(*loop);
    }
  }

  // Ends the loop and returns the frame around it, which may be finished now too.
  FrameRun* end_of(FrameRun& loop) {
    Round& from = *loop.from;
    for (const uint32_t number : loop.dead_exits) {
      const FlowNode& exit = plan_.nodes[number];
      Tensor none;
      if (loop.left[exit.detail] == 0) tell_in(exit, from, true, &none);
    }
    from.children[plan_.frames[loop.frame].child] = nullptr;
    --from.inside;
    state_.free_frame(&loop);
    return from.busy == 0 && from.inside == 0 ? from.frame : nullptr;
  }

  // ---- Errors -------------------------------------------------------------------------------------------------------

  const std::string& name_of(const FlowNode& node) const { return plan_.graph.at(node.id).name(); }

  // Adds loops and rounds; the dispatcher has added the node.
  void add_context(Error& error, const FlowNode& node, const Round& round) const {
    for (const FrameRun* loop = round.frame; loop->from != nullptr; loop = loop->from->frame) {
      const int64_t number = loop == round.frame ? round.number : number_inside(round, loop);
      error.add_context(fmt::format("loop '{}', iteration {}", printable(plan_.frames[loop->frame].name), number));
    }
    const std::string line = plan_.graph.at(node.id).where().to_string();
    if (!line.empty()) error.add_context("at " + line);
  }

  // The number of the round of `loop` that encloses `round`, through any inner loops.
  static int64_t number_inside(const Round& round, const FrameRun* loop) {
    const Round* in = &round;
    while (in->frame != loop) in = in->frame->from;
    return in->number;
  }

  const FlowPlan& plan_;
  FlowState& state_;
  Step step_;  // with the frame and round of the running node
  uint32_t going_on_ = 0;
};

}  // namespace

void run_flow(const FlowPlan& plan, FlowState& state, const Step& step) {
  if (watching_stats != nullptr) return FlowRunner<true>(plan, state, step).run();
  FlowRunner<false>(plan, state, step).run();
}

}  // namespace panto
