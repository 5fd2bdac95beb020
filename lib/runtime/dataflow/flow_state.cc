#include "panto/lib/runtime/dataflow/flow_state.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace panto {

// ---- Calls that ended ----------------------------------------------------------------------------------------------

void EndedCalls::add(uint32_t call) noexcept {
  const std::lock_guard lock(mutex_);
  ended_.push_back(call);
  any_.store(true, std::memory_order_release);
  changed_.notify_all();
}

void EndedCalls::expect(size_t most) {
  const std::lock_guard lock(mutex_);
  ended_.reserve(most);
}

void EndedCalls::take(std::vector<uint32_t>& calls) {
  const std::lock_guard lock(mutex_);
  any_.store(false, std::memory_order_relaxed);
  calls.assign(ended_.begin(), ended_.end());
  ended_.clear();
}

void EndedCalls::wake() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void EndedCalls::wait(const Step& step) {
  // A stop request to the process, which a signal handler may make, does not wake this thread, so it polls at this
  // interval.
  constexpr std::chrono::milliseconds kLookEvery(20);
  std::unique_lock lock(mutex_);
  while (ended_.empty()) {
    step.throw_if_stopped();
    changed_.wait_for(lock, kLookEvery);
  }
}

// ---- Nodes that may run --------------------------------------------------------------------------------------------

void ReadyQueue::grow() {
  std::vector<ReadyNode> larger(nodes_.size() * 2);
  for (size_t i = begin_; i < end_; ++i) larger[i - begin_] = nodes_[i & (nodes_.size() - 1)];
  end_ -= begin_;
  begin_ = 0;
  nodes_ = std::move(larger);
}

// ---- Rounds and frames ---------------------------------------------------------------------------------------------

FlowState::FlowState(const FlowPlan& of)
    : plan(of),
      fixed(of.num_fixed()),
      inputs(of.most_inputs),
      outputs(of.most_outputs),
      fetched(of.fetches.size()),
      free_rounds_(of.frames.size()),
      free_frames_(of.frames.size()) {
  for (size_t i = 0; i < of.constants.size(); ++i) fixed[i] = &of.constants[i];
}

FlowState::~FlowState() = default;

Round* FlowState::new_round(FrameRun& of, int64_t number) {
  const FlowFrame& frame = plan.frames[of.frame];
  std::vector<Round*>& free = free_rounds_[of.frame];
  if (free.empty()) {
    all_rounds_.push_back(std::make_unique<Round>());
    Round& made = *all_rounds_.back();
    made.values = std::make_unique<Tensor[]>(frame.num_places);
    made.counts = std::make_unique<uint32_t[]>(frame.counts.size());
    made.children.resize(frame.children.size());
    free.push_back(&made);
  }
  Round* round = free.back();
  free.pop_back();
  round->frame = &of;
  round->number = number;
  round->busy = round->inside = 0;
  std::ranges::copy(frame.counts, round->counts.get());
  of.rounds.push_back(round);
  return round;
}

void FlowState::free_round(Round* round) {
  const FlowFrame& frame = plan.frames[round->frame->frame];
  for (uint32_t i = 0; i < frame.num_places; ++i) {
    if (round->values[i].defined()) round->values[i] = Tensor();
  }
  std::ranges::fill(round->children, nullptr);
  free_rounds_[round->frame->frame].push_back(round);
}

FrameRun* FlowState::new_frame(uint32_t frame, Round* from) {
  std::vector<FrameRun*>& free = free_frames_[frame];
  if (free.empty()) {
    all_frames_.push_back(std::make_unique<FrameRun>());
    free.push_back(all_frames_.back().get());
  }
  FrameRun* run = free.back();
  free.pop_back();
  run->frame = frame;
  run->from = from;
  run->id = 0;
  run->latest = 0;
  run->enters_to_come = plan.frames[frame].num_enters;
  run->left.assign(plan.frames[frame].num_exits, 0);
  if (from != nullptr) {
    // Hash of the loop and the round that it was entered from; never 0, which means outside of loops.
    uint64_t hash = plan.frames[frame].hash;
    for (const uint64_t part : {from->frame->id, static_cast<uint64_t>(from->number)}) {
      hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 32;
    }
    run->id = std::max<uint64_t>(hash, 1);
  }
  new_round(*run, 0);
  return run;
}

void FlowState::free_frame(FrameRun* run) {
  while (!run->rounds.empty()) {
    free_round(run->rounds.front());
    run->rounds.pop_front();
  }
  run->deferred.clear();
  run->dead_exits.clear();
  run->invariants.clear();
  free_frames_[run->frame].push_back(run);
}

}  // namespace panto
