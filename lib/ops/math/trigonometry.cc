// Trigonometric and hyperbolic functions, and their inverses. Tanh is in lib/ops/nn/activations.cc, Sin and Cos in
// math.cc.
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/math/elementwise.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {

const Op& kTan = define_op("Tan(x: T; T: floating|complex) -> (y: T)",
                           {.doc = "Tangent of x in radians.",
                            .traits = {Trait::kElementwise},
                            .shape = shapes::same_as_input,
                            .saves = {out(0)},
                            .gradient = [](GradContext& g) { g.set(0, g.dy() * (1 + square(g.conj_out(0)))); },
                            .flops = flops_each<24>});

const Op& kAsin = define_op("Asin(x: T; T: floating|complex) -> (y: T)",
                            {.doc = "The angle in radians, between -pi/2 and pi/2, whose sine is x; NaN for |x| > 1.",
                             .traits = {Trait::kElementwise},
                             .shape = shapes::same_as_input,
                             .saves = {in(0)},
                             .gradient = [](GradContext& g) { g.set(0, g.dy() * rsqrt(1 - square(g.conj_in(0)))); },
                             .flops = flops_each<24>});

const Op& kAcos = define_op("Acos(x: T; T: floating|complex) -> (y: T)",
                            {.doc = "The angle in radians, between 0 and pi, whose cosine is x; NaN for |x| > 1.",
                             .traits = {Trait::kElementwise},
                             .shape = shapes::same_as_input,
                             .saves = {in(0)},
                             .gradient = [](GradContext& g) { g.set(0, -g.dy() * rsqrt(1 - square(g.conj_in(0)))); },
                             .flops = flops_each<24>});

const Op& kAtan = define_op("Atan(x: T; T: floating|complex) -> (y: T)",
                            {.doc = "The angle in radians, between -pi/2 and pi/2, whose tangent is x.",
                             .traits = {Trait::kElementwise},
                             .shape = shapes::same_as_input,
                             .saves = {in(0)},
                             .gradient = [](GradContext& g) { g.set(0, g.dy() / (1 + square(g.conj_in(0)))); },
                             .flops = flops_each<24>});

const Op& kSinh = define_op("Sinh(x: T; T: floating|complex) -> (y: T)",
                            {.doc = "Hyperbolic sine, `(exp(x) - exp(-x)) / 2`.",
                             .traits = {Trait::kElementwise},
                             .shape = shapes::same_as_input,
                             .saves = {in(0)},
                             .gradient = [](GradContext& g) { g.set(0, g.dy() * cosh(g.conj_in(0))); },
                             .flops = flops_each<24>});

const Op& kCosh = define_op("Cosh(x: T; T: floating|complex) -> (y: T)",
                            {.doc = "Hyperbolic cosine, `(exp(x) + exp(-x)) / 2`.",
                             .traits = {Trait::kElementwise},
                             .shape = shapes::same_as_input,
                             .saves = {in(0)},
                             .gradient = [](GradContext& g) { g.set(0, g.dy() * sinh(g.conj_in(0))); },
                             .flops = flops_each<24>});

const Op& kAsinh = define_op("Asinh(x: T; T: floating|complex) -> (y: T)",
                             {.doc = "The number whose hyperbolic sine is x.",
                              .traits = {Trait::kElementwise},
                              .shape = shapes::same_as_input,
                              .saves = {out(0)},
                              .gradient = [](GradContext& g) { g.set(0, g.dy() / cosh(g.conj_out(0))); },
                              .flops = flops_each<32>});

const Op& kAcosh = define_op("Acosh(x: T; T: floating|complex) -> (y: T)",
                             {.doc = "The number of at least 0 whose hyperbolic cosine is x; NaN for x < 1.",
                              .traits = {Trait::kElementwise},
                              .shape = shapes::same_as_input,
                              .saves = {out(0)},
                              .gradient = [](GradContext& g) { g.set(0, g.dy() / sinh(g.conj_out(0))); },
                              .flops = flops_each<32>});

const Op& kAtanh = define_op("Atanh(x: T; T: floating|complex) -> (y: T)",
                             {.doc = "The number whose hyperbolic tangent is x; NaN for |x| > 1, infinite at 1 and -1.",
                              .traits = {Trait::kElementwise},
                              .shape = shapes::same_as_input,
                              .saves = {in(0)},
                              .gradient = [](GradContext& g) { g.set(0, g.dy() / (1 - square(g.conj_in(0)))); },
                              .flops = flops_each<32>});

const Op& kAtan2 = define_op("Atan2(y: T, x: T; T: floating) -> (z: T)",
                             {.doc = "The angle in radians, between -pi and pi, of the point (x, y).",
                              .traits = {Trait::kElementwise, Trait::kBroadcasts},
                              .shape = shapes::broadcast_two,
                              .saves = {in(0), in(1)},
                              .gradient =
                                  [](GradContext& g) {
                                    const Tensor &y = g.in(0), &x = g.in(1);
                                    const Tensor scaled = g.dy() / (square(x) + square(y));
                                    if (g.needs(0)) g.set(0, scaled * x);
                                    if (g.needs(1)) g.set(1, -scaled * y);
                                  },
                              .flops = flops_each<32>});

}  // namespace panto
