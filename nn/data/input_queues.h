// Pipelines of queues in a graph, as TensorFlow 1 has them: names of files, threads that read them, batches.
//
//   InputQueue files = string_input_producer(tensor({"a.txt", "b.txt"}), {.epochs = 1});
//   const Tensor reader = text_line_reader();
//   InputQueue lines = batch({reader_read(reader, files.queue).value}, 8, {.threads = 2});
//   const Tensor eight = lines.outputs[0];
//   ...
//   Coordinator coordinator;
//   for (const InputQueue* q : {&files, &lines}) q->runner.start(session, coordinator);
//   while (...) session.run(eight);  // OutOfRange at the end
//   coordinator.request_stop();
//   coordinator.join();
//
// Each function adds nodes to the open graph. The threads start when `runner` is started.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/nn/data/queue_runner.h"

namespace panto {

struct InputQueue {
  Tensor queue;
  QueueRunner runner;
  std::vector<Tensor> outputs = {};  // what a session runs to take elements out of the queue
};

struct ProducerOptions {
  int64_t epochs = -1;  // how often each string is produced; below 0: without end
  bool shuffle = true;  // in a new order in each epoch
  int64_t seed = 0;     // of that order; 0: a random seed
  int64_t capacity = 32;
};

// A queue that produces the elements of a vector of strings one after the other, for a reader. Throws InvalidArgument
// for another tensor.
PANTO_EXPORT InputQueue string_input_producer(const Tensor& strings, const ProducerOptions& options = {});

struct BatchQueueOptions {
  int threads = 1;  // threads that compute `tensors` and enqueue them
  int64_t capacity = 32;
  bool enqueue_many = false;               // `tensors` have elements along their first dimension
  bool allow_smaller_final_batch = false;  // at the end; otherwise the rest is dropped
};

// Dequeues `size` elements at a time from a queue that threads fill with `tensors`. All dimensions of the tensors must
// be known; the tensors of one run form one element. Each thread runs its own copy of the nodes that the enqueueing
// node waits for.
PANTO_EXPORT InputQueue batch(const std::vector<Tensor>& tensors, int size, const BatchQueueOptions& options = {});

struct ShuffleQueueOptions {
  int threads = 1;
  int64_t capacity = 32;
  int64_t min_after_dequeue = 16;  // elements that stay in the queue, so that there is a choice to draw from
  int64_t seed = 0;                // 0: a random seed
  bool enqueue_many = false;
  bool allow_smaller_final_batch = false;
};

// The same, with elements in random order.
PANTO_EXPORT InputQueue shuffle_batch(const std::vector<Tensor>& tensors, int size,
                                      const ShuffleQueueOptions& options = {});

}  // namespace panto
