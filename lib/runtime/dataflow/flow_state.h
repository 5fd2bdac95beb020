// The mutable state of a FlowPlan's run, reused by later runs. Internal.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "panto/lib/core/step/async.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/runtime/dataflow/flow_plan.h"
#include "panto/lib/runtime/executable.h"

namespace panto {

struct FrameRun;

// One round of a loop. The frame outside of all loops has exactly one round.
struct Round {
  FrameRun* frame = nullptr;
  int64_t number = 0;
  uint32_t busy = 0;    // nodes that are ready or running
  uint32_t inside = 0;  // loops entered from here that have not ended
  std::unique_ptr<Tensor[]> values;
  std::unique_ptr<uint32_t[]> counts;
  std::vector<FrameRun*> children;
};

// One execution of a loop, entered from one round of the frame around it.
struct FrameRun {
  uint32_t frame = 0;  // in FlowPlan::frames
  uint64_t id = 0;     // Step::frame
  Round* from = nullptr;
  int64_t latest = 0;  // number of the latest round begun
  uint32_t enters_to_come = 0;
  std::deque<Round*> rounds;  // unfinished ones, oldest first
  // Values for the next round, which starts when fewer than `parallel_iterations` rounds are unfinished.
  std::vector<std::pair<uint32_t, Tensor>> deferred;
  std::vector<uint32_t> dead_exits;  // of the latest round
  std::vector<uint8_t> left;         // by Exit: whether it has produced its value
  // Loop-invariant values (constant Enters), copied into every round; an undefined tensor is dead.
  std::vector<std::pair<uint32_t, Tensor>> invariants;

  Round* round(int64_t number) const { return rounds[static_cast<size_t>(number - rounds.front()->number)]; }
};

// Asynchronous calls that have ended, reported from any thread. May outlive the run, if a kernel does.
class EndedCalls {
 public:
  // Reserves room for `most` calls, so that `add` does not allocate.
  void expect(size_t most);
  void add(uint32_t call) noexcept;
  bool any() const noexcept { return any_.load(std::memory_order_acquire); }
  // Moves the calls added since the last `take` to `calls`.
  void take(std::vector<uint32_t>& calls);
  // Blocks until there is one. Throws if the step is stopped.
  void wait(const Step& step);
  void wake();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<uint32_t> ended_;
  std::atomic<bool> any_{false};
};

struct ReadyNode {
  Round* round = nullptr;
  uint32_t node = 0;
  bool dead = false;
};

// A FIFO queue, so that nodes of earlier rounds of a loop tend to run before those of later rounds.
class ReadyQueue {
 public:
  bool empty() const noexcept { return begin_ == end_; }
  void push(ReadyNode node) {
    if (end_ - begin_ == nodes_.size()) [[unlikely]]
      grow();
    nodes_[end_++ & (nodes_.size() - 1)] = node;
  }
  ReadyNode pop() noexcept { return nodes_[begin_++ & (nodes_.size() - 1)]; }
  void clear() noexcept { begin_ = end_ = 0; }

 private:
  void grow();

  std::vector<ReadyNode> nodes_ = std::vector<ReadyNode>(64);  // a power of two
  size_t begin_ = 0, end_ = 0;
};

struct FlowState final : RunState {
  explicit FlowState(const FlowPlan& plan);
  ~FlowState() override;

  Round* new_round(FrameRun& of, int64_t number);
  void free_round(Round* round);
  FrameRun* new_frame(uint32_t frame, Round* from);
  void free_frame(FrameRun* run);

  const FlowPlan& plan;
  std::vector<const Tensor*> fixed;   // constants, then feeds
  std::vector<const Tensor*> inputs;  // of the node that runs
  std::vector<Tensor> outputs;        // of the node that runs
  ReadyQueue ready;
  struct Fetched {
    Tensor value;
    bool dead = false;
    bool there = false;
  };
  std::vector<Fetched> fetched;
  // Calls of asynchronous kernels; `free_started` lists the unused entries.
  struct Started {
    std::shared_ptr<StartedCall> call;
    Round* round = nullptr;
    uint32_t node = 0;
    int64_t begun = 0;  // start time, if the run is watched
  };
  std::vector<Started> started;
  std::vector<uint32_t> free_started;
  std::vector<uint32_t> taken;  // of `ended`
  std::shared_ptr<EndedCalls> ended = std::make_shared<EndedCalls>();

 private:
  // Recycled rounds and frame runs, by frame.
  std::vector<std::vector<Round*>> free_rounds_;
  std::vector<std::vector<FrameRun*>> free_frames_;
  std::vector<std::unique_ptr<Round>> all_rounds_;
  std::vector<std::unique_ptr<FrameRun>> all_frames_;
};

}  // namespace panto
