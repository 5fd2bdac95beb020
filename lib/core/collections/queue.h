// Queue: the resource that the ops Queue... fill and empty. A request that finds no room, or not enough elements,
// waits. No thread is blocked: the request is completed later.
//
//   queue->enqueue({{x, label}}, [](std::exception_ptr error) { ... });
//   queue->dequeue(2, false, [](std::vector<QueueElement> elements, std::exception_ptr error) { ... });
//
// Waiting requests are served in order of arrival. A completion callback is called once, on the thread whose call made
// the completion possible, and must not throw. Thread-safe.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/resource.h"

namespace panto {

using QueueElement = std::vector<Tensor>;  // a tensor for each component

// How a queue was made. A second op that uses the same name must give an equal form.
struct QueueForm {
  enum class Order : uint8_t { kFifo, kPaddingFifo, kShuffle, kPriority };
  Order order = Order::kFifo;
  std::vector<DType> types = {};
  std::vector<PartialShape> shapes = {};  // of the components; empty: any. May be partly known for kPaddingFifo only
  int64_t capacity = -1;                  // negative: unlimited
  int64_t min_after_dequeue = 0;          // of kShuffle: elements that stay, to draw among, until the queue is closed
  int64_t seed = 0, seed2 = 0;            // of kShuffle

  bool operator==(const QueueForm&) const = default;
  // Throws InvalidArgument for a form that no queue can have.
  void check() const;
  // "FIFOQueue", ...
  std::string_view kind() const noexcept;
};

class PANTO_EXPORT Queue final : public Resource, public std::enable_shared_from_this<Queue> {
 public:
  using Enqueued = Callable<void(std::exception_ptr error)>;
  using Dequeued = Callable<void(std::vector<QueueElement> elements, std::exception_ptr error)>;

  // `draw` returns random numbers for kShuffle. It is called under the queue's lock.
  Queue(std::string container, std::string name, QueueForm form, Callable<uint32_t()> draw);
  ~Queue() override;

  std::string_view kind() const noexcept override { return form_.kind(); }
  const QueueForm& form() const noexcept { return form_; }
  int64_t size() const;
  bool closed() const;

  // Throws InvalidArgument for components of other types or shapes. `many`: the elements are along the components'
  // first dimension.
  void check(const QueueElement& components, bool many) const;

  // Each request returns a number for `forget`. Precondition: the elements fit the form.
  // Adds the elements one by one as room becomes free. Fails with Cancelled if the queue is closed before all are
  // added.
  uint64_t enqueue(std::vector<QueueElement> elements, Enqueued done);
  // Removes `count` elements. If the queue is closed and has fewer: with `up_to` it returns those that there are, else
  // it fails with OutOfRange.
  uint64_t dequeue(int64_t count, bool up_to, Dequeued done);
  // Adds or removes one element at once, if the queue is open and no request waits: a fast path without a callback.
  // Returns false, or nullopt, and changes nothing if the request might have to wait.
  bool enqueue_now(QueueElement& element);
  std::optional<QueueElement> dequeue_now();
  // Closes the queue. Requests that wait for room are served first; with `cancel_pending_enqueues` they fail with
  // Cancelled at once. If the queue is closed already, closing fails with Cancelled, unless it cancels waiting
  // requests.
  uint64_t close(bool cancel_pending_enqueues, Enqueued done);
  // Cancels the request with that number: elements that it has removed so far are put back. Its callback is not called
  // after this, unless that call has begun already.
  void forget(uint64_t attempt) noexcept;

 private:
  struct Impl;
  QueueForm form_;
  std::unique_ptr<Impl> impl_;
};

// The queue that scalar resource tensor `handle` refers to. Throws InvalidArgument for anything else.
PANTO_EXPORT std::shared_ptr<Queue> queue_of(const Tensor& handle);

}  // namespace panto
