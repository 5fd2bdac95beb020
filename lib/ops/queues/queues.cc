// Queues of elements, each of several tensors. Calls that put in and take out may be on different threads.

#include "panto/lib/core/collections/queue.h"

#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/lists/list_shapes.h"
#include "panto/ops/queues.h"

namespace panto {
namespace {

// The shape function of ops that make queues: a scalar handle. Elements have `components` (such as a priority), then
// those of the attributes.
void queue_shape(ShapeContext& c, std::vector<HandleInfo> components = {}) {
  shapes::scalar(c);
  if (!c.symbolic()) return;
  const auto types = c.types("component_types");
  const AttrSlot& given = c.slot("shapes");
  const std::span<const PartialShape> shapes(static_cast<const PartialShape*>(given.p), given.n);
  for (size_t k = 0; k < types.size(); ++k) {
    components.push_back({types[k], shapes.size() == types.size() ? shapes[k] : PartialShape()});
  }
  auto info = std::make_shared<HandleInfo>();
  info->components = std::move(components);
  c.output_handle(0, std::move(info));
}

// What is known of the components of the queue that input 0 refers to; empty if nothing.
std::vector<HandleInfo> components_of(const ShapeContext& c) {
  c.expect_scalar(0);
  const TensorImpl& handle = *c.in(0).impl();
  if (handle.meta != nullptr)
    return handle.meta->handle == nullptr ? std::vector<HandleInfo>() : handle.meta->handle->components;
  const QueueForm& form = queue_of(c.in(0))->form();
  std::vector<HandleInfo> components;
  for (size_t k = 0; k < form.types.size(); ++k) {
    components.push_back({form.types[k], form.shapes.empty() ? PartialShape() : form.shapes[k]});
  }
  return components;
}

// Eager calls leave these checks to the queue.
void enqueue_shape(ShapeContext& c, bool many) {
  if (!c.symbolic()) return;
  const std::vector<HandleInfo> components = components_of(c);
  const auto count = static_cast<size_t>(c.num_inputs() - 1);
  if (!components.empty() && components.size() != count) {
    invalid("components: expected the queue's {}, got {}", components.size(), count);
  }
  int64_t elements = -1;
  for (int k = 0; k < c.num_inputs() - 1; ++k) {
    PartialShape shape = c.shape(k + 1);
    if (many) {
      c.expect_rank_at_least(k + 1, 1);
      elements = c.merge(elements, c.dim(k + 1, 0), "elements");
      if (shape.known_rank()) shape = PartialShape(shape.dims().subspan(1));
    }
    if (components.empty()) continue;
    const HandleInfo& component = components[static_cast<size_t>(k)];
    if (component.dtype != c.in(k + 1).dtype()) {
      invalid("component {}: expected the queue's {}, got {}", k, dtype_name(component.dtype),
              dtype_name(c.in(k + 1).dtype()));
    }
    if (!component.shape.compatible_with(shape)) {
      invalid("component {}: expected the queue's shape {}, got {}", k, component.shape.to_string(), shape.to_string());
    }
  }
}

// `first`: a leading dimension of the outputs; nullopt: none.
void dequeue_shape(ShapeContext& c, std::optional<int64_t> first) {
  if (!c.symbolic()) return;
  const std::vector<HandleInfo> components = components_of(c);
  if (components.empty()) return;
  const auto types = c.types("component_types");
  if (!std::ranges::equal(types, components, {}, {}, &HandleInfo::dtype)) {
    fail(Code::kInvalidArgument, "component_types: expected the queue's, got others");
  }
  for (size_t k = 0; k < components.size(); ++k) {
    const PartialShape& shape = components[k].shape;
    c.output(static_cast<int>(k), first ? behind(*first, shape) : shape);
  }
}

int64_t count_in(const ShapeContext& c) {
  c.expect_scalar(1);
  const auto known = c.values(1);
  return known && !known->empty() && (*known)[0] ? std::max<int64_t>(-1, *(*known)[0]) : -1;
}

}  // namespace

const Op& kFIFOQueueV2 = define_op(
    "FIFOQueueV2(; component_types: list(type) >= 1, shapes: list(shape) = [], capacity: int = -1, container: string = "
    "\"\", shared_name: string = \"\") -> (handle: resource)",
    {.doc =
         "A handle to the queue `shared_name` (or, without one, of the node's name) in `container`, which is made if "
         "there is none. Elements come out in the order in which they went in. Each is a tensor of each of "
         "`component_types`, of the shape in `shapes` if those are given. It has room for `capacity` elements, "
         "unless that is negative. An eager call without a name makes a new queue.",
     .cpp = "fifo_queue",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = [](ShapeContext& c) { queue_shape(c); },
     .no_gradient = "it has no inputs"});

const Op& kRandomShuffleQueueV2 = define_op(
    "RandomShuffleQueueV2(; component_types: list(type) >= 1, shapes: list(shape) = [], capacity: int = -1, "
    "min_after_dequeue: int = 0, seed: int = 0, seed2: int = 0, container: string = \"\", shared_name: string = \"\") "
    "-> (handle: resource)",
    {.doc = "FIFOQueueV2, but elements come out in random order, and only as long as more than `min_after_dequeue` are "
            "there, until the queue is closed. The order follows from the seeds, as in TensorFlow, unless both are 0.",
     .cpp = "random_shuffle_queue",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = [](ShapeContext& c) { queue_shape(c); },
     .no_gradient = "it has no inputs"});

const Op& kPaddingFIFOQueueV2 = define_op(
    "PaddingFIFOQueueV2(; component_types: list(type) >= 1, shapes: list(shape) = [], capacity: int = -1, container: "
    "string = \"\", shared_name: string = \"\") -> (handle: resource)",
    {.doc = "FIFOQueueV2, but `shapes`, which must be given, may have dimensions that are not known. Where several "
            "elements are taken out at once, those that are smaller than the largest have zeros behind.",
     .cpp = "padding_fifo_queue",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = [](ShapeContext& c) { queue_shape(c); },
     .no_gradient = "it has no inputs"});

const Op& kPriorityQueueV2 = define_op(
    "PriorityQueueV2(; component_types: list(type) = [], shapes: list(shape), capacity: int = -1, container: string = "
    "\"\", shared_name: string = \"\") -> (handle: resource)",
    {.doc = "FIFOQueueV2, but elements have one more component in front, an int64 scalar, and the one in which that is "
            "least comes out first. Of several such, the one that went in first does.",
     .cpp = "priority_queue",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = [](ShapeContext& c) { queue_shape(c, {{kInt64, Shape{}}}); },
     .no_gradient = "it has no inputs"});

const Op& kQueueEnqueueV2 = define_op(
    "QueueEnqueueV2(handle: resource, components: Tcomponents; Tcomponents: list(type) >= 1, timeout_ms: int = -1) -> "
    "()",
    {.doc = "Puts an element into the queue: waits until there is room. Cancelled if the queue is closed.",
     .cpp = "queue_enqueue",
     .effects = {effects::updates(0)},
     .shape = [](ShapeContext& c) { enqueue_shape(c, false); },
     .no_gradient = "it has no outputs"});

const Op& kQueueEnqueueManyV2 = define_op(
    "QueueEnqueueManyV2(handle: resource, components: Tcomponents; Tcomponents: list(type) >= 1, timeout_ms: int = -1) "
    "-> ()",
    {.doc = "Puts several elements into the queue, those along the first dimension of all components, one after the "
            "other as there is room. Cancelled if the queue is closed before all are in.",
     .cpp = "queue_enqueue_many",
     .effects = {effects::updates(0)},
     .shape = [](ShapeContext& c) { enqueue_shape(c, true); },
     .no_gradient = "it has no outputs"});

const Op& kQueueDequeueV2 = define_op(
    "QueueDequeueV2(handle: resource; component_types: list(type) >= 1, timeout_ms: int = -1) -> (components: "
    "component_types)",
    {.doc = "Takes an element out of the queue: waits until there is one. OutOfRange if the queue is closed and has "
            "none.",
     .cpp = "queue_dequeue",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::updates(0)},
     .shape = [](ShapeContext& c) { dequeue_shape(c, std::nullopt); },
     .no_gradient = "what it takes out went in elsewhere"});

const Op& kQueueDequeueManyV2 = define_op(
    "QueueDequeueManyV2(handle: resource, n: int32 @host; component_types: list(type) >= 1, timeout_ms: int = -1) -> "
    "(components: component_types)",
    {.doc = "Takes `n` elements out of the queue, which must have shapes, stacked along a new first dimension: waits "
            "until there are so many. OutOfRange if the queue is closed and has fewer; these stay in it.",
     .cpp = "queue_dequeue_many",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::updates(0)},
     .shape = [](ShapeContext& c) { dequeue_shape(c, count_in(c)); },
     .no_gradient = "what it takes out went in elsewhere"});

const Op& kQueueDequeueUpToV2 = define_op(
    "QueueDequeueUpToV2(handle: resource, n: int32 @host; component_types: list(type) >= 1, timeout_ms: int = -1) -> "
    "(components: component_types)",
    {.doc =
         "QueueDequeueManyV2, but of a queue that is closed and has fewer than `n` elements it takes all. OutOfRange "
         "if there is none.",
     .cpp = "queue_dequeue_up_to",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::updates(0)},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(1);
           dequeue_shape(c, -1);
         },
     .no_gradient = "what it takes out went in elsewhere"});

const Op& kQueueCloseV2 = define_op(
    "QueueCloseV2(handle: resource; cancel_pending_enqueues: bool = false) -> ()",
    {.doc = "Closes the queue: nothing is put in any more. What is in it can still be taken out. Calls that wait for "
            "room are waited for, or, with `cancel_pending_enqueues`, end as Cancelled. Cancelled where the queue was "
            "closed before, unless that is asked for.",
     .cpp = "queue_close",
     .effects = {effects::updates(0)},
     .shape = [](ShapeContext& c) { c.expect_scalar(0); },
     .no_gradient = "it has no outputs"});

const Op& kQueueIsClosedV2 = define_op(  //
    "QueueIsClosedV2(handle: resource) -> (is_closed: bool)", {.doc = "Whether the queue was closed.",
                                                               .cpp = "queue_is_closed",
                                                               .effects = {effects::reads(0)},
                                                               .shape =
                                                                   [](ShapeContext& c) {
                                                                     c.expect_scalar(0);
                                                                     shapes::scalar(c);
                                                                   },
                                                               .no_gradient = "a truth value has none"});

const Op& kQueueSizeV2 = define_op(  //
    "QueueSizeV2(handle: resource) -> (size: int32)", {.doc = "How many elements the queue has.",
                                                       .cpp = "queue_size",
                                                       .effects = {effects::reads(0)},
                                                       .shape =
                                                           [](ShapeContext& c) {
                                                             c.expect_scalar(0);
                                                             shapes::scalar(c);
                                                           },
                                                       .no_gradient = "integers have none"});

}  // namespace panto
