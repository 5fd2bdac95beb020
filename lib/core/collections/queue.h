// Queue: what a resource tensor refers to that the ops Queue... fill and empty. Who finds no room, or not enough
// elements, waits: nothing here blocks a thread, what is asked for is done later.
//
//   queue->enqueue({{x, label}}, [](std::exception_ptr error) { ... });
//   queue->dequeue(2, false, [](std::vector<QueueElement> elements, std::exception_ptr error) { ... });
//
// Who waits is served in the order in which it came. What is called when something was done is called once, on the
// thread whose call made it possible, and must not throw. Thread-safe.
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

// What a queue was made as: who names it again must say the same.
struct QueueForm {
  enum class Order : uint8_t { kFifo, kPaddingFifo, kShuffle, kPriority };
  Order order = Order::kFifo;
  std::vector<DType> types = {};
  std::vector<PartialShape> shapes = {};  // of the components; empty: any. Partly known ones for kPaddingFifo only
  int64_t capacity = -1;                  // below 0: any number of elements
  int64_t min_after_dequeue = 0;  // of kShuffle: elements that stay, for others to be drawn among, until it is closed
  int64_t seed = 0, seed2 = 0;    // of kShuffle

  bool operator==(const QueueForm&) const = default;
  // Throws InvalidArgument for one that no queue has.
  void check() const;
  // "FIFOQueue", ...
  std::string_view kind() const noexcept;
};

class PANTO_EXPORT Queue final : public Resource, public std::enable_shared_from_this<Queue> {
 public:
  using Enqueued = Callable<void(std::exception_ptr error)>;
  using Dequeued = Callable<void(std::vector<QueueElement> elements, std::exception_ptr error)>;

  // `draw`: random numbers for kShuffle, called under the queue's lock.
  Queue(std::string container, std::string name, QueueForm form, Callable<uint32_t()> draw);
  ~Queue() override;

  std::string_view kind() const noexcept override { return form_.kind(); }
  const QueueForm& form() const noexcept { return form_; }
  int64_t size() const;
  bool closed() const;

  // Throws InvalidArgument for components of other types or shapes. `many`: they have the elements along their first
  // dimension.
  void check(const QueueElement& components, bool many) const;

  // Each is given a number for `forget`. Precondition: the elements fit the form.
  // Puts the elements in, one by one as there is room. Cancelled where the queue is closed before all are in.
  uint64_t enqueue(std::vector<QueueElement> elements, Enqueued done);
  // Takes `count` out. Of a closed queue that has fewer it takes what there is, with `up_to`, else it is OutOfRange.
  uint64_t dequeue(int64_t count, bool up_to, Dequeued done);
  // One element at once, where nobody waits and the queue is open: then nobody needs to be called. False, or nothing:
  // that may take longer, and nothing has changed.
  bool enqueue_now(QueueElement& element);
  std::optional<QueueElement> dequeue_now();
  // Closes it: after those who wait for room, or at once, and they are Cancelled. Closed before: Cancelled, unless
  // those who wait are.
  uint64_t close(bool cancel_pending_enqueues, Enqueued done);
  // Nobody waits by that number any more: what it has taken out so far is put back. It is not called after this,
  // except by a call that has begun.
  void forget(uint64_t attempt) noexcept;

 private:
  struct Impl;
  QueueForm form_;
  std::unique_ptr<Impl> impl_;
};

// The queue that scalar resource tensor `handle` refers to. Throws InvalidArgument for anything else.
PANTO_EXPORT std::shared_ptr<Queue> queue_of(const Tensor& handle);

}  // namespace panto
