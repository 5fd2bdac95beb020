#include "panto/lib/core/collections/waiting_line.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <vector>

namespace panto {

struct WaitingLine::Impl {
  struct Waiter {
    uint64_t number;
    Attempt attempt;
    Ended ended;
    std::exception_ptr error = nullptr;
  };

  // Moves requests that are done to `gone`. Repeats until none can go on, because one may make room for another.
  void advance(std::list<Waiter>& gone) {
    for (bool again = true; again;) {
      again = false;
      for (auto at = waiters.begin(); at != waiters.end();) {
        const auto waiter = at++;
        bool ended = true;
        try {
          ended = waiter->attempt();
        } catch (...) {
          waiter->error = std::current_exception();
        }
        if (ended) {
          gone.splice(gone.end(), waiters, waiter);
          again = true;
        } else if (order == Order::kFirstComeFirstServed) {
          return;
        }
      }
    }
  }
  static void tell(const std::list<Waiter>& gone) {
    for (const Waiter& waiter : gone) waiter.ended(waiter.error);
  }

  Order order;
  mutable std::mutex mutex;
  std::list<Waiter> waiters;
  uint64_t last = 0;
};

WaitingLine::WaitingLine(Order order) : impl_(std::make_unique<Impl>()) { impl_->order = order; }
WaitingLine::~WaitingLine() = default;

WaitingLine::Locked::Locked(const WaitingLine& line) : line_(line) { line_.impl_->mutex.lock(); }
WaitingLine::Locked::~Locked() { line_.impl_->mutex.unlock(); }

uint64_t WaitingLine::wait(Attempt attempt, Ended ended) {
  std::list<Impl::Waiter> gone;
  uint64_t number = 0;
  {
    const std::lock_guard lock(impl_->mutex);
    number = ++impl_->last;
    impl_->waiters.push_back({number, std::move(attempt), std::move(ended)});
    impl_->advance(gone);
  }
  Impl::tell(gone);
  return number;
}

void WaitingLine::forget(uint64_t number) noexcept {
  std::list<Impl::Waiter> dropped, gone;  // destroyed without the lock
  {
    const std::lock_guard lock(impl_->mutex);
    const auto found = std::ranges::find(impl_->waiters, number, &Impl::Waiter::number);
    if (found == impl_->waiters.end()) return;
    dropped.splice(dropped.end(), impl_->waiters, found);
    impl_->advance(gone);  // those behind it
  }
  Impl::tell(gone);
}

void WaitingLine::change(const Callable<void()>& change) {
  std::list<Impl::Waiter> gone;
  std::exception_ptr error;
  {
    const std::lock_guard lock(impl_->mutex);
    try {
      change();
    } catch (...) {
      error = std::current_exception();
    }
    impl_->advance(gone);
  }
  Impl::tell(gone);
  if (error) std::rethrow_exception(error);
}

}  // namespace panto
