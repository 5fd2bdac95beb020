#include "panto/lib/core/step/cancel.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "panto/lib/base/error.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/call/thread_state.h"

namespace panto {
namespace {

std::atomic<bool> requested{false};
// Read in signal handlers, so the access must not allocate.
constinit thread_local int generated_code_depth [[gnu::tls_model("initial-exec")]] = 0;

// A recorder that stops a thread: it is told of the thread's first op before other recorders are.
class Canceller final : public Recorder {
 public:
  bool keeps(const Call&) override { return false; }
  void record_custom(std::span<const Tensor>, std::span<const Tensor>, std::shared_ptr<CustomBackward>) override {
    stop();
  }
  void record(const Call&) override { stop(); }

 private:
  [[noreturn]] void stop() {
    remove_recorder(this);
    fail_cancelled();
  }
};

// One instance for all threads: it has no state.
Canceller& canceller() {
  static auto* instance = new Canceller;
  return *instance;
}

}  // namespace

void put_canceller(ThreadState& state) {
  if (std::ranges::find(state.recorders, &canceller()) == state.recorders.end())
    state.recorders.push_back(&canceller());
}

void request_cancel() noexcept {
  requested.store(true, std::memory_order_relaxed);
  if (current_thread_state == nullptr) return;
  cancelled_thread_state = current_thread_state;
  current_thread_state = nullptr;
}

void clear_cancel() noexcept {
  requested.store(false, std::memory_order_relaxed);
  thread_state();  // restores the state that the request took away
  remove_recorder(&canceller());
}

bool cancel_requested() noexcept { return requested.load(std::memory_order_relaxed); }

void throw_if_cancelled() { look_for_stop(*innermost_step); }

GeneratedCodeScope::GeneratedCodeScope() noexcept { ++generated_code_depth; }
GeneratedCodeScope::~GeneratedCodeScope() { --generated_code_depth; }
bool in_generated_code() noexcept { return generated_code_depth > 0; }

struct ScopeMark::State {
  ThreadState state;
  const Step* step;
};

ScopeMark::ScopeMark() : state_(std::make_unique<State>(State{thread_state(), innermost_step})) {}
ScopeMark::~ScopeMark() = default;

void ScopeMark::restore() const {
  ThreadState& now = thread_state();
  drop_ended_recorders(now);
  // Recorders that ended since the mark do not exist any more.
  std::vector<Recorder*> open(now.recorders.begin(), now.recorders.end());
  for (const auto& stack : now.paused) open.insert(open.end(), stack.begin(), stack.end());
  const auto still_open = [&](const SmallVector<Recorder*, 4>& stack) {
    SmallVector<Recorder*, 4> result;
    for (Recorder* r : stack) {
      if (std::ranges::find(open, r) != open.end()) result.push_back(r);
    }
    return result;
  };
  now = state_->state;
  innermost_step = state_->step;
  now.recorders = still_open(now.recorders);
  for (auto& stack : now.paused) stack = still_open(stack);
  now.symbolic = static_cast<int>(std::ranges::count_if(now.recorders, [](Recorder* r) { return r->symbolic(); }));
}

}  // namespace panto
