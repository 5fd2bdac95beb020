// Threads that fill a queue.
//
//   const Tensor queue = fifo_queue({kFloat32}, {.capacity = 32});          // in a graph
//   const QueueRunner runner(queue, {[&] { queue_enqueue(queue, {read_one()}); },
//                                    [&] { queue_enqueue(queue, {read_other()}); }});
//   const Tensor batch = queue_dequeue_many(queue, 8, {kFloat32})[0];
//   ...
//   Coordinator coordinator;
//   runner.start(session, coordinator);
//   for (...) session.run(batch);
//   coordinator.request_stop();
//   coordinator.join();
#pragma once

#include <cstdint>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/op/operation.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/runtime/coordinator.h"

namespace panto {

class Session;

// Calls each of `enqueue` on a thread of its own, over and over, until the coordinator is asked to stop. One that
// throws OutOfRange, the end of what it reads, or Cancelled, since the queue was closed, ends; when the last one has,
// `queue` is closed, and what is in it can still be taken out. Anything else that one throws asks the coordinator to
// stop. When that is asked to, the queue is closed and those who wait for room are cancelled.
PANTO_EXPORT void fill_queue(Coordinator& coordinator, const Tensor& queue, std::vector<Callable<void()>> enqueue);

// The same by nodes of a graph, which a session runs.
class PANTO_EXPORT QueueRunner {
 public:
  // Calls each of `enqueue` once, which adds the nodes to the open graph whose effects are to happen over and over, and
  // adds two that close the queue. Throws InvalidArgument where one adds nothing that has an effect. `rounds`: each
  // happens so often, then it ends; below 0: there is no such end.
  QueueRunner(const Tensor& queue, const std::vector<Callable<void()>>& enqueue, int64_t rounds = -1);
  // The session must live until the coordinator's threads have ended.
  void start(Session& session, Coordinator& coordinator) const;

 private:
  std::vector<Operation> enqueue_;
  Operation close_, cancel_;
  int64_t rounds_;
};

}  // namespace panto
