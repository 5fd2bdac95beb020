#include "panto/lib/core/step/step.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/thread_state.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/core/tensor/resource.h"

namespace panto {

// ---- Cancellation --------------------------------------------------------------------------------------------------

struct Cancellation::Watches {
  // Held while watches are called, so that `unwatch` waits; recursive, since a watch may unwatch others.
  std::recursive_mutex mutex;
  uint64_t last = 0;
  std::vector<std::pair<uint64_t, Callable<void()>>> list;
};

Cancellation::Cancellation() : watches_(std::make_unique<Watches>()) {}
Cancellation::~Cancellation() = default;

void Cancellation::request() {
  const std::lock_guard lock(watches_->mutex);
  requested_.store(true, std::memory_order_relaxed);
  while (!watches_->list.empty()) {
    const Callable<void()> stop = std::move(watches_->list.back().second);
    watches_->list.pop_back();
    stop();
  }
}

uint64_t Cancellation::watch(Callable<void()> stop) {
  const std::lock_guard lock(watches_->mutex);
  const uint64_t id = ++watches_->last;
  if (requested()) {
    stop();
  } else {
    watches_->list.emplace_back(id, std::move(stop));
  }
  return id;
}

void Cancellation::unwatch(uint64_t watch) noexcept {
  const std::lock_guard lock(watches_->mutex);
  std::erase_if(watches_->list, [&](const auto& w) { return w.first == watch; });
}

void fail_cancelled() { fail(Code::kCancelled, "stopped on request"); }

// ---- Step ----------------------------------------------------------------------------------------------------------

namespace {

int64_t now() noexcept {
  using std::chrono::nanoseconds;
  return std::chrono::duration_cast<nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Never destroyed: threads may use it while the process exits.
union NoStep {
  constexpr NoStep() : step() {}
  ~NoStep() {}
  Step step;
};
constinit NoStep no_step;

}  // namespace

thread_local constinit const Step* innermost_step = &no_step.step;

int64_t Step::deadline_in(double seconds) {
  constexpr double kMost = 1e9;  // 30 years
  if (!(seconds <= kMost)) invalid("deadline: expected at most {} seconds from now, got {}", kMost, seconds);
  return now() + static_cast<int64_t>(std::max(seconds, 0.0) * 1e9);
}

ResourceManager& Step::resource_manager() const { return resources != nullptr ? *resources : default_resources(); }

void Step::throw_if_stopped() const {
  if (cancel_requested() || (cancellation != nullptr && cancellation->requested())) [[unlikely]]
    fail_cancelled();
  if (deadline != kNoDeadline && now() >= deadline) [[unlikely]]
    fail(Code::kDeadlineExceeded, "deadline: expected an end before it, got later than that");
}

const Step& current_step() noexcept { return *innermost_step; }

StepScope::StepScope(const Step& step) noexcept : previous_(std::exchange(innermost_step, &step)) {}
StepScope::~StepScope() { innermost_step = previous_; }

}  // namespace panto
