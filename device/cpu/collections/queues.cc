// Queues (lib/core/collections/queue.h): creating them, and calls that may wait.

#include <algorithm>
#include <atomic>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "panto/device/cpu/collections/declared.h"
#include "panto/device/cpu/collections/queue_elements.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/math/random/philox.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/collections/queue.h"
#include "panto/lib/core/step/async.h"

namespace panto {
namespace {

// ---- Creating queues -----------------------------------------------------------------------------------------------

// Returns a generator of the words of a Philox stream.
Callable<uint32_t()> words_of(int64_t seed, int64_t seed2) {
  philox::Stream stream{static_cast<uint64_t>(seed), 0, static_cast<uint64_t>(seed2)};
  if (seed == 0 && seed2 == 0) {
    std::random_device device;
    stream.key = (uint64_t{device()} << 32) | device();
    stream.high = (uint64_t{device()} << 32) | device();
  }
  return [stream, block = philox::Words{}, used = uint64_t{0}]() mutable {
    if (used % 4 == 0) block = stream.block(used / 4);
    return block.w[used++ % 4];
  };
}

void run_queue(KernelContext& c, QueueForm form) {
  const auto types = c.types("component_types");
  form.types.insert(form.types.end(), types.begin(), types.end());
  const AttrSlot& shapes = c.slot("shapes");
  const auto* first = static_cast<const PartialShape*>(shapes.p);
  if (shapes.n == 0) form.shapes.clear();
  form.shapes.insert(form.shapes.end(), first, first + shapes.n);
  form.capacity = std::max<int64_t>(-1, c.integer("capacity"));
  form.check();
  Tensor out = declared_resource(c, [&](const std::string& container, const std::string& name) {
    return std::make_shared<Queue>(container, name, form, words_of(form.seed, form.seed2));
  });
  const std::shared_ptr<Queue> queue = queue_of(out);
  if (!(queue->form() == form)) {
    invalid("queue \"{}\": expected one as it was declared before, a {}, got another {}", queue->name(), queue->kind(),
            form.kind());
  }
  c.set_out(0, std::move(out));
}

void run_fifo(KernelContext& c) { run_queue(c, {.order = QueueForm::Order::kFifo}); }
void run_padding_fifo(KernelContext& c) { run_queue(c, {.order = QueueForm::Order::kPaddingFifo}); }
void run_random_shuffle(KernelContext& c) {
  run_queue(c, {.order = QueueForm::Order::kShuffle,
                .min_after_dequeue = c.integer("min_after_dequeue"),
                .seed = c.integer("seed"),
                .seed2 = c.integer("seed2")});
}
void run_priority(KernelContext& c) {
  run_queue(c, {.order = QueueForm::Order::kPriority, .types = {kInt64}, .shapes = {Shape{}}});
}

// ---- Calls that wait -----------------------------------------------------------------------------------------------

void expect_no_timeout(const KernelContext& c) {
  const int64_t timeout = c.integer("timeout_ms");
  if (timeout != -1) invalid("timeout_ms: expected -1, since a step has a deadline, got {}", timeout);
}

// Removes the call's attempt from the queue when the call is cancelled. `cancellation` must be read before the call can
// end.
void forget_when_stopped(const std::shared_ptr<Cancellation>& cancellation, std::shared_ptr<Queue> queue,
                         uint64_t attempt) {
  cancellation->watch([queue = std::move(queue), attempt] { queue->forget(attempt); });
}

// Returns the components to enqueue in the queue at input 0, and checks them.
QueueElement components_for(const Queue& queue, const KernelContext& c, bool many) {
  QueueElement components;
  components.reserve(static_cast<size_t>(c.num_inputs() - 1));
  for (int i = 1; i < c.num_inputs(); ++i) components.push_back(own_memory(c.in(i)));
  queue.check(components, many);
  return components;
}

void start_enqueue(const std::shared_ptr<AsyncContext>& c, const Done& done, bool many) {
  expect_no_timeout(*c);
  const std::shared_ptr<Queue> queue = queue_of(c->in(0));
  QueueElement components = components_for(*queue, *c, many);
  std::vector<QueueElement> elements;
  if (many) {
    elements = elements_along(components);
  } else {
    elements.push_back(std::move(components));
  }
  const std::shared_ptr<Cancellation> cancellation = c->step().cancellation;
  const uint64_t attempt = queue->enqueue(
      std::move(elements), [done](std::exception_ptr error) { error ? done(std::move(error)) : done(); });
  forget_when_stopped(cancellation, queue, attempt);
}

void expect_types_of(const Queue& queue, const KernelContext& c) {
  if (!std::ranges::equal(c.types("component_types"), queue.form().types)) {
    fail(Code::kInvalidArgument, "component_types: expected the queue's, got others");
  }
}

void give_one(KernelContext& c, const QueueElement& element) {
  for (size_t k = 0; k < element.size(); ++k) {
    c.set_out(static_cast<int>(k), view_tensor(element[k], element[k].shape()));
  }
}

void start_dequeue(const std::shared_ptr<AsyncContext>& c, const Done& done, int64_t count, bool many, bool up_to) {
  expect_no_timeout(*c);
  const std::shared_ptr<Queue> queue = queue_of(c->in(0));
  const QueueForm& form = queue->form();
  expect_types_of(*queue, *c);
  if (many && form.shapes.empty()) {
    fail(Code::kInvalidArgument,
         "queue: expected one with shapes, since its elements are to be stacked, got one without");
  }
  if (count < 0) invalid("n: expected at least 0, got {}", count);
  const auto give = [c, done, many, queue](const std::vector<QueueElement>& elements, std::exception_ptr error) {
    if (error) return done(std::move(error));
    try {
      const QueueForm& of = queue->form();
      if (!many) give_one(*c, elements[0]);
      for (size_t k = 0; many && k < of.types.size(); ++k) {
        c->set_out(static_cast<int>(k), stacked_component(elements, k, of.types[k], of.shapes[k]));
      }
    } catch (...) {
      return done(std::current_exception());
    }
    done();
  };
  if (count == 0) return give({}, nullptr);
  const std::shared_ptr<Cancellation> cancellation = c->step().cancellation;
  forget_when_stopped(cancellation, queue, queue->dequeue(count, up_to, give));
}

// A fast path without waiting: a started call would have to own copies of all that it needs.
void run_enqueue_one(KernelContext& c) {
  expect_no_timeout(c);
  const std::shared_ptr<Queue> queue = queue_of(c.in(0));
  QueueElement components = components_for(*queue, c, false);
  if (!queue->enqueue_now(components)) start_and_wait(c);
}
void run_dequeue_one(KernelContext& c) {
  expect_no_timeout(c);
  const std::shared_ptr<Queue> queue = queue_of(c.in(0));
  expect_types_of(*queue, c);
  if (const std::optional<QueueElement> element = queue->dequeue_now()) return give_one(c, *element);
  start_and_wait(c);
}

void start_enqueue_one(const std::shared_ptr<AsyncContext>& c, Done done) { start_enqueue(c, done, false); }
void start_enqueue_many(const std::shared_ptr<AsyncContext>& c, Done done) { start_enqueue(c, done, true); }
void start_dequeue_one(const std::shared_ptr<AsyncContext>& c, Done done) { start_dequeue(c, done, 1, false, false); }
void start_dequeue_many(const std::shared_ptr<AsyncContext>& c, Done done) {
  start_dequeue(c, done, *c->data<int32_t>(1), true, false);
}
void start_dequeue_up_to(const std::shared_ptr<AsyncContext>& c, Done done) {
  start_dequeue(c, done, *c->data<int32_t>(1), true, true);
}

void start_close(const std::shared_ptr<AsyncContext>& c, Done done) {
  const std::shared_ptr<Queue> queue = queue_of(c->in(0));
  const std::shared_ptr<Cancellation> cancellation = c->step().cancellation;
  const uint64_t attempt = queue->close(c->flag("cancel_pending_enqueues"),
                                        [done](std::exception_ptr error) { error ? done(std::move(error)) : done(); });
  forget_when_stopped(cancellation, queue, attempt);
}

void run_is_closed(KernelContext& c) { *c.out_data<bool>(0) = queue_of(c.in(0))->closed(); }
void run_size(KernelContext& c) {
  *c.out_data<int32_t>(0) = checked_cast<int32_t>(queue_of(c.in(0))->size(), "number of elements");
}

const CpuKernel fifo_kernel("FIFOQueueV2", run_fifo);
const CpuKernel padding_fifo_kernel("PaddingFIFOQueueV2", run_padding_fifo);
const CpuKernel random_shuffle_kernel("RandomShuffleQueueV2", run_random_shuffle);
const CpuKernel priority_kernel("PriorityQueueV2", run_priority);
const CpuKernel enqueue_kernel("QueueEnqueueV2", Kernel{.run = run_enqueue_one, .start = start_enqueue_one});
const CpuKernel enqueue_many_kernel("QueueEnqueueManyV2", Kernel{.start = start_enqueue_many});
const CpuKernel dequeue_kernel("QueueDequeueV2", Kernel{.run = run_dequeue_one, .start = start_dequeue_one});
const CpuKernel dequeue_many_kernel("QueueDequeueManyV2", Kernel{.start = start_dequeue_many});
const CpuKernel dequeue_up_to_kernel("QueueDequeueUpToV2", Kernel{.start = start_dequeue_up_to});
const CpuKernel close_kernel("QueueCloseV2", Kernel{.start = start_close});
const CpuKernel is_closed_kernel("QueueIsClosedV2", run_is_closed);
const CpuKernel size_kernel("QueueSizeV2", run_size);

}  // namespace
}  // namespace panto
