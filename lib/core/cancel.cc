#include "panto/lib/core/cancel.h"

#include <algorithm>
#include <atomic>

#include "panto/lib/base/error.h"
#include "panto/lib/core/recorder.h"
#include "panto/lib/core/thread_state.h"

namespace panto {
namespace {

std::atomic<bool> requested{false};
// Read in signal handlers: an access that allocates would not do.
constinit thread_local int generated_code_depth [[gnu::tls_model("initial-exec")]] = 0;

[[noreturn]] void cancelled() { fail(Code::kCancelled, "stopped on request"); }

// Hears the first op of a thread that is to stop, before anybody else does.
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
    cancelled();
  }
};

// One for all threads: it has no state.
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
  thread_state();  // takes it back
  remove_recorder(&canceller());
}

bool cancel_requested() noexcept { return requested.load(std::memory_order_relaxed); }

void throw_if_cancelled() {
  if (cancel_requested()) [[unlikely]]
    cancelled();
}

GeneratedCodeScope::GeneratedCodeScope() noexcept { ++generated_code_depth; }
GeneratedCodeScope::~GeneratedCodeScope() { --generated_code_depth; }
bool in_generated_code() noexcept { return generated_code_depth > 0; }

struct ScopeMark::State {
  ThreadState state;
};

ScopeMark::ScopeMark() : state_(std::make_unique<State>(State{thread_state()})) {}
ScopeMark::~ScopeMark() = default;

void ScopeMark::restore() const {
  ThreadState& now = thread_state();
  const auto open = now.recorders;
  now = state_->state;
  // Recorders that ended since are no more.
  now.recorders.clear();
  for (Recorder* r : state_->state.recorders) {
    if (std::ranges::find(open, r) != open.end()) now.recorders.push_back(r);
  }
}

}  // namespace panto
