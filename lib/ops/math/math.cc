// Elementwise functions of one tensor.
#include "panto/ops/math.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/math/elementwise.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"

namespace panto {

const Op& kNeg = define_op(
    "Neg(x: T; T: floating|complex|signed) -> (y: T)",
    {.doc = "`-x`. The smallest integer is its own negative.",
     .traits = {Trait::kElementwise},
     .shape =
         shapes::unary_integers<[](int64_t x, int64_t) { return x == INT64_MIN ? std::nullopt : std::optional(-x); }>,
     .gradient = [](GradContext& g) { g.set(0, -g.dy()); },
     .flops = flops_each<1>});

const Op& kConj = define_op("Conj(input: T; T: complex = complex64) -> (output: T)",
                            {.doc = "The complex conjugate: imaginary parts change sign.",
                             .traits = {Trait::kElementwise},
                             .shape = shapes::same_as_input,
                             .gradient = [](GradContext& g) { g.set(0, conj(g.dy())); },
                             .flops = flops_each<1>});

const Op& kAbs = define_op("Abs(x: T; T: floating|signed) -> (y: T)",
                           {.doc = "`|x|`. The smallest integer stays as it is.",
                            .traits = {Trait::kElementwise},
                            .shape = shapes::same_as_input,
                            .saves = {in(0)},
                            .gradient = [](GradContext& g) { g.set(0, g.dy() * sign(g.in(0))); },
                            .flops = flops_each<1>});

const Op& kSign = define_op("Sign(x: T; T: floating|complex|signed) -> (y: T)",
                            {.doc = "-1, 0 or 1, as x is negative, zero or positive; NaN for NaN.",
                             .traits = {Trait::kElementwise},
                             .shape = shapes::same_as_input,
                             .gradient =
                                 [](GradContext& g) {
                                   // The complex sign x / |x| rotates with x.
                                   if (dtypes::kComplex.contains(g.in_type(0))) {
                                     failf(Code::kUnimplemented, "gradient of Sign: expected a real type, got {}",
                                           dtype_name(g.in_type(0)));
                                   }
                                   g.set(0, zeros_like(g.dy()));
                                 },
                             .flops = flops_each<2>});

const Op& kFloor = define_op("Floor(x: T; T: floating) -> (y: T)",
                             {.doc = "The largest whole number that is at most x.",
                              .traits = {Trait::kElementwise},
                              .shape = shapes::same_as_input,
                              .no_gradient = "steps are flat, and not differentiable where they jump",
                              .flops = flops_each<1>});

const Op& kCeil = define_op("Ceil(x: T; T: floating) -> (y: T)",
                            {.doc = "The smallest whole number that is at least x.",
                             .traits = {Trait::kElementwise},
                             .shape = shapes::same_as_input,
                             .no_gradient = "steps are flat, and not differentiable where they jump",
                             .flops = flops_each<1>});

const Op& kRint = define_op("Rint(x: T; T: floating) -> (y: T)",
                            {.doc = "The nearest whole number; the even one of two that are equally near.",
                             .traits = {Trait::kElementwise},
                             .shape = shapes::same_as_input,
                             .no_gradient = "steps are flat, and not differentiable where they jump",
                             .flops = flops_each<1>});

const Op& kRound = define_op("Round(x: T; T: floating|signed) -> (y: T)",
                             {.doc = "The nearest whole number; the even one of two that are equally near, as NumPy "
                                     "and TensorFlow have it. Integers stay as they are.",
                              .traits = {Trait::kElementwise},
                              .shape = shapes::same_as_input,
                              .no_gradient = "steps are flat, and not differentiable where they jump",
                              .flops = flops_each<1>});

const Op& kIsNan =
    define_op("IsNan(x: T; T: floating) -> (y: bool)", {.doc = "Whether x is NaN, element by element.",
                                                        .cpp = "isnan",
                                                        .traits = {Trait::kElementwise},
                                                        .shape = shapes::same_as_input,
                                                        .no_gradient = "truth values are not differentiable",
                                                        .flops = flops_each<1>});

const Op& kIsInf = define_op("IsInf(x: T; T: floating) -> (y: bool)",
                             {.doc = "Whether x is one of the two infinities, element by element.",
                              .cpp = "isinf",
                              .traits = {Trait::kElementwise},
                              .shape = shapes::same_as_input,
                              .no_gradient = "truth values are not differentiable",
                              .flops = flops_each<1>});

const Op& kIsFinite = define_op("IsFinite(x: T; T: floating) -> (y: bool)",
                                {.doc = "Whether x is neither NaN nor infinite, element by element.",
                                 .cpp = "isfinite",
                                 .traits = {Trait::kElementwise},
                                 .shape = shapes::same_as_input,
                                 .no_gradient = "truth values are not differentiable",
                                 .flops = flops_each<1>});

const Op& kSquare = define_op("Square(x: T; T: numeric) -> (y: T)",
                              {.doc = "`x * x`.",
                               .traits = {Trait::kElementwise},
                               .shape = shapes::same_as_input,
                               .saves = {in(0)},
                               .gradient = [](GradContext& g) { g.set(0, g.dy() * (2 * g.conj_in(0))); },
                               .flops = flops_each<1>});

const Op& kSqrt = define_op("Sqrt(x: T; T: floating|complex) -> (y: T)",
                            {.doc = "Square root; NaN for negative numbers.",
                             .traits = {Trait::kElementwise},
                             .shape = shapes::same_as_input,
                             .saves = {out(0)},
                             .gradient = [](GradContext& g) { g.set(0, 0.5 * g.dy() / g.conj_out(0)); },
                             .flops = flops_each<4>});

const Op& kRsqrt =
    define_op("Rsqrt(x: T; T: floating|complex) -> (y: T)", {.doc = "`1 / sqrt(x)`.",
                                                             .traits = {Trait::kElementwise},
                                                             .shape = shapes::same_as_input,
                                                             .saves = {out(0)},
                                                             .gradient =
                                                                 [](GradContext& g) {
                                                                   const Tensor& y = g.conj_out(0);
                                                                   g.set(0, -0.5 * g.dy() * (y * square(y)));
                                                                 },
                                                             .flops = flops_each<8>});

const Op& kReciprocal = define_op("Reciprocal(x: T; T: floating|complex|signed) -> (y: T)",
                                  {.doc = "`1 / x`.",
                                   .aliases = {"Inv"},
                                   .traits = {Trait::kElementwise},
                                   .shape = shapes::same_as_input,
                                   .saves = {out(0)},
                                   .gradient = [](GradContext& g) { g.set(0, -g.dy() * square(g.conj_out(0))); },
                                   .flops = flops_each<4>});

const Op& kExp = define_op("Exp(x: T; T: floating|complex) -> (y: T)",
                           {.doc = "e to the power x.",
                            .traits = {Trait::kElementwise},
                            .shape = shapes::same_as_input,
                            .saves = {out(0)},
                            .gradient = [](GradContext& g) { g.set(0, g.dy() * g.conj_out(0)); },
                            .flops = flops_each<8>});

const Op& kExpm1 = define_op("Expm1(x: T; T: floating|complex) -> (y: T)",
                             {.doc = "`exp(x) - 1`, accurate also near zero.",
                              .traits = {Trait::kElementwise},
                              .shape = shapes::same_as_input,
                              .saves = {in(0)},
                              .gradient = [](GradContext& g) { g.set(0, g.dy() * exp(g.conj_in(0))); },
                              .flops = flops_each<12>});

const Op& kLog = define_op("Log(x: T; T: floating|complex) -> (y: T)",
                           {.doc = "Natural logarithm; -inf for zero, NaN for negative numbers.",
                            .traits = {Trait::kElementwise},
                            .shape = shapes::same_as_input,
                            .saves = {in(0)},
                            .gradient = [](GradContext& g) { g.set(0, g.dy() / g.conj_in(0)); },
                            .flops = flops_each<8>});

const Op& kLog1p = define_op("Log1p(x: T; T: floating|complex) -> (y: T)",
                             {.doc = "`log(1 + x)`, accurate also near zero.",
                              .traits = {Trait::kElementwise},
                              .shape = shapes::same_as_input,
                              .saves = {in(0)},
                              .gradient = [](GradContext& g) { g.set(0, g.dy() / (1 + g.conj_in(0))); },
                              .flops = flops_each<16>});

const Op& kSin = define_op("Sin(x: T; T: floating|complex) -> (y: T)",
                           {.doc = "Sine of x in radians.",
                            .traits = {Trait::kElementwise},
                            .shape = shapes::same_as_input,
                            .saves = {in(0)},
                            .gradient = [](GradContext& g) { g.set(0, g.dy() * cos(g.conj_in(0))); },
                            .flops = flops_each<16>});

const Op& kCos = define_op("Cos(x: T; T: floating|complex) -> (y: T)",
                           {.doc = "Cosine of x in radians.",
                            .traits = {Trait::kElementwise},
                            .shape = shapes::same_as_input,
                            .saves = {in(0)},
                            .gradient = [](GradContext& g) { g.set(0, -g.dy() * sin(g.conj_in(0))); },
                            .flops = flops_each<16>});

const Op& kErf = define_op("Erf(x: T; T: floating) -> (y: T)",
                           {.doc = "Error function: 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x.",
                            .traits = {Trait::kElementwise},
                            .shape = shapes::same_as_input,
                            .saves = {in(0)},
                            .gradient =
                                [](GradContext& g) {
                                  constexpr double kTwoOverRootPi = 1.1283791670955126;
                                  g.set(0, kTwoOverRootPi * g.dy() * exp(-square(g.in(0))));
                                },
                            .flops = flops_each<20>});

const Op& kErfc =
    define_op("Erfc(x: T; T: floating) -> (y: T)", {.doc = "`1 - erf(x)`, accurate also where that is close to 0.",
                                                    .traits = {Trait::kElementwise},
                                                    .shape = shapes::same_as_input,
                                                    .saves = {in(0)},
                                                    .gradient =
                                                        [](GradContext& g) {
                                                          constexpr double kTwoOverRootPi = 1.1283791670955126;
                                                          g.set(0, -kTwoOverRootPi * g.dy() * exp(-square(g.in(0))));
                                                        },
                                                    .flops = flops_each<24>});

}  // namespace panto
