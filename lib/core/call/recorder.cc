#include "panto/lib/core/call/recorder.h"

#include <algorithm>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/thread_state.h"

namespace panto {

thread_local constinit ThreadState* current_thread_state = nullptr;
thread_local constinit ThreadState* cancelled_thread_state = nullptr;

namespace {

using Stack = SmallVector<Recorder*, 4>;

void erase_recorder(Stack& stack, const Recorder* recorder) noexcept {
  const auto at = std::ranges::find(stack, recorder);
  if (at == stack.end()) return;
  std::move(at + 1, stack.end(), at);
  stack.resize(stack.size() - 1);
}

int count_symbolic(const Stack& stack) noexcept {
  return static_cast<int>(std::ranges::count_if(stack, [](const Recorder* r) { return r->symbolic(); }));
}

}  // namespace

// Adds recorders to a thread's stack and removes them. A recorder may be ended on one thread while the thread that has
// it on its stack uses it or ends. The thread that changes `life_` from kHears to another state decides what happens to
// the recorder.
struct RecorderLife {
  using Life = Recorder::Life;

  static void begin(Recorder& recorder, const ThreadState& state) noexcept {
    recorder.thread_ = &state;
    recorder.level_ = static_cast<int>(state.transforms.size());
    recorder.life_.store(Life::kHears, std::memory_order_release);
  }
  static bool hears(const Recorder& recorder) noexcept {
    return recorder.life_.load(std::memory_order_acquire) == Life::kHears;
  }
  static bool hears(const Recorder& recorder, const ThreadState& state) noexcept {
    return recorder.thread_ == &state && hears(recorder);
  }
  // Called on the thread whose stack the recorder was on. Returns the reference that kept it alive.
  static std::shared_ptr<Recorder> forget(Recorder& recorder, Life now) noexcept {
    const Life before = recorder.life_.exchange(now, std::memory_order_acq_rel);
    return before == Life::kEnded ? std::move(recorder.kept_) : nullptr;
  }
  // Called on other threads.
  static void end(std::shared_ptr<Recorder> shared) noexcept {
    Recorder& recorder = *shared;
    Life before = recorder.life_.load(std::memory_order_acquire);
    if (before != Life::kHears) return;
    recorder.kept_ = std::move(shared);
    if (!recorder.life_.compare_exchange_strong(before, Life::kEnded, std::memory_order_acq_rel)) {
      shared = std::move(recorder.kept_);
    }
  }
  static void remove(ThreadState& state, Recorder* recorder) noexcept {
    erase_recorder(state.recorders, recorder);
    for (Stack& stack : state.paused) erase_recorder(stack, recorder);
    state.symbolic = count_symbolic(state.recorders);
  }
  static void end_of_thread(ThreadState& state) noexcept {
    drop_ended_recorders(state);
    state.paused.insert(state.paused.begin(), std::move(state.recorders));
    state.recorders.clear();
    for (const Stack& stack : state.paused) {
      for (Recorder* recorder : stack) {
        if (std::shared_ptr<Recorder> last = forget(*recorder, Life::kThreadGone)) last.reset();
      }
    }
    state.paused.clear();
  }
};
using Life = RecorderLife::Life;

ThreadState& make_thread_state() noexcept {
  if (ThreadState* state = std::exchange(cancelled_thread_state, nullptr); state != nullptr) {
    current_thread_state = state;
    put_canceller(*state);
    return *state;
  }
  struct Owner {
    ThreadState state;
    ~Owner() {
      RecorderLife::end_of_thread(state);
      current_thread_state = nullptr;
    }
  };
  static thread_local Owner owner;
  current_thread_state = &owner.state;
  return owner.state;
}

void push_recorder(Recorder* recorder) {
  ThreadState& state = thread_state();
  state.recorders.push_back(recorder);
  RecorderLife::begin(*recorder, state);
  if (recorder->symbolic()) ++state.symbolic;
}

void remove_recorder(Recorder* recorder) noexcept {
  ThreadState& state = thread_state();
  RecorderLife::remove(state, recorder);
  RecorderLife::forget(*recorder, Life::kIdle);
}

void drop_ended_recorders(ThreadState& state) noexcept {
  // A recorder's destructor may change the stack.
  for (size_t i = 0; i < state.recorders.size();) {
    Recorder* const recorder = state.recorders[i];
    if (!recorder->ended()) {
      ++i;
      continue;
    }
    RecorderLife::remove(state, recorder);
    const std::shared_ptr<Recorder> last = RecorderLife::forget(*recorder, Life::kIdle);
    i = 0;
  }
}

void end_recorder(std::shared_ptr<Recorder> recorder) noexcept {
  // May be called after this thread's state was destroyed: a tape that outlives the thread was ended with it.
  if (recorder == nullptr || !RecorderLife::hears(*recorder)) return;
  if (RecorderLife::hears(*recorder, thread_state())) {
    remove_recorder(recorder.get());
  } else {
    RecorderLife::end(std::move(recorder));
  }
}

std::span<Recorder* const> recorders() noexcept {
  ThreadState& state = thread_state();
  look_at_recorders(state);
  return {state.recorders.data(), state.recorders.size()};
}

RecorderScope::RecorderScope(Recorder* recorder) : recorder_(recorder) { push_recorder(recorder); }
RecorderScope::~RecorderScope() { remove_recorder(recorder_); }

namespace {

class SymbolicOnly final : public Recorder {
 public:
  bool keeps(const Call&) override { return false; }
  void record(const Call&) override {}
  void record_custom(std::span<const Tensor>, std::span<const Tensor>, std::shared_ptr<CustomBackward>) override {}
  bool symbolic() const override { return true; }
};

}  // namespace

SymbolicScope::SymbolicScope() : recorder_(std::make_unique<SymbolicOnly>()) { push_recorder(recorder_.get()); }
SymbolicScope::~SymbolicScope() { remove_recorder(recorder_.get()); }

RecorderPause::RecorderPause() : RecorderPause(nullptr) {}

RecorderPause::RecorderPause(Recorder* deaf) : thread_(&thread_state()), depth_(thread_state().paused.size()) {
  ThreadState& state = thread_state();
  state.paused.push_back(state.recorders);
  if (deaf == nullptr) {
    state.recorders.clear();
    state.symbolic = 0;
  } else {
    erase_recorder(state.recorders, deaf);
    state.symbolic = count_symbolic(state.recorders);
  }
}

namespace {

template <class Hears>
void pause_but(const Hears& hears) {
  ThreadState& state = thread_state();
  state.paused.push_back(state.recorders);
  Stack kept;
  for (Recorder* r : state.recorders) {
    if (hears(*r)) kept.push_back(r);
  }
  state.recorders = std::move(kept);
  state.symbolic = count_symbolic(state.recorders);
}

}  // namespace

RecorderPause::RecorderPause(int level) : thread_(&thread_state()), depth_(thread_state().paused.size()) {
  pause_but([level](const Recorder& r) { return r.level() < level; });
}

RecorderPause::RecorderPause(AllButTraces) : thread_(&thread_state()), depth_(thread_state().paused.size()) {
  pause_but([](const Recorder& r) { return r.symbolic() || r.inlines_functions(); });
}

RecorderPause::~RecorderPause() {
  ThreadState& state = thread_state();
  if (thread_ != &state || depth_ >= state.paused.size()) return;  // on another thread: its own pause goes on
  SmallVector<Recorder*, 4> stack = std::move(state.paused[depth_]);
  state.paused.resize(depth_);
  for (Recorder* r : state.recorders) {
    if (std::ranges::find(stack, r) == stack.end()) stack.push_back(r);
  }
  state.recorders = std::move(stack);
  state.symbolic = count_symbolic(state.recorders);
}

Recorder* symbolic_recorder() noexcept {
  const auto stack = recorders();
  for (size_t i = stack.size(); i-- > 0;) {
    if (stack[i]->symbolic()) return stack[i];
  }
  return nullptr;
}

Operation latest_operation() {
  const Recorder* recorder = symbolic_recorder();
  return recorder == nullptr ? Operation() : recorder->latest_operation();
}

}  // namespace panto
