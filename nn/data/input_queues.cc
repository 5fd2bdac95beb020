#include "panto/nn/data/input_queues.h"

#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/ops/arrays.h"
#include "panto/ops/array.h"
#include "panto/ops/queues.h"
#include "panto/ops/random.h"

namespace panto {
namespace {

// The types and shapes of a queue element's components.
struct Components {
  std::vector<DType> types;
  std::vector<PartialShape> shapes;
};

Components components_of(const std::vector<Tensor>& tensors, bool many) {
  if (tensors.empty()) fail(Code::kInvalidArgument, "tensors: expected at least one, got none");
  Components components;
  for (const Tensor& t : tensors) {
    const PartialShape& shape = t.partial_shape();
    const bool fits = shape.known_rank() && (!many || shape.rank() > 0);
    const PartialShape of_one = fits && many ? PartialShape(shape.dims().subspan(1)) : shape;
    if (!fits || !of_one.fully_known()) {
      invalid("tensors: expected ones whose elements have known shapes, got shape {}", shape.to_string());
    }
    components.types.push_back(t.dtype());
    components.shapes.push_back(of_one);
  }
  return components;
}

InputQueue batches_of(const Tensor& queue, const std::vector<Tensor>& tensors, const std::vector<DType>& types,
                      int size, int threads, bool many, bool up_to) {
  if (size < 1) invalid("size: expected at least 1, got {}", size);
  if (threads < 1) invalid("threads: expected at least 1, got {}", threads);
  const auto enqueue = [&] { many ? queue_enqueue_many(queue, tensors) : queue_enqueue(queue, tensors); };
  InputQueue result{queue, QueueRunner(queue, std::vector<Callable<void()>>(static_cast<size_t>(threads), enqueue))};
  result.outputs = up_to ? queue_dequeue_up_to(queue, size, types) : queue_dequeue_many(queue, size, types);
  return result;
}

}  // namespace

InputQueue string_input_producer(const Tensor& strings, const ProducerOptions& options) {
  if (strings.dtype() != kString || strings.partial_shape().rank() != 1) {
    invalid("strings: expected a vector of strings, got {}{}", dtype_name(strings.dtype()),
            strings.partial_shape().to_string());
  }
  const Tensor queue =
      named("input_producer", fifo_queue({kString}, {.shapes = {Shape{}}, .capacity = options.capacity}));
  const auto enqueue = [&] {
    Tensor order = strings;
    if (options.shuffle) {
      const Tensor count = size(strings);
      const Tensor drawn = stateful_random_uniform(reshape(count, {1}), kFloat32, {.seed = options.seed});
      order = gather(strings, top_k(drawn, count).indices, 0);
    }
    queue_enqueue_many(queue, {order});
  };
  return {queue, QueueRunner(queue, {enqueue}, options.epochs)};
}

InputQueue batch(const std::vector<Tensor>& tensors, int size, const BatchQueueOptions& options) {
  const Components components = components_of(tensors, options.enqueue_many);
  const Tensor queue =
      named("batch", fifo_queue(components.types, {.shapes = components.shapes, .capacity = options.capacity}));
  return batches_of(queue, tensors, components.types, size, options.threads, options.enqueue_many,
                    options.allow_smaller_final_batch);
}

InputQueue shuffle_batch(const std::vector<Tensor>& tensors, int size, const ShuffleQueueOptions& options) {
  const Components components = components_of(tensors, options.enqueue_many);
  const Tensor queue =
      named("shuffle_batch", random_shuffle_queue(components.types, {.shapes = components.shapes,
                                                                     .capacity = options.capacity,
                                                                     .min_after_dequeue = options.min_after_dequeue,
                                                                     .seed = options.seed}));
  return batches_of(queue, tensors, components.types, size, options.threads, options.enqueue_many,
                    options.allow_smaller_final_batch);
}

}  // namespace panto
