// Activation functions.
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/math/elementwise.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {

const Op& kTanh = define_op("Tanh(x: T; T: floating|complex) -> (y: T)",
                            {.doc = "Hyperbolic tangent of x.",
                             .traits = {Trait::kElementwise},
                             .shape = shapes::same_as_input,
                             .saves = {out(0)},
                             .gradient = [](GradContext& g) { g.set(0, g.dy() * (1 - square(g.conj_out(0)))); },
                             .flops = flops_each<16>});

const Op& kSigmoid = define_op("Sigmoid(x: T; T: floating|complex) -> (y: T)", {.doc = "`1 / (1 + exp(-x))`.",
                                                                                .traits = {Trait::kElementwise},
                                                                                .shape = shapes::same_as_input,
                                                                                .saves = {out(0)},
                                                                                .gradient =
                                                                                    [](GradContext& g) {
                                                                                      const Tensor& y = g.conj_out(0);
                                                                                      g.set(0, g.dy() * (y * (1 - y)));
                                                                                    },
                                                                                .flops = flops_each<12>});

const Op& kRelu = define_op("Relu(features: T; T: real) -> (activations: T)",
                            {.doc = "`max(features, 0)`. The gradient at zero is zero.",
                             .traits = {Trait::kElementwise},
                             .shape = shapes::same_as_input,
                             .saves = {out(0)},
                             .gradient = [](GradContext& g) { g.set(0, relu_grad(g.dy(), g.out(0))); },
                             .flops = flops_each<1>});

const Op& kReluGrad =
    define_op("ReluGrad(gradients: T, features: T; T: real) -> (backprops: T)",
              {.doc = "`gradients` where `features` is positive, zero elsewhere: the gradient of Relu, whose input or "
                      "output `features` may be.",
               .traits = {Trait::kElementwise},
               .shape = shapes::all_equal,
               .saves = {in(1)},
               .gradient =
                   [](GradContext& g) {
                     if (g.needs(0)) g.set(0, relu_grad(g.dy(), g.in(1)));
                     // It is piecewise constant in `features`.
                   },
               .flops = flops_each<1>});

const Op& kSoftplus = define_op("Softplus(features: T; T: floating) -> (activations: T)",
                                {.doc = "`log(1 + exp(features))`, without overflow.",
                                 .traits = {Trait::kElementwise},
                                 .shape = shapes::same_as_input,
                                 .saves = {in(0)},
                                 .gradient = [](GradContext& g) { g.set(0, g.dy() * sigmoid(g.in(0))); },
                                 .flops = flops_each<16>});

const Op& kSilu = define_op("Silu(x: T; T: floating) -> (y: T)",
                            {.doc = "`x * sigmoid(x)`, also called swish (Elfwing et al. 2017).",
                             .body = [](CompositeContext& c) { c.set_out(0, c.in(0) * sigmoid(c.in(0))); }});

const Op& kGelu = define_op(
    "Gelu(x: T; approximate: bool = false, T: floating) -> (y: T)",
    {.doc = "x times the standard normal distribution function at x (Hendrycks and Gimpel 2016); `approximate` uses "
            "their formula with tanh.",
     .body = [](CompositeContext& c) {
       constexpr double kRootHalf = 0.7071067811865476;
       constexpr double kRootTwoOverPi = 0.7978845608028654;
       const Tensor& x = c.in(0);
       const Tensor inner =
           c.flag("approximate") ? tanh(kRootTwoOverPi * (x + 0.044715 * (x * square(x)))) : erf(kRootHalf * x);
       c.set_out(0, 0.5 * x * (1 + inner));
     }});

}  // namespace panto
