#include "panto/lib/core/collections/queue.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/collections/handle.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

// The elements of a queue, in the order of dequeueing.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;
  virtual int64_t size() const = 0;
  virtual void push(QueueElement element) = 0;
  virtual QueueElement pop() = 0;
  // Undoes pops: `popped`, in order of popping, comes out first again if the order is by arrival.
  virtual void put_back(std::vector<QueueElement> popped) = 0;
};

class InOrder final : public Store {
 public:
  int64_t size() const override { return static_cast<int64_t>(elements_.size()); }
  void push(QueueElement element) override { elements_.push_back(std::move(element)); }
  QueueElement pop() override {
    QueueElement first = std::move(elements_.front());
    elements_.pop_front();
    return first;
  }
  void put_back(std::vector<QueueElement> popped) override {
    while (!popped.empty()) {
      elements_.push_front(std::move(popped.back()));
      popped.pop_back();
    }
  }

 private:
  std::deque<QueueElement> elements_;
};

// Draws as TensorFlow does: the last element moves to the place of the drawn one.
class Shuffled final : public Store {
 public:
  explicit Shuffled(Callable<uint32_t()> draw) : draw_(std::move(draw)) {}
  int64_t size() const override { return static_cast<int64_t>(elements_.size()); }
  void push(QueueElement element) override { elements_.push_back(std::move(element)); }
  QueueElement pop() override {
    std::swap(elements_[draw_() % elements_.size()], elements_.back());
    QueueElement drawn = std::move(elements_.back());
    elements_.pop_back();
    return drawn;
  }
  void put_back(std::vector<QueueElement> popped) override {
    for (QueueElement& element : popped) elements_.push_back(std::move(element));
  }

 private:
  Callable<uint32_t()> draw_;
  std::vector<QueueElement> elements_;
};

// The element with the smallest first component comes first; among equal ones, the one that was added first.
class ByPriority final : public Store {
 public:
  int64_t size() const override { return static_cast<int64_t>(elements_.size()); }
  void push(QueueElement element) override {
    const int64_t priority = element[0].data<int64_t>()[0];
    elements_.emplace(priority, std::move(element));
  }
  QueueElement pop() override { return std::move(elements_.extract(elements_.begin()).mapped()); }
  void put_back(std::vector<QueueElement> popped) override {
    while (!popped.empty()) {
      const int64_t priority = popped.back()[0].data<int64_t>()[0];
      elements_.emplace_hint(elements_.lower_bound(priority), priority, std::move(popped.back()));
      popped.pop_back();
    }
  }

 private:
  std::multimap<int64_t, QueueElement> elements_;
};

std::unique_ptr<Store> make_store(const QueueForm& form, Callable<uint32_t()> draw) {
  switch (form.order) {
    case QueueForm::Order::kShuffle: return std::make_unique<Shuffled>(std::move(draw));
    case QueueForm::Order::kPriority: return std::make_unique<ByPriority>();
    case QueueForm::Order::kFifo:
    case QueueForm::Order::kPaddingFifo: break;
  }
  return std::make_unique<InOrder>();
}

}  // namespace

std::string_view QueueForm::kind() const noexcept {
  switch (order) {
    case Order::kFifo: return "FIFOQueue";
    case Order::kPaddingFifo: return "PaddingFIFOQueue";
    case Order::kShuffle: return "RandomShuffleQueue";
    case Order::kPriority: return "PriorityQueue";
  }
  return "Queue";
}

void QueueForm::check() const {
  if (!shapes.empty() && shapes.size() != types.size()) {
    invalid("shapes: expected one for each of {} components, got {}", types.size(), shapes.size());
  }
  if (order == Order::kPaddingFifo && shapes.empty()) {
    fail(Code::kInvalidArgument, "shapes: expected one for each component, got none");
  }
  for (const PartialShape& shape : shapes) {
    if (order == Order::kPaddingFifo ? shape.known_rank() : shape.fully_known()) continue;
    invalid("shapes: expected every {} to be known, got {}", order == Order::kPaddingFifo ? "rank" : "dimension",
            shape.to_string());
  }
  if (order != Order::kShuffle) return;
  if (min_after_dequeue < 0) invalid("min_after_dequeue: expected at least 0, got {}", min_after_dequeue);
  if (capacity >= 0 && min_after_dequeue >= capacity) {
    invalid("min_after_dequeue: expected less than the capacity {}, got {}", capacity, min_after_dequeue);
  }
}

struct Queue::Impl {
  struct Put {
    uint64_t number;
    std::vector<QueueElement> elements;
    bool closes;  // this request closes the queue when its turn comes, instead of adding elements
    Enqueued done;
    size_t next = 0;  // the next element to add
  };
  struct Take {
    uint64_t number;
    int64_t count;
    bool up_to;
    Dequeued done;
    std::vector<QueueElement> taken = {};
  };
  // Callbacks to call after the lock is released.
  using Finished = std::vector<Callable<void()>>;

  Impl(const Queue& of, Callable<uint32_t()> draw) : queue(of), store(make_store(of.form_, std::move(draw))) {}

  std::exception_ptr error(Code code, std::string text) const {
    return std::make_exception_ptr(Error(
        code, fmt::format("queue{}: {}", queue.name().empty() ? "" : fmt::format(" \"{}\"", queue.name()), text)));
  }
  std::exception_ptr closed_error() const {
    return error(Code::kCancelled, "expected it to be open, got one that was closed");
  }

  void finish(Finished& finished, std::exception_ptr with) {
    finished.emplace_back([done = std::move(puts.front().done), with] { done(with); });
    puts.pop_front();
  }
  void finish_take(Finished& finished, std::exception_ptr with) {
    auto elements = std::make_shared<std::vector<QueueElement>>(std::move(takes.front().taken));
    finished.emplace_back([done = std::move(takes.front().done), elements, with] { done(std::move(*elements), with); });
    takes.pop_front();
  }

  // True if the queue is open and no request waits.
  bool is_idle() const { return !closed && puts.empty() && takes.empty(); }

  bool advance_puts(Finished& finished) {
    bool any = false;
    const int64_t capacity = queue.form_.capacity;
    while (!puts.empty()) {
      Put& put = puts.front();
      if (closed) {
        finish(finished, closed_error());
      } else if (put.closes) {
        closed = true;
        finish(finished, nullptr);
      } else {
        while (put.next < put.elements.size() && (capacity < 0 || store->size() < capacity)) {
          store->push(std::move(put.elements[put.next++]));
          any = true;
        }
        if (put.next < put.elements.size()) break;
        finish(finished, nullptr);
      }
      any = true;
    }
    return any;
  }

  bool advance_takes(Finished& finished) {
    bool any = false;
    while (!takes.empty()) {
      Take& take = takes.front();
      const auto missing = [&] { return take.count - static_cast<int64_t>(take.taken.size()); };
      if (closed && store->size() < missing()) {
        store->put_back(std::exchange(take.taken, {}));
        any = true;
        if (!take.up_to || store->size() == 0) {
          finish_take(finished,
                      error(Code::kOutOfRange, fmt::format("expected {} elements, got {} in one that is closed",
                                                           take.count, store->size())));
          continue;
        }
        take.count = std::min(take.count, store->size());
      }
      const int64_t stay = closed ? 0 : queue.form_.min_after_dequeue;
      while (missing() > 0 && store->size() > stay) {
        take.taken.push_back(store->pop());
        any = true;
      }
      if (missing() > 0) break;
      finish_take(finished, nullptr);
      any = true;
    }
    return any;
  }

  // Applies `change` under the lock, then completes all requests that can be completed.
  template <class Change>
  void after(const Change& change) {
    Finished finished;
    {
      const std::lock_guard lock(mutex);
      change(finished);
      for (bool again = true; again;) {
        again = advance_puts(finished);
        again = advance_takes(finished) || again;
      }
    }
    for (const Callable<void()>& call : finished) call();
  }

  const Queue& queue;
  mutable std::mutex mutex;
  std::unique_ptr<Store> store;
  bool closed = false;
  std::deque<Put> puts;
  std::deque<Take> takes;
  uint64_t last = 0;
};

Queue::Queue(std::string container, std::string name, QueueForm form, Callable<uint32_t()> draw)
    : Resource(std::move(container), std::move(name)),
      form_(std::move(form)),
      impl_(std::make_unique<Impl>(*this, std::move(draw))) {}
Queue::~Queue() = default;

int64_t Queue::size() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->store->size();
}

bool Queue::closed() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->closed;
}

void Queue::check(const QueueElement& components, bool many) const {
  if (components.size() != form_.types.size()) {
    invalid("components: expected the queue's {}, got {}", form_.types.size(), components.size());
  }
  for (size_t k = 0; k < components.size(); ++k) {
    const Tensor& t = components[k];
    if (t.dtype() != form_.types[k]) {
      invalid("component {}: expected the queue's {}, got {}", k, dtype_name(form_.types[k]), dtype_name(t.dtype()));
    }
    if (many && t.rank() < 1) invalid("component {}: expected a rank of at least 1, got shape []", k);
    if (many && t.dim(0) != components[0].dim(0)) {
      invalid("component {}: expected as many elements as in component 0, {}, got {}", k, components[0].dim(0),
              t.dim(0));
    }
    if (form_.shapes.empty()) continue;
    const PartialShape shape = many ? PartialShape(t.shape().dims().subspan(1)) : t.partial_shape();
    if (!form_.shapes[k].compatible_with(shape)) {
      invalid("component {}: expected the queue's shape {}, got {}", k, form_.shapes[k].to_string(), shape.to_string());
    }
  }
}

uint64_t Queue::enqueue(std::vector<QueueElement> elements, Enqueued done) {
  uint64_t number = 0;
  impl_->after([&](Impl::Finished&) {
    number = ++impl_->last;
    impl_->puts.push_back({number, std::move(elements), false, std::move(done)});
  });
  return number;
}

uint64_t Queue::dequeue(int64_t count, bool up_to, Dequeued done) {
  uint64_t number = 0;
  impl_->after([&](Impl::Finished&) {
    number = ++impl_->last;
    impl_->takes.push_back({number, count, up_to, std::move(done)});
  });
  return number;
}

bool Queue::enqueue_now(QueueElement& element) {
  const std::lock_guard lock(impl_->mutex);
  if (!impl_->is_idle() || (form_.capacity >= 0 && impl_->store->size() >= form_.capacity)) return false;
  impl_->store->push(std::move(element));
  return true;
}

std::optional<QueueElement> Queue::dequeue_now() {
  const std::lock_guard lock(impl_->mutex);
  if (!impl_->is_idle() || impl_->store->size() <= form_.min_after_dequeue) return std::nullopt;
  return impl_->store->pop();
}

uint64_t Queue::close(bool cancel_pending_enqueues, Enqueued done) {
  uint64_t number = 0;
  impl_->after([&](Impl::Finished& finished) {
    number = ++impl_->last;
    if (!cancel_pending_enqueues) {
      impl_->puts.push_back({number, {}, true, std::move(done)});
      return;
    }
    impl_->closed = true;
    finished.emplace_back([done = std::move(done)] { done(nullptr); });
  });
  return number;
}

void Queue::forget(uint64_t attempt) noexcept {
  // Dropped requests are destroyed after the lock is released.
  std::deque<Impl::Put> put;
  std::deque<Impl::Take> take;
  try {
    impl_->after([&](Impl::Finished&) {
      const auto p = std::ranges::find(impl_->puts, attempt, &Impl::Put::number);
      if (p != impl_->puts.end()) {
        put.push_back(std::move(*p));
        impl_->puts.erase(p);
      }
      const auto t = std::ranges::find(impl_->takes, attempt, &Impl::Take::number);
      if (t != impl_->takes.end()) {
        impl_->store->put_back(std::exchange(t->taken, {}));
        take.push_back(std::move(*t));
        impl_->takes.erase(t);
      }
    });
  } catch (...) {  // out of memory: waiting requests continue at the next call
    return;
  }
}

std::shared_ptr<Queue> queue_of(const Tensor& handle) { return resource_as<Queue>(handle, "queue"); }

}  // namespace panto
