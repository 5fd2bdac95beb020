#include "panto/lib/core/step/rendezvous.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

namespace panto {

struct Rendezvous::Impl {
  struct Waiting {
    uint64_t number;
    Receive receive;
  };
  // At least one of the two is empty.
  struct Queue {
    std::deque<Tensor> values;
    std::deque<Waiting> waiting;
  };

  std::mutex mutex;
  std::map<std::string, Queue> queues;  // no Queue in it is empty
  uint64_t last = 0;
  std::exception_ptr closed;  // the error of `close`, if it was called
};

Rendezvous::Rendezvous() : impl_(std::make_unique<Impl>()) {}
Rendezvous::~Rendezvous() = default;

void Rendezvous::send(const std::string& key, Tensor value) {
  Receive receive;
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->closed) std::rethrow_exception(impl_->closed);
    Impl::Queue& queue = impl_->queues[key];
    if (queue.waiting.empty()) {
      queue.values.push_back(std::move(value));
      return;
    }
    receive = std::move(queue.waiting.front().receive);
    queue.waiting.pop_front();
    if (queue.waiting.empty()) impl_->queues.erase(key);
  }
  receive(std::move(value), nullptr);
}

uint64_t Rendezvous::receive(const std::string& key, Receive receive) {
  uint64_t number = 0;
  Tensor value;
  std::exception_ptr error;
  {
    const std::lock_guard lock(impl_->mutex);
    number = ++impl_->last;
    error = impl_->closed;
    if (!error) {
      Impl::Queue& queue = impl_->queues[key];
      if (queue.values.empty()) {
        queue.waiting.push_back({number, std::move(receive)});
        return number;
      }
      value = std::move(queue.values.front());
      queue.values.pop_front();
      if (queue.values.empty()) impl_->queues.erase(key);
    }
  }
  receive(std::move(value), error);
  return number;
}

void Rendezvous::forget(uint64_t waiting) noexcept {
  Receive forgotten;  // destroyed without the lock
  const std::lock_guard lock(impl_->mutex);
  for (auto it = impl_->queues.begin(); it != impl_->queues.end(); ++it) {
    auto& list = it->second.waiting;
    const auto found = std::ranges::find(list, waiting, &Impl::Waiting::number);
    if (found == list.end()) continue;
    forgotten = std::move(found->receive);
    list.erase(found);
    if (list.empty()) impl_->queues.erase(it);
    return;
  }
}

void Rendezvous::close(std::exception_ptr error) {
  std::map<std::string, Impl::Queue> queues;
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->closed) return;
    impl_->closed = error;
    queues.swap(impl_->queues);
  }
  for (auto& [key, queue] : queues) {
    for (Impl::Waiting& w : queue.waiting) w.receive(Tensor(), error);
  }
}

}  // namespace panto
