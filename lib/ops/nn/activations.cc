// Activation functions.
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/math/elementwise.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
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

const Op& kElu = define_op("Elu(features: T; T: floating) -> (activations: T)",
                           {.doc = "`exp(features) - 1` below zero, features above (Clevert et al. 2015).",
                            .traits = {Trait::kElementwise},
                            .shape = shapes::same_as_input,
                            .saves = {out(0)},
                            .gradient = [](GradContext& g) { g.set(0, elu_grad(g.dy(), g.out(0))); },
                            .flops = flops_each<12>});

const Op& kEluGrad =
    define_op("EluGrad(gradients: T, outputs: T; T: floating) -> (backprops: T)",
              {.doc = "`gradients * (outputs + 1)` where `outputs` is negative, else `gradients`: the gradient of Elu, "
                      "whose output `outputs` is.",
               .traits = {Trait::kElementwise},
               .shape = shapes::all_equal,
               .saves = {in(0), in(1)},
               .gradient =
                   [](GradContext& g) {
                     if (g.needs(0)) g.set(0, elu_grad(g.dy(), g.in(1)));
                     if (g.needs(1)) g.set(1, select(g.in(1) < 0, g.dy() * g.in(0), 0));
                   },
               .flops = flops_each<2>});

const Op& kSelu =
    define_op("Selu(features: T; T: floating) -> (activations: T)",
              {.doc = "`1.7580993 * (exp(features) - 1)` below zero, `1.050701 * features` above, which keep the mean "
                      "and the variance of a layer (Klambauer et al. 2017).",
               .traits = {Trait::kElementwise},
               .shape = shapes::same_as_input,
               .saves = {out(0)},
               .gradient = [](GradContext& g) { g.set(0, selu_grad(g.dy(), g.out(0))); },
               .flops = flops_each<12>});

const Op& kSeluGrad = define_op(
    "SeluGrad(gradients: T, outputs: T; T: floating) -> (backprops: T)",
    {.doc = "`gradients * (outputs + 1.7580993)` where `outputs` is negative, else `1.050701 * gradients`: the "
            "gradient of Selu, whose output `outputs` is.",
     .traits = {Trait::kElementwise},
     .shape = shapes::all_equal,
     .saves = {in(0), in(1)},
     .gradient =
         [](GradContext& g) {
           if (g.needs(0)) g.set(0, selu_grad(g.dy(), g.in(1)));
           if (g.needs(1)) g.set(1, select(g.in(1) < 0, g.dy() * g.in(0), 0));
         },
     .flops = flops_each<2>});

const Op& kRelu6 = define_op("Relu6(features: T; T: real) -> (activations: T)",
                             {.doc = "`min(max(features, 0), 6)`. The gradient is zero at 0 and 6.",
                              .traits = {Trait::kElementwise},
                              .shape = shapes::same_as_input,
                              .saves = {out(0)},
                              .gradient = [](GradContext& g) { g.set(0, relu6_grad(g.dy(), g.out(0))); },
                              .flops = flops_each<2>});

const Op& kRelu6Grad =
    define_op("Relu6Grad(gradients: T, features: T; T: real) -> (backprops: T)",
              {.doc = "`gradients` where `features` is between 0 and 6, zero elsewhere: the gradient of Relu6, whose "
                      "input or output `features` may be.",
               .traits = {Trait::kElementwise},
               .shape = shapes::all_equal,
               .saves = {in(1)},
               .gradient =
                   [](GradContext& g) {
                     if (g.needs(0)) g.set(0, relu6_grad(g.dy(), g.in(1)));
                     // It is piecewise constant in `features`.
                   },
               .flops = flops_each<2>});

const Op& kSoftsign = define_op("Softsign(features: T; T: floating) -> (activations: T)",
                                {.doc = "`features / (1 + |features|)`.",
                                 .traits = {Trait::kElementwise},
                                 .shape = shapes::same_as_input,
                                 .saves = {in(0)},
                                 .gradient = [](GradContext& g) { g.set(0, softsign_grad(g.dy(), g.in(0))); },
                                 .flops = flops_each<4>});

const Op& kSoftsignGrad =
    define_op("SoftsignGrad(gradients: T, features: T; T: floating) -> (backprops: T)",
              {.doc = "`gradients / (1 + |features|)^2`: the gradient of Softsign, whose input `features` is.",
               .traits = {Trait::kElementwise},
               .shape = shapes::all_equal,
               .saves = {in(0), in(1)},
               .gradient =
                   [](GradContext& g) {
                     const Tensor scaled = softsign_grad(g.dy(), g.in(1));
                     if (g.needs(0)) g.set(0, scaled);
                     if (g.needs(1)) {
                       const Tensor& x = g.in(1);
                       g.set(1, -2 * scaled * g.in(0) * sign(x) / (1 + abs(x)));
                     }
                   },
               .flops = flops_each<4>});

const Op& kLeakyRelu =
    define_op("LeakyRelu(features: T; alpha: float = 0.2, T: floating = float32) -> (activations: T)",
              {.doc = "`features` above zero, `alpha * features` below (Maas et al. 2013).",
               .body =
                   [](CompositeContext& c) {
                     const Tensor& x = c.in(0);
                     c.set_out(0, select(x > 0, x, static_cast<double>(c.real("alpha")) * x));
                   },
               .in_tensorflow = true});

const Op& kLeakyReluGrad = define_op(
    "LeakyReluGrad(gradients: T, features: T; alpha: float = 0.2, T: floating = float32) -> (backprops: T)",
    {.doc = "`gradients` where `features` is positive, `alpha * gradients` elsewhere: the gradient of LeakyRelu, whose "
            "input `features` is.",
     .body =
         [](CompositeContext& c) {
           const Tensor &dy = c.in(0), &x = c.in(1);
           const Tensor above = relu_grad(dy, x);  // it checks shapes, also at run time
           c.set_out(0, select(x > 0, above, static_cast<double>(c.real("alpha")) * dy));
         },
     .in_tensorflow = true});

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
