#include "panto/nn/data/queue_runner.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/runtime/session.h"
#include "panto/ops/queues.h"
#include "panto/trace/graph_scope.h"

namespace panto {
namespace {

using Close = Callable<void(bool cancel_pending_enqueues)>;

// Closes a queue; ignores the error if it is closed already.
void close_quietly(const Close& close, bool cancel) {
  try {
    close(cancel);
  } catch (const Error& error) {
    log_debug(std::string("queue runner: ") + error.what());
  }
}

// One node that waits for all effects that `add` adds to the open graph.
Operation effects_of(const Callable<void()>& add, std::string_view name) {
  const CollectEffects effects;
  add();
  const std::vector<Operation> operations = effects.operations();
  if (operations.empty()) invalid("queue runner: expected nodes with an effect, got none for '{}'", name);
  return group(operations, name);
}

bool ends_input(const Error& error) { return error.code() == Code::kOutOfRange || error.code() == Code::kCancelled; }

void fill(Coordinator& coordinator, std::vector<Callable<void()>> enqueue, const Close& close, int64_t rounds = -1) {
  const auto left = std::make_shared<std::atomic<size_t>>(enqueue.size());
  coordinator.on_stop([close] { close_quietly(close, true); });
  for (Callable<void()>& put : enqueue) {
    coordinator.start([&coordinator, put = std::move(put), close, left, rounds] {
      try {
        for (int64_t i = 0; i != rounds && !coordinator.should_stop(); ++i) put();
      } catch (const Error& error) {
        if (!ends_input(error)) throw;
      }
      if (left->fetch_sub(1) == 1) close_quietly(close, false);
    });
  }
}

}  // namespace

void fill_queue(Coordinator& coordinator, const Tensor& queue, std::vector<Callable<void()>> enqueue) {
  fill(coordinator, std::move(enqueue),
       [queue](bool cancel) { queue_close(queue, {.cancel_pending_enqueues = cancel}); });
}

QueueRunner::QueueRunner(const Tensor& queue, const std::vector<Callable<void()>>& enqueue, int64_t rounds)
    : rounds_(std::max<int64_t>(rounds, -1)) {
  for (const Callable<void()>& add : enqueue) enqueue_.push_back(effects_of(add, "enqueue"));
  close_ = effects_of([&] { queue_close(queue); }, "close");
  cancel_ = effects_of([&] { queue_close(queue, {.cancel_pending_enqueues = true}); }, "cancel");
}

void QueueRunner::start(Session& session, Coordinator& coordinator) const {
  std::vector<Callable<void()>> runs;
  for (const Operation& operation : enqueue_) {
    runs.emplace_back([&session, operation] { session.run(operation); });
  }
  fill(
      coordinator, std::move(runs),
      [&session, close = close_, cancel = cancel_](bool now) { session.run(now ? cancel : close); }, rounds_);
}

}  // namespace panto
