// Special functions: gamma's logarithm and its derivatives, inverses of the error function, integrals, Bessel
// functions. Formulas of derivatives: Abramowitz and Stegun, Handbook of Mathematical Functions, chapters 6, 7, 9, 23
// and 27.
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/math/elementwise.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

constexpr double kHalfPi = 1.5707963267948966;

// f1' = f0 - f1 / x; 1/2 at zero.
Tensor slope_of_first(const Tensor& zeroth, const Tensor& first, const Tensor& x) {
  const Tensor at_zero = equal(x, 0);
  return select(at_zero, 0.5, zeroth - first / select(at_zero, 1, x));
}

// For ops that only have kernels for float32 and float64.
Tensor widened(const Tensor& x) { return x.dtype() == kFloat16 || x.dtype() == kBFloat16 ? cast(x, kFloat32) : x; }

// The derivative of Igamma by x is x^(a - 1) exp(-x) / gamma(a); that of Igammac is its negative.
void incomplete_gamma_gradient(GradContext& g, bool upper) {
  const Tensor &a = g.in(0), &x = g.in(1);
  const Tensor dy = upper ? -g.dy() : g.dy();
  if (g.needs(0)) g.set(0, dy * cast(igamma_grad_a(widened(a), widened(x)), x.dtype()));
  if (g.needs(1)) g.set(1, dy * exp(xlogy(a - 1, x) - x - lgamma(a)));
}

// Inputs must be scalars or have the same shape.
void scalars_or_one_shape(ShapeContext& c) {
  PartialShape shape = PartialShape::of_rank(0);
  for (int i = 0; i < c.num_inputs(); ++i) {
    const PartialShape& given = c.shape(i);
    if (given.rank() == 0 || shape == given) continue;
    if (!shape.known_rank() || !given.known_rank()) {
      shape = PartialShape::unknown();
    } else if (shape.rank() == 0) {
      shape = given;
    } else if (!shape.compatible_with(given)) {
      invalid("{}: expected a scalar or shape {}, got {}", c.op().signature().inputs[static_cast<size_t>(i)].name,
              shape.to_string(), given.to_string());
    } else {
      shape = shape.merged_with(given);
    }
  }
  c.output(shape);
}

// The batch rule: broadcasts all inputs to the shape of the result.
void spread_batch(BatchContext& c) {
  const int rank = c.out_shape().rank();
  if (rank < 0) return c.loop();
  std::vector<Tensor> inputs;
  for (int i = 0; i < 3; ++i) {
    inputs.push_back(broadcast_to(c.batched(i) ? c.with_rank(i, rank) : c.in(i), c.with_size(c.out_shape())));
  }
  c.set_all(c.again(inputs));
}

}  // namespace

const Op& kLgamma = define_op("Lgamma(x: T; T: floating) -> (y: T)",
                              {.doc = "`log(|gamma(x)|)`; infinite at 0, -1, -2, ...",
                               .traits = {Trait::kElementwise},
                               .shape = shapes::same_as_input,
                               .saves = {in(0)},
                               .gradient = [](GradContext& g) { g.set(0, g.dy() * digamma(g.in(0))); },
                               .flops = flops_each<50>});

const Op& kDigamma = define_op("Digamma(x: T; T: floating) -> (y: T)",
                               {.doc = "The derivative of Lgamma; NaN at 0, -1, -2, ...",
                                .traits = {Trait::kElementwise},
                                .shape = shapes::same_as_input,
                                .saves = {in(0)},
                                .gradient =
                                    [](GradContext& g) {
                                      // Polygamma only has kernels for float32 and float64.
                                      const Tensor& x = g.in(0);
                                      const bool half = x.dtype() == kFloat16 || x.dtype() == kBFloat16;
                                      const Tensor wide = half ? cast(x, kFloat32) : x;
                                      const Tensor slope = polygamma(ones_like(wide), wide);
                                      g.set(0, g.dy() * (half ? cast(slope, x.dtype()) : slope));
                                    },
                                .flops = flops_each<50>});

const Op& kPolygamma =
    define_op("Polygamma(a: T, x: T; T: float32|float64) -> (z: T)",
              {.doc = "Derivative a of Digamma at x; NaN unless a is a whole number of at least 0. TensorFlow has no "
                      "gradient with respect to a.",
               .traits = {Trait::kElementwise, Trait::kBroadcasts},
               .shape = shapes::broadcast_two,
               .saves = {in(0), in(1)},
               .gradient =
                   [](GradContext& g) {
                     if (g.needs(1)) g.set(1, g.dy() * polygamma(g.in(0) + 1, g.in(1)));
                   },
               .flops = flops_each<200>});

const Op& kZeta = define_op("Zeta(x: T, q: T; T: float32|float64) -> (z: T)",
                            {.doc = "Hurwitz's zeta function, the sum of `(q + k)^-x` over k = 0, 1, ...; infinite for "
                                    "x = 1, NaN for x < 1. TensorFlow has no gradient with respect to x.",
                             .traits = {Trait::kElementwise, Trait::kBroadcasts},
                             .shape = shapes::broadcast_two,
                             .saves = {in(0), in(1)},
                             .gradient =
                                 [](GradContext& g) {
                                   const Tensor& x = g.in(0);
                                   if (g.needs(1)) g.set(1, -g.dy() * x * zeta(x + 1, g.in(1)));
                                 },
                             .flops = flops_each<200>});

const Op& kErfinv =
    define_op("Erfinv(x: T; T: floating) -> (y: T)", {.doc = "The number whose Erf is x; NaN for |x| > 1.",
                                                      .traits = {Trait::kElementwise},
                                                      .shape = shapes::same_as_input,
                                                      .saves = {out(0)},
                                                      .gradient =
                                                          [](GradContext& g) {
                                                            constexpr double kHalfRootPi = 0.886226925452758;
                                                            g.set(0, kHalfRootPi * g.dy() * exp(square(g.out(0))));
                                                          },
                                                      .flops = flops_each<50>});

const Op& kNdtri = define_op("Ndtri(x: T; T: floating) -> (y: T)",
                             {.doc = "The quantile of the standard normal distribution: the number below which a "
                                     "normal one is with probability x.",
                              .traits = {Trait::kElementwise},
                              .shape = shapes::same_as_input,
                              .saves = {out(0)},
                              .gradient =
                                  [](GradContext& g) {
                                    constexpr double kRootTwoPi = 2.5066282746310002;
                                    g.set(0, kRootTwoPi * g.dy() * exp(0.5 * square(g.out(0))));
                                  },
                              .flops = flops_each<50>});

const Op& kExpint =
    define_op("Expint(x: T; T: floating) -> (y: T)",
              {.doc = "The exponential integral Ei: the integral of `exp(t) / t` up to x. NaN for x < 0.",
               .traits = {Trait::kElementwise},
               .shape = shapes::same_as_input,
               .saves = {in(0)},
               .gradient = [](GradContext& g) { g.set(0, g.dy() * exp(g.in(0)) / g.in(0)); },
               .flops = flops_each<100>});

const Op& kDawsn = define_op("Dawsn(x: T; T: floating) -> (y: T)",
                             {.doc = "Dawson's integral: `exp(-x * x)` times the integral of `exp(t * t)` from 0 to x.",
                              .cpp = "dawsn",
                              .traits = {Trait::kElementwise},
                              .shape = shapes::same_as_input,
                              .saves = {in(0), out(0)},
                              .gradient = [](GradContext& g) { g.set(0, g.dy() * (1 - 2 * g.in(0) * g.out(0))); },
                              .flops = flops_each<100>});

const Op& kSpence = define_op("Spence(x: T; T: floating) -> (y: T)",
                              {.doc = "Spence's function, the dilogarithm of 1 - x: the integral of `log(t) / (1 - t)` "
                                      "from 1 to x. NaN for x < 0.",
                               .traits = {Trait::kElementwise},
                               .shape = shapes::same_as_input,
                               .saves = {in(0)},
                               .gradient =
                                   [](GradContext& g) {
                                     const Tensor& x = g.in(0);
                                     const Tensor at_one = equal(x, 1);
                                     const Tensor safe = select(at_one, 2, x);
                                     g.set(0, g.dy() * select(at_one, -1, log(safe) / (1 - safe)));
                                   },
                               .flops = flops_each<100>});

const Op& kBesselJ0 = define_op("BesselJ0(x: T; T: floating) -> (y: T)",
                                {.doc = "Bessel function of the first kind of order 0.",
                                 .cpp = "bessel_j0",
                                 .traits = {Trait::kElementwise},
                                 .shape = shapes::same_as_input,
                                 .saves = {in(0)},
                                 .gradient = [](GradContext& g) { g.set(0, -g.dy() * bessel_j1(g.in(0))); },
                                 .flops = flops_each<100>});

const Op& kBesselJ1 = define_op("BesselJ1(x: T; T: floating) -> (y: T)",
                                {.doc = "Bessel function of the first kind of order 1.",
                                 .cpp = "bessel_j1",
                                 .traits = {Trait::kElementwise},
                                 .shape = shapes::same_as_input,
                                 .saves = {in(0), out(0)},
                                 .gradient =
                                     [](GradContext& g) {
                                       const Tensor& x = g.in(0);
                                       g.set(0, g.dy() * slope_of_first(bessel_j0(x), g.out(0), x));
                                     },
                                 .flops = flops_each<100>});

const Op& kBesselY0 = define_op("BesselY0(x: T; T: floating) -> (y: T)",
                                {.doc = "Bessel function of the second kind of order 0; -inf for x <= 0.",
                                 .cpp = "bessel_y0",
                                 .traits = {Trait::kElementwise},
                                 .shape = shapes::same_as_input,
                                 .saves = {in(0)},
                                 .gradient = [](GradContext& g) { g.set(0, -g.dy() * bessel_y1(g.in(0))); },
                                 .flops = flops_each<100>});

const Op& kBesselY1 = define_op("BesselY1(x: T; T: floating) -> (y: T)",
                                {.doc = "Bessel function of the second kind of order 1; -inf for x <= 0.",
                                 .cpp = "bessel_y1",
                                 .traits = {Trait::kElementwise},
                                 .shape = shapes::same_as_input,
                                 .saves = {in(0), out(0)},
                                 .gradient =
                                     [](GradContext& g) {
                                       const Tensor& x = g.in(0);
                                       g.set(0, g.dy() * (bessel_y0(x) - g.out(0) / x));
                                     },
                                 .flops = flops_each<100>});

const Op& kBesselI0 = define_op("BesselI0(x: T; T: floating) -> (y: T)",
                                {.doc = "Modified Bessel function of the first kind of order 0.",
                                 .cpp = "bessel_i0",
                                 .traits = {Trait::kElementwise},
                                 .shape = shapes::same_as_input,
                                 .saves = {in(0)},
                                 .gradient = [](GradContext& g) { g.set(0, g.dy() * bessel_i1(g.in(0))); },
                                 .flops = flops_each<100>});

const Op& kBesselI1 = define_op("BesselI1(x: T; T: floating) -> (y: T)",
                                {.doc = "Modified Bessel function of the first kind of order 1.",
                                 .cpp = "bessel_i1",
                                 .traits = {Trait::kElementwise},
                                 .shape = shapes::same_as_input,
                                 .saves = {in(0), out(0)},
                                 .gradient =
                                     [](GradContext& g) {
                                       const Tensor& x = g.in(0);
                                       g.set(0, g.dy() * slope_of_first(bessel_i0(x), g.out(0), x));
                                     },
                                 .flops = flops_each<100>});

const Op& kBesselI0e =
    define_op("BesselI0e(x: T; T: floating) -> (y: T)", {.doc = "`exp(-|x|) * bessel_i0(x)`, without overflow.",
                                                         .cpp = "bessel_i0e",
                                                         .traits = {Trait::kElementwise},
                                                         .shape = shapes::same_as_input,
                                                         .saves = {in(0), out(0)},
                                                         .gradient =
                                                             [](GradContext& g) {
                                                               const Tensor& x = g.in(0);
                                                               g.set(0, g.dy() * (bessel_i1e(x) - sign(x) * g.out(0)));
                                                             },
                                                         .flops = flops_each<100>});

const Op& kBesselI1e =
    define_op("BesselI1e(x: T; T: floating) -> (y: T)",
              {.doc = "`exp(-|x|) * bessel_i1(x)`, without overflow.",
               .cpp = "bessel_i1e",
               .traits = {Trait::kElementwise},
               .shape = shapes::same_as_input,
               .saves = {in(0), out(0)},
               .gradient =
                   [](GradContext& g) {
                     const Tensor& x = g.in(0);
                     g.set(0, g.dy() * (slope_of_first(bessel_i0e(x), g.out(0), x) - sign(x) * g.out(0)));
                   },
               .flops = flops_each<100>});

const Op& kBesselK0 = define_op("BesselK0(x: T; T: floating) -> (y: T)",
                                {.doc = "Modified Bessel function of the second kind of order 0; infinite for x <= 0.",
                                 .cpp = "bessel_k0",
                                 .traits = {Trait::kElementwise},
                                 .shape = shapes::same_as_input,
                                 .saves = {in(0)},
                                 .gradient = [](GradContext& g) { g.set(0, -g.dy() * bessel_k1(g.in(0))); },
                                 .flops = flops_each<100>});

const Op& kBesselK1 = define_op("BesselK1(x: T; T: floating) -> (y: T)",
                                {.doc = "Modified Bessel function of the second kind of order 1; infinite for x <= 0.",
                                 .cpp = "bessel_k1",
                                 .traits = {Trait::kElementwise},
                                 .shape = shapes::same_as_input,
                                 .saves = {in(0), out(0)},
                                 .gradient =
                                     [](GradContext& g) {
                                       const Tensor& x = g.in(0);
                                       g.set(0, -g.dy() * (bessel_k0(x) + g.out(0) / x));
                                     },
                                 .flops = flops_each<100>});

const Op& kBesselK0e =
    define_op("BesselK0e(x: T; T: floating) -> (y: T)",
              {.doc = "`exp(x) * bessel_k0(x)`, without underflow.",
               .cpp = "bessel_k0e",
               .traits = {Trait::kElementwise},
               .shape = shapes::same_as_input,
               .saves = {in(0), out(0)},
               .gradient = [](GradContext& g) { g.set(0, g.dy() * (g.out(0) - bessel_k1e(g.in(0)))); },
               .flops = flops_each<100>});

const Op& kBesselK1e = define_op("BesselK1e(x: T; T: floating) -> (y: T)",
                                 {.doc = "`exp(x) * bessel_k1(x)`, without underflow.",
                                  .cpp = "bessel_k1e",
                                  .traits = {Trait::kElementwise},
                                  .shape = shapes::same_as_input,
                                  .saves = {in(0), out(0)},
                                  .gradient =
                                      [](GradContext& g) {
                                        const Tensor& x = g.in(0);
                                        g.set(0, g.dy() * (g.out(0) * (1 - 1 / x) - bessel_k0e(x)));
                                      },
                                  .flops = flops_each<100>});

const Op& kFresnelCos =
    define_op("FresnelCos(x: T; T: floating) -> (y: T)",
              {.doc = "Fresnel's integral C: that of `cos(pi / 2 * t * t)` from 0 to x.",
               .traits = {Trait::kElementwise},
               .shape = shapes::same_as_input,
               .saves = {in(0)},
               .gradient = [](GradContext& g) { g.set(0, g.dy() * cos(kHalfPi * square(g.in(0)))); },
               .flops = flops_each<100>});

const Op& kFresnelSin =
    define_op("FresnelSin(x: T; T: floating) -> (y: T)",
              {.doc = "Fresnel's integral S: that of `sin(pi / 2 * t * t)` from 0 to x.",
               .traits = {Trait::kElementwise},
               .shape = shapes::same_as_input,
               .saves = {in(0)},
               .gradient = [](GradContext& g) { g.set(0, g.dy() * sin(kHalfPi * square(g.in(0)))); },
               .flops = flops_each<100>});

const Op& kIgamma = define_op(
    "Igamma(a: T, x: T; T: floating) -> (z: T)",
    {.doc =
         "The regularized lower incomplete gamma function P: the integral of `t^(a - 1) exp(-t)` from 0 to x, divided "
         "by gamma(a). NaN for x < 0 and for a <= 0.",
     .traits = {Trait::kElementwise, Trait::kBroadcasts},
     .shape = shapes::broadcast_two,
     .saves = {in(0), in(1)},
     .gradient = [](GradContext& g) { incomplete_gamma_gradient(g, false); },
     .flops = flops_each<200>});

const Op& kIgammac = define_op("Igammac(a: T, x: T; T: floating) -> (z: T)",
                               {.doc = "The regularized upper incomplete gamma function Q, 1 - Igamma.",
                                .traits = {Trait::kElementwise, Trait::kBroadcasts},
                                .shape = shapes::broadcast_two,
                                .saves = {in(0), in(1)},
                                .gradient = [](GradContext& g) { incomplete_gamma_gradient(g, true); },
                                .flops = flops_each<200>});

const Op& kIgammaGradA = define_op("IgammaGradA(a: T, x: T; T: float32|float64) -> (z: T)",
                                   {.doc = "The derivative of Igamma by a.",
                                    .traits = {Trait::kElementwise, Trait::kBroadcasts},
                                    .shape = shapes::broadcast_two,
                                    .no_gradient = "there is no op for its derivatives; TensorFlow has none either",
                                    .flops = flops_each<400>});

const Op& kBetainc = define_op(
    "Betainc(a: T, b: T, x: T; T: float32|float64) -> (z: T)",
    {.doc =
         "The regularized incomplete beta function: the integral of `t^(a - 1) (1 - t)^(b - 1)` from 0 to x, divided "
         "by that from 0 to 1. NaN unless a and b are positive and x in [0, 1]. The arguments are scalars or of one "
         "shape. TensorFlow has no gradient with respect to a and b.",
     .traits = {Trait::kElementwise, Trait::kBroadcasts},
     .shape = scalars_or_one_shape,
     .saves = {in(0), in(1), in(2)},
     .gradient =
         [](GradContext& g) {
           const Tensor &a = g.in(0), &b = g.in(1), &x = g.in(2);
           if (!g.needs(2)) return;
           const Tensor log_beta = lgamma(a) + lgamma(b) - lgamma(a + b);
           g.set(2, g.dy() * exp(xlog1py(b - 1, -x) + xlogy(a - 1, x) - log_beta));
         },
     .flops = flops_each<400>,
     .batch = spread_batch});

}  // namespace panto
