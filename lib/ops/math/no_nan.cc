// Products, quotients and logarithms that are zero where one factor is zero, even if the other is NaN or infinite.
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/math/elementwise.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

// 1 where x is nonzero, else 0.
Tensor one_unless_zero(const Tensor& x) { return cast(not_equal(x, 0), x.dtype()); }

}  // namespace

const Op& kDivNoNan = define_op("DivNoNan(x: T, y: T; T: floating|complex) -> (z: T)",
                                {.doc = "`x / y`, and 0 where y is 0.",
                                 .traits = {Trait::kElementwise, Trait::kBroadcasts},
                                 .shape = shapes::broadcast_two,
                                 .saves = {in(1), out(0)},
                                 .gradient =
                                     [](GradContext& g) {
                                       const Tensor scaled = div_no_nan(g.dy(), g.conj_in(1));
                                       if (g.needs(0)) g.set(0, scaled);
                                       if (g.needs(1)) g.set(1, -scaled * g.conj_out(0));
                                     },
                                 .flops = flops_each<4>});

const Op& kMulNoNan = define_op("MulNoNan(x: T, y: T; T: floating|complex) -> (z: T)",
                                {.doc = "`x * y`, and 0 where y is 0, even if x is infinite or NaN.",
                                 .traits = {Trait::kElementwise, Trait::kBroadcasts},
                                 .shape = shapes::broadcast_two,
                                 .saves = {in(0), in(1)},
                                 .gradient =
                                     [](GradContext& g) {
                                       if (g.needs(0)) g.set(0, mul_no_nan(g.dy(), g.conj_in(1)));
                                       if (g.needs(1)) g.set(1, mul_no_nan(g.conj_in(0), g.dy()));
                                     },
                                 .flops = flops_each<2>});

const Op& kXdivy = define_op("Xdivy(x: T, y: T; T: floating|complex) -> (z: T)",
                             {.doc = "`x / y`, and 0 where x is 0, even if y is 0 or NaN.",
                              .traits = {Trait::kElementwise, Trait::kBroadcasts},
                              .shape = shapes::broadcast_two,
                              .saves = {in(0), in(1)},
                              .gradient =
                                  [](GradContext& g) {
                                    const Tensor &x = g.conj_in(0), &y = g.conj_in(1);
                                    if (g.needs(0)) g.set(0, g.dy() * xdivy(one_unless_zero(x), y));
                                    if (g.needs(1)) g.set(1, g.dy() * xdivy(-x, square(y)));
                                  },
                              .flops = flops_each<4>});

const Op& kXlogy = define_op("Xlogy(x: T, y: T; T: floating|complex) -> (z: T)",
                             {.doc = "`x * log(y)`, and 0 where x is 0, even if y is 0 or NaN.",
                              .traits = {Trait::kElementwise, Trait::kBroadcasts},
                              .shape = shapes::broadcast_two,
                              .saves = {in(0), in(1)},
                              .gradient =
                                  [](GradContext& g) {
                                    const Tensor &x = g.conj_in(0), &y = g.conj_in(1);
                                    if (g.needs(0)) g.set(0, g.dy() * xlogy(one_unless_zero(x), y));
                                    if (g.needs(1)) g.set(1, g.dy() * xdivy(x, y));
                                  },
                              .flops = flops_each<12>});

const Op& kXlog1py = define_op("Xlog1py(x: T, y: T; T: floating|complex) -> (z: T)",
                               {.doc = "`x * log1p(y)`, and 0 where x is 0, even if y is -1 or NaN.",
                                .traits = {Trait::kElementwise, Trait::kBroadcasts},
                                .shape = shapes::broadcast_two,
                                .saves = {in(0), in(1)},
                                .gradient =
                                    [](GradContext& g) {
                                      const Tensor &x = g.conj_in(0), &y = g.conj_in(1);
                                      if (g.needs(0)) g.set(0, g.dy() * xlog1py(one_unless_zero(x), y));
                                      if (g.needs(1)) g.set(1, g.dy() * xdivy(x, y + 1));
                                    },
                                .flops = flops_each<20>});

}  // namespace panto
