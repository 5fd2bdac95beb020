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
// All of them add nodes to the open graph. Threads run when `runner` is started.
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
  std::vector<Tensor> outputs = {};  // what a run takes out of it
};

struct ProducerOptions {
  int64_t epochs = -1;  // how often each string comes; below 0: there is no end
  bool shuffle = true;  // in another order in each epoch
  int64_t seed = 0;     // of that order; 0: one that is drawn
  int64_t capacity = 32;
};

// A queue of the elements of a vector of strings, one after the other, for a reader. Throws InvalidArgument for another
// tensor.
PANTO_EXPORT InputQueue string_input_producer(const Tensor& strings, const ProducerOptions& options = {});

struct BatchQueueOptions {
  int threads = 1;  // that run what `tensors` are made of
  int64_t capacity = 32;
  bool enqueue_many = false;               // `tensors` have elements along their first dimension
  bool allow_smaller_final_batch = false;  // at the end; else what is left is not taken
};

// Takes `size` elements at a time out of a queue that threads fill with `tensors`, of which every dimension must be
// known: those of the same run are one element. Each thread runs a copy of what the enqueueing node waits for.
PANTO_EXPORT InputQueue batch(const std::vector<Tensor>& tensors, int size, const BatchQueueOptions& options = {});

struct ShuffleQueueOptions {
  int threads = 1;
  int64_t capacity = 32;
  int64_t min_after_dequeue = 16;  // elements that stay, for others to be drawn among
  int64_t seed = 0;                // 0: one that is drawn
  bool enqueue_many = false;
  bool allow_smaller_final_batch = false;
};

// The same, with elements in random order.
PANTO_EXPORT InputQueue shuffle_batch(const std::vector<Tensor>& tensors, int size,
                                      const ShuffleQueueOptions& options = {});

}  // namespace panto
