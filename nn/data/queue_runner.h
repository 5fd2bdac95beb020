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

// Calls each function of `enqueue` over and over on a thread of its own, until the coordinator is asked to stop. A
// thread ends when its function throws OutOfRange (end of input) or Cancelled (the queue was closed); when the last
// thread has ended, `queue` is closed, and its elements can still be dequeued. Any other error asks the coordinator to
// stop. On that request the queue is closed and pending enqueues are cancelled.
PANTO_EXPORT void fill_queue(Coordinator& coordinator, const Tensor& queue, std::vector<Callable<void()>> enqueue);

// The same with nodes of a graph, which a session runs.
class PANTO_EXPORT QueueRunner {
 public:
  // Calls each function of `enqueue` once; the function adds to the open graph the nodes whose effects are to be
  // repeated. Also adds two nodes that close the queue. Throws InvalidArgument if a function adds no node with an
  // effect. `rounds`: how often each is run, then its thread ends; below 0: without limit.
  QueueRunner(const Tensor& queue, const std::vector<Callable<void()>>& enqueue, int64_t rounds = -1);
  // The session must live until the coordinator's threads have ended.
  void start(Session& session, Coordinator& coordinator) const;

 private:
  std::vector<Operation> enqueue_;
  Operation close_, cancel_;
  int64_t rounds_;
};

}  // namespace panto
