#include "panto/lib/runtime/coordinator.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "panto/lib/base/log.h"
#include "panto/lib/base/start_thread.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/core/step/step.h"

namespace panto {
namespace {

using Seconds = std::chrono::duration<double>;

// A stop request to the process or thread does not wake waiting threads, so they poll for it at this interval.
constexpr std::chrono::nanoseconds kLookEvery = std::chrono::milliseconds(100);

bool is_end(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return e.code() == Code::kOutOfRange;
  } catch (...) {
    return false;
  }
}

}  // namespace

struct Coordinator::Impl {
  void stop(std::exception_ptr with) {
    std::vector<Callable<void()>> actions;
    {
      const std::lock_guard lock(mutex);
      if (stopped) return;
      stopped = true;
      if (with && !is_end(with)) error = std::move(with);
      actions.swap(on_stop);
    }
    changed.notify_all();
    for (const Callable<void()>& action : actions) action();
  }

  void ended() {
    {
      const std::lock_guard lock(mutex);
      --running;
    }
    changed.notify_all();
  }

  // Throws Cancelled if the calling thread is asked to stop.
  void wait_for_end(double grace) const {
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, kLookEvery, [&] { return running == 0 || stopped; })) throw_if_cancelled();
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(Seconds(grace));
    while (running > 0 && std::chrono::steady_clock::now() < end) {
      changed.wait_until(lock, std::min(end, std::chrono::steady_clock::now() + kLookEvery));
      throw_if_cancelled();
    }
  }

  void end_threads() {
    {
      const std::lock_guard lock(mutex);
      joined = true;
    }
    cancellation->request();
    for (std::thread& t : threads) t.join();
    threads.clear();
  }

  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  bool stopped = false;
  bool joined = false;
  int running = 0;
  std::exception_ptr error;
  std::vector<Callable<void()>> on_stop;
  std::vector<std::thread> threads;
  std::shared_ptr<Cancellation> cancellation = std::make_shared<Cancellation>();  // of all threads' steps
};

Coordinator::Coordinator() : impl_(std::make_shared<Impl>()) {}

Coordinator::~Coordinator() {
  impl_->stop(nullptr);
  impl_->end_threads();
  if (impl_->error) log_warn("coordinator: ends with an error that nobody asked for by join");
}

void Coordinator::start(Callable<void()> body) {
  Step step = current_step();
  // Cancelling the caller's step also cancels these threads.
  if (step.cancellation != nullptr) {
    step.cancellation->watch([impl = std::weak_ptr(impl_)] {
      if (const auto alive = impl.lock()) alive->cancellation->request();
    });
  }
  step.cancellation = impl_->cancellation;
  const std::lock_guard lock(impl_->mutex);
  if (impl_->joined)
    fail(Code::kFailedPrecondition, "coordinator: expected a call of start before join, got one after");
  impl_->threads.push_back(start_thread("coordinator", [impl = impl_.get(), step, body = std::move(body)] {
    try {
      const StepScope scope(step);
      body();
    } catch (...) {
      impl->stop(std::current_exception());
    }
    impl->ended();
  }));
  ++impl_->running;
}

bool Coordinator::should_stop() const noexcept {
  const std::lock_guard lock(impl_->mutex);
  return impl_->stopped;
}

void Coordinator::request_stop() { impl_->stop(nullptr); }
void Coordinator::request_stop(std::exception_ptr error) { impl_->stop(std::move(error)); }

void Coordinator::on_stop(Callable<void()> action) {
  {
    const std::lock_guard lock(impl_->mutex);
    if (!impl_->stopped) {
      impl_->on_stop.push_back(std::move(action));
      return;
    }
  }
  action();
}

bool Coordinator::wait_for_stop(double seconds) const {
  std::unique_lock lock(impl_->mutex);
  return impl_->changed.wait_for(lock, Seconds(seconds), [&] { return impl_->stopped; });
}

void Coordinator::join(double grace) {
  impl_->wait_for_end(grace);
  impl_->end_threads();
  const std::exception_ptr error = std::exchange(impl_->error, nullptr);
  if (error) std::rethrow_exception(error);
}

}  // namespace panto
