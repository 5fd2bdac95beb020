// Comparisons, logic, and selection by a mask.
#include <algorithm>

#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/math/elementwise.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/run_time_checks.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

constexpr const char* kBoolean = "its output is boolean";

bool may_broadcast(const PartialShape& a, const PartialShape& b) {
  const int shared = std::min(a.rank(), b.rank());  // -1 if one is unknown
  for (int k = 1; k <= shared; ++k) {
    const int64_t x = a.dim(a.rank() - k);
    const int64_t y = b.dim(b.rank() - k);
    if (x != y && x > 1 && y > 1) return false;
    if ((x == 0 && y > 1) || (y == 0 && x > 1)) return false;
  }
  return true;
}

// If shapes do not broadcast, that is an error or, if the attribute asks for it, the result is one `false` (for Equal).
void equality_shape(ShapeContext& c) {
  const PartialShape& a = c.shape(0);
  const PartialShape& b = c.shape(1);
  if (a.known_rank() && a == b && a.fully_known()) return c.output(a);
  if (c.flag("incompatible_shape_error")) return shapes::broadcast_two(c);
  if (!may_broadcast(a, b)) return c.output(PartialShape::of_rank(0));
  // Unknown dimensions may not broadcast, so the result's shape is unknown.
  if (!a.fully_known() || !b.fully_known()) return c.output(PartialShape());
  shapes::broadcast_two(c);
}

// If shapes do not broadcast, the result is the same for all examples.
void equality_batch(BatchContext& c) {
  if (may_broadcast(c.shape(0), c.shape(1)) || c.size() < 1) return batching::elementwise(c);
  const auto first = [&](int i) { return c.batched(i) ? gather(c.in(i), 0, 0) : c.in(i); };
  c.set_common(0, std::move(c.again({first(0), first(1)})[0]));
}

bool is_unsigned(DType type) { return DTypeSet{kUint8, kUint16, kUint32, kUint64}.contains(type); }

void select_shape(ShapeContext& c) {
  const PartialShape& condition = c.shape(0);
  if (condition.fully_known() && condition == c.shape(1) && condition == c.shape(2)) return c.output(condition);
  c.output(broadcast_shapes(c.broadcast(0, 1), c.shape(2)));
}

}  // namespace

const Op& kEqual = define_op("Equal(x: T, y: T; incompatible_shape_error: bool = true, T: any) -> (z: bool)",
                             {.doc = "Whether x equals y, element by element; NaN equals nothing. Shapes that do not "
                                     "broadcast give a single `false` if incompatible_shape_error is false.",
                              .traits = {Trait::kElementwise, Trait::kBroadcasts, Trait::kCommutative},
                              .shape = equality_shape,
                              .no_gradient = kBoolean,
                              .flops = flops_each<1>,
                              .types_reason = "nothing compares resources and variants",
                              .batch = equality_batch});

const Op& kNotEqual =
    define_op("NotEqual(x: T, y: T; incompatible_shape_error: bool = true, T: any) -> (z: bool)",
              {.doc = "Whether x differs from y, element by element; NaN differs from everything. Shapes that "
                      "do not broadcast give a single `true` if incompatible_shape_error is false.",
               .traits = {Trait::kElementwise, Trait::kBroadcasts, Trait::kCommutative},
               .shape = equality_shape,
               .no_gradient = kBoolean,
               .flops = flops_each<1>,
               .types_reason = "nothing compares resources and variants",
               .batch = equality_batch});

const Op& kLess =
    define_op("Less(x: T, y: T; T: real) -> (z: bool)", {.doc = "`x < y`, element by element.",
                                                         .traits = {Trait::kElementwise, Trait::kBroadcasts},
                                                         .shape = shapes::broadcast_two,
                                                         .no_gradient = kBoolean,
                                                         .flops = flops_each<1>});

const Op& kLessEqual =
    define_op("LessEqual(x: T, y: T; T: real) -> (z: bool)", {.doc = "`x <= y`, element by element.",
                                                              .traits = {Trait::kElementwise, Trait::kBroadcasts},
                                                              .shape = shapes::broadcast_two,
                                                              .no_gradient = kBoolean,
                                                              .flops = flops_each<1>});

const Op& kGreater =
    define_op("Greater(x: T, y: T; T: real) -> (z: bool)", {.doc = "`x > y`, element by element.",
                                                            .traits = {Trait::kElementwise, Trait::kBroadcasts},
                                                            .shape = shapes::broadcast_two,
                                                            .no_gradient = kBoolean,
                                                            .flops = flops_each<1>});

const Op& kGreaterEqual =
    define_op("GreaterEqual(x: T, y: T; T: real) -> (z: bool)", {.doc = "`x >= y`, element by element.",
                                                                 .traits = {Trait::kElementwise, Trait::kBroadcasts},
                                                                 .shape = shapes::broadcast_two,
                                                                 .no_gradient = kBoolean,
                                                                 .flops = flops_each<1>});

const Op& kLogicalAnd = define_op("LogicalAnd(x: bool, y: bool) -> (z: bool)",
                                  {.doc = "Whether both x and y are true, element by element.",
                                   .traits = {Trait::kElementwise, Trait::kBroadcasts, Trait::kCommutative},
                                   .shape = shapes::broadcast_two,
                                   .no_gradient = kBoolean,
                                   .flops = flops_each<1>});

const Op& kLogicalOr = define_op("LogicalOr(x: bool, y: bool) -> (z: bool)",
                                 {.doc = "Whether x or y or both are true, element by element.",
                                  .traits = {Trait::kElementwise, Trait::kBroadcasts, Trait::kCommutative},
                                  .shape = shapes::broadcast_two,
                                  .no_gradient = kBoolean,
                                  .flops = flops_each<1>});

const Op& kLogicalNot = define_op("LogicalNot(x: bool) -> (y: bool)", {.doc = "Whether x is false, element by element.",
                                                                       .traits = {Trait::kElementwise},
                                                                       .shape = shapes::same_as_input,
                                                                       .no_gradient = kBoolean,
                                                                       .flops = flops_each<1>});

const Op& kSelectV2 = define_op("SelectV2(condition: bool, t: T, e: T; T: any) -> (output: T)",
                                {.doc = "`t` where `condition` is true, `e` elsewhere; all three broadcast.",
                                 .traits = {Trait::kElementwise, Trait::kBroadcasts},
                                 .shape = select_shape,
                                 .saves = {in(0)},
                                 .gradient =
                                     [](GradContext& g) {
                                       if (g.needs(1)) g.set(1, select(g.in(0), g.dy(), 0));
                                       if (g.needs(2)) g.set(2, select(g.in(0), 0, g.dy()));
                                     },
                                 .flops = flops_each<1>});

const Op& kApproximateEqual = define_op(
    "ApproximateEqual(x: T, y: T; T: numeric, tolerance: float = 1e-05) -> (z: bool)",
    {.doc = "Whether |x - y| is at most `tolerance`, which is converted to their type, element by element. Both have "
            "one shape.",
     .body =
         [](CompositeContext& c) {
           const Tensor& x = c.in(0);
           const Tensor y = with_shape_of(c.in(1), x);
           const DType type = x.dtype();
           Tensor distance;
           if (dtypes::kComplex.contains(type)) {
             distance = complex_magnitude(x - y, {.Tout = type == kComplex64 ? kFloat32 : kFloat64});
           } else if (is_unsigned(type)) {
             distance = maximum(x, y) - minimum(x, y);
           } else {
             distance = abs(x - y);
           }
           c.set_out(0, less_equal(distance, cast(constant(tensor(c.real("tolerance")), kFloat32), distance.dtype())));
         },
     .in_tensorflow = true,
     .no_gradient = kBoolean});

}  // namespace panto
