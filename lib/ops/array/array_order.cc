// Ops that reorder elements along dimensions: reversal and rotation.
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

void reverse_shape(ShapeContext& c) {
  c.vector(1);
  c.output(c.shape(0));
  if (c.rank(0) >= 0) c.axes(1, c.rank(0));
}

void roll_shape(ShapeContext& c) {
  const PartialShape &shift = c.shape(1), &axis = c.shape(2);
  c.expect_rank_at_least(0, 1);
  for (const PartialShape* s : {&shift, &axis}) {
    if (s->known_rank() && s->rank() > 1)
      c.invalid("shift and axis: expected scalars or vectors, got " + s->to_string());
  }
  if (!shift.compatible_with(axis)) {
    c.invalid("axis: expected as many as shifts, of shape " + shift.to_string() + ", got " + axis.to_string());
  }
  c.output(c.shape(0));
  const KnownIntegers axes(c, 2);
  for (int64_t i = 0; c.rank(0) >= 0 && axes.counted() && i < axes.count(); ++i) {
    if (axes.known(i)) c.axis(axes[i], c.rank(0));
  }
}

}  // namespace

const Op& kReverse = define_op(
    "ReverseV2(tensor: T, axis: Tidx @host; T: type, Tidx: index = int32) -> (output: T)",
    {.doc = "`tensor` with its elements in reverse order along each dimension in `axis`; negative ones count from the "
            "end.",
     .traits = {Trait::kDataMovement},
     .shape = reverse_shape,
     .saves = {in(1)},
     .gradient = [](GradContext& g) { g.set(0, reverse(g.dy(), g.in(1))); },
     .batch = batching::axes<1>});

const Op& kRoll = define_op(
    "Roll(input: T, shift: Tshift @host, axis: Taxis @host; T: type, Tshift: index, Taxis: index) -> (output: T)",
    {.doc = "`input` moved by `shift[i]` along dimension `axis[i]`, forwards where positive: what leaves at one end "
            "comes in at the other. Shifts of one dimension add up.",
     .traits = {Trait::kDataMovement},
     .shape = roll_shape,
     .saves = {in(1), in(2)},
     .gradient = [](GradContext& g) { g.set(0, roll(g.dy(), neg(g.in(1)), g.in(2))); },
     .batch = batching::axes<2>});

}  // namespace panto
