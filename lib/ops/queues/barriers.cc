// Barriers: values that arrive in several components and are ready once all components are there.

#include <algorithm>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/lists/list_shapes.h"
#include "panto/ops/queues.h"

namespace panto {
namespace {

void barrier_shape(ShapeContext& c) {
  shapes::scalar(c);
  const auto types = c.types("component_types");
  const AttrSlot& given = c.slot("shapes");
  const std::span<const PartialShape> shapes(static_cast<const PartialShape*>(given.p), given.n);
  if (shapes.size() != types.size()) {
    invalid("shapes: expected one for each of {} components, got {}", types.size(), shapes.size());
  }
  for (const PartialShape& shape : shapes) {
    if (!shape.fully_known()) invalid("shapes: expected every dimension to be known, got {}", shape.to_string());
  }
  if (c.integer("capacity") != -1) {
    invalid("capacity: expected -1, since a barrier has no limit, got {}", c.integer("capacity"));
  }
  if (!c.symbolic()) return;
  auto info = std::make_shared<HandleInfo>();
  for (size_t k = 0; k < types.size(); ++k) info->components.push_back({types[k], shapes[k]});
  c.output_handle(0, std::move(info));
}

// What is known of the components of the barrier that input 0 refers to; empty if nothing. Eager calls leave this to
// the kernels.
std::vector<HandleInfo> known_components(const ShapeContext& c) {
  c.expect_scalar(0);
  const TensorImpl& handle = *c.in(0).impl();
  return handle.meta == nullptr || handle.meta->handle == nullptr ? std::vector<HandleInfo>()
                                                                  : handle.meta->handle->components;
}

void insert_shape(ShapeContext& c) {
  const int64_t keys = c.vector(1);
  c.expect_rank_at_least(2, 1);
  c.expect_equal(c.dim(2, 0), keys, "number of values and keys");
  const std::vector<HandleInfo> components = known_components(c);
  if (components.empty()) return;
  const int64_t index = c.integer("component_index");
  if (index < 0 || index >= static_cast<int64_t>(components.size())) {
    invalid("component_index: expected one in [0, {}), got {}", components.size(), index);
  }
  const HandleInfo& component = components[static_cast<size_t>(index)];
  if (component.dtype != c.in(2).dtype()) {
    invalid("values: expected the component's {}, got {}", dtype_name(component.dtype), dtype_name(c.in(2).dtype()));
  }
  if (!component.shape.compatible_with(shape_of_rows(c.shape(2)))) {
    invalid("values: expected the component's shape {}, got {}", component.shape.to_string(),
            shape_of_rows(c.shape(2)).to_string());
  }
}

void take_shape(ShapeContext& c) {
  c.expect_scalar(1);
  if (!c.symbolic()) return;
  const std::vector<HandleInfo> components = known_components(c);
  const auto known = c.values(1);
  // A closed barrier may return fewer elements.
  const bool all = !c.flag("allow_small_batch") && known && !known->empty() && (*known)[0];
  const int64_t count = all ? std::max<int64_t>(-1, *(*known)[0]) : -1;
  c.output(0, PartialShape{count});
  c.output(1, PartialShape{count});
  if (components.size() != c.types("component_types").size()) return;
  for (size_t k = 0; k < components.size(); ++k) {
    c.output(static_cast<int>(k) + 2, behind(count, components[k].shape));
  }
}

void size_shape(ShapeContext& c) {
  c.expect_scalar(0);
  shapes::scalar(c);
}

}  // namespace

const Op& kBarrier = define_op(
    "Barrier(; component_types: list(type) >= 1, shapes: list(shape) = [], capacity: int = -1, container: string = "
    "\"\", shared_name: string = \"\") -> (handle: resource)",
    {.doc = "A handle to the barrier `shared_name` (or, without one, of the node's name) in `container`, which is made "
            "if there is none. Values come into it component by component, by keys. When all components of a key are "
            "there, it is ready to be taken out.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = barrier_shape,
     .no_gradient = "it has no inputs"});

const Op& kBarrierInsertMany = define_op(
    "BarrierInsertMany(handle: resource, keys: string, values: T; T: type, component_index: int) -> ()",
    {.doc =
         "Gives `keys` these values of one component. InvalidArgument for a key that has one, Cancelled for one that "
         "is new to a barrier that is closed.",
     .effects = {effects::updates(0)},
     .shape = insert_shape,
     .no_gradient = "it has no outputs"});

const Op& kBarrierTakeMany = define_op(
    "BarrierTakeMany(handle: resource, num_elements: int32 @host; component_types: list(type) >= 1, allow_small_batch: "
    "bool = false, wait_for_incomplete: bool = false, timeout_ms: int = -1) -> (indices: int64, keys: string, values: "
    "component_types)",
    {.doc = "Takes `num_elements` values that are ready, those first whose keys came first: waits until there are so "
            "many. Of a barrier that is closed `allow_small_batch` takes what is ready. OutOfRange if there will never "
            "be enough. `indices` increase with the calls that keys came in.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::updates(0)},
     .shape = take_shape,
     .no_gradient = "what it takes out went in elsewhere"});

const Op& kBarrierClose = define_op(
    "BarrierClose(handle: resource; cancel_pending_enqueues: bool = false) -> ()",
    {.doc = "Closes the barrier: there will be no new keys. Those that lack components can still get them, unless "
            "`cancel_pending_enqueues` drops them. Cancelled where it was closed before, unless only this time that is "
            "asked for.",
     .effects = {effects::updates(0)},
     .shape = [](ShapeContext& c) { c.expect_scalar(0); },
     .no_gradient = "it has no outputs"});

const Op& kBarrierReadySize = define_op(  //
    "BarrierReadySize(handle: resource) -> (size: int32)", {.doc = "How many keys have all components.",
                                                            .effects = {effects::reads(0)},
                                                            .shape = size_shape,
                                                            .no_gradient = "integers have none"});

const Op& kBarrierIncompleteSize = define_op(  //
    "BarrierIncompleteSize(handle: resource) -> (size: int32)", {.doc = "How many keys lack components.",
                                                                 .effects = {effects::reads(0)},
                                                                 .shape = size_shape,
                                                                 .no_gradient = "integers have none"});

}  // namespace panto
