// Optimizer steps with dense gradients.
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/state/variable_info.h"

namespace panto {
namespace {

constexpr const char* kFraction = "a step is a fraction, which integers do not hold";
constexpr const char* kRealOnly =
    "a step is a fraction, which integers do not hold, and complex numbers are not compared";

}  // namespace

const Op& kResourceApplyGradientDescent = define_op(
    "ResourceApplyGradientDescent(var: resource, alpha: T, delta: T; T: numeric, use_locking: bool = false) -> ()",
    {.doc = "var -= alpha * delta. Updates are always made under the variable's lock, whatever `use_locking` says.",
     .effects = {effects::updates(0)},
     .shape = [](ShapeContext& c) { apply_shape(c, 1, 2); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 2 * c.numel(2); },
     .types_reason = kFraction});

const Op& kResourceApplyAdam = define_op(
    "ResourceApplyAdam(var: resource, m: resource, v: resource, beta1_power: T, beta2_power: T, lr: T, beta1: T, "
    "beta2: T, epsilon: T, grad: T; T: numeric, use_locking: bool = false, use_nesterov: bool = false) -> ()",
    {.doc = "One step of Adam (Kingma and Ba 2015):\n"
            "  m += (grad - m) * (1 - beta1); v += (grad^2 - v) * (1 - beta2)\n"
            "  var -= lr * sqrt(1 - beta2_power) / (1 - beta1_power) * m / (sqrt(v) + epsilon)\n"
            "With `use_nesterov`, beta1 * m + (1 - beta1) * grad stands for the last m. All three variables change or "
            "none does.",
     .effects = {effects::updates(0), effects::updates(1), effects::updates(2)},
     .shape = [](ShapeContext& c) { apply_shape(c, 3, 9); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 12 * c.numel(9); },
     .types_reason = kFraction});

const Op& kResourceApplyMomentum = define_op(
    "ResourceApplyMomentum(var: resource, accum: resource, lr: T, grad: T, momentum: T; T: numeric, "
    "use_locking: bool = false, use_nesterov: bool = false) -> ()",
    {.doc = "One step of gradient descent with momentum, the rate applied to what has accumulated:\n"
            "  accum = momentum * accum + grad; var -= lr * accum\n"
            "With `use_nesterov`, grad + momentum * accum stands for the last accum. Both variables change or neither "
            "does.",
     .effects = {effects::updates(0), effects::updates(1)},
     .shape = [](ShapeContext& c) { apply_shape(c, 2, 3); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 4 * c.numel(3); },
     .types_reason = kFraction});

const Op& kResourceApplyKerasMomentum = define_op(
    "ResourceApplyKerasMomentum(var: resource, accum: resource, lr: T, grad: T, momentum: T; T: numeric, "
    "use_locking: bool = false, use_nesterov: bool = false) -> ()",
    {.doc = "One step of gradient descent with momentum, the rate applied to each gradient as it is accumulated:\n"
            "  accum = momentum * accum - lr * grad; var += accum\n"
            "With `use_nesterov`, momentum * accum - lr * grad stands for the last accum. Both variables change or "
            "neither does.",
     .effects = {effects::updates(0), effects::updates(1)},
     .shape = [](ShapeContext& c) { apply_shape(c, 2, 3); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 4 * c.numel(3); },
     .types_reason = kFraction});

const Op& kResourceApplyRMSProp = define_op(
    "ResourceApplyRMSProp(var: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, epsilon: T, "
    "grad: T; T: numeric, use_locking: bool = false) -> ()",
    {.doc = "One step of RMSprop (Hinton 2012), with momentum:\n"
            "  ms += (grad^2 - ms) * (1 - rho)\n"
            "  mom = momentum * mom + lr * grad / sqrt(ms + epsilon); var -= mom\n"
            "All three variables change or none does.",
     .effects = {effects::updates(0), effects::updates(1), effects::updates(2)},
     .shape = [](ShapeContext& c) { apply_shape(c, 3, 7); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 10 * c.numel(7); },
     .types_reason = kFraction});

const Op& kResourceApplyCenteredRMSProp = define_op(
    "ResourceApplyCenteredRMSProp(var: resource, mg: resource, ms: resource, mom: resource, lr: T, rho: T, "
    "momentum: T, epsilon: T, grad: T; T: numeric, use_locking: bool = false) -> ()",
    {.doc = "One step of RMSprop by an estimate of the gradient's variance (Graves 2013), with momentum:\n"
            "  ms += (grad^2 - ms) * (1 - rho); mg += (grad - mg) * (1 - rho)\n"
            "  mom = momentum * mom + lr * grad / sqrt(ms - mg^2 + epsilon); var -= mom\n"
            "All four variables change or none does.",
     .effects = {effects::updates(0), effects::updates(1), effects::updates(2), effects::updates(3)},
     .shape = [](ShapeContext& c) { apply_shape(c, 4, 8); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 15 * c.numel(8); },
     .types_reason = kFraction});

const Op& kResourceApplyAdagradV2 = define_op(
    "ResourceApplyAdagradV2(var: resource, accum: resource, lr: T, epsilon: T, grad: T; T: numeric, "
    "use_locking: bool = false, update_slots: bool = true) -> ()",
    {.doc = "One step of Adagrad (Duchi et al. 2011):\n"
            "  accum += grad^2; var -= lr * grad / (sqrt(accum) + epsilon)\n"
            "accum stays as it is unless `update_slots`. Both variables change or neither does.",
     .effects = {effects::updates(0), effects::updates(1)},
     .shape = [](ShapeContext& c) { apply_shape(c, 2, 4); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 6 * c.numel(4); },
     .types_reason = kFraction});

const Op& kResourceApplyAdagrad = define_op(
    "ResourceApplyAdagrad(var: resource, accum: resource, lr: T, grad: T; T: numeric, use_locking: bool = false, "
    "update_slots: bool = true) -> ()",
    {.doc = "One step of Adagrad (Duchi et al. 2011), without an epsilon:\n  accum += grad^2; var -= lr * grad / "
            "sqrt(accum)\naccum stays as it is unless `update_slots`. Both variables change or neither does.",
     .cpp = "resource_apply_adagrad_v1",
     .effects = {effects::updates(0), effects::updates(1)},
     .shape = [](ShapeContext& c) { apply_shape(c, 2, 3); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 6 * c.numel(3); },
     .types_reason = kFraction});

const Op& kResourceApplyAdadelta = define_op(
    "ResourceApplyAdadelta(var: resource, accum: resource, accum_update: resource, lr: T, rho: T, epsilon: T, grad: T; "
    "T: numeric, use_locking: bool = false) -> ()",
    {.doc = "One step of Adadelta (Zeiler 2012):\n  accum = rho * accum + (1 - rho) * grad^2\n  update = "
            "sqrt(accum_update + epsilon) / sqrt(accum + epsilon) * grad; var -= lr * update\n  accum_update = rho * "
            "accum_update + (1 - rho) * update^2\nAll three variables change or none does.",
     .effects = {effects::updates(0), effects::updates(1), effects::updates(2)},
     .shape = [](ShapeContext& c) { apply_shape(c, 3, 6); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 14 * c.numel(6); },
     .types_reason = kFraction});

const Op& kResourceApplyAdagradDA = define_op(
    "ResourceApplyAdagradDA(var: resource, gradient_accumulator: resource, gradient_squared_accumulator: resource, "
    "grad: T, lr: T, l1: T, l2: T, global_step: int64; T: numeric, use_locking: bool = false) -> ()",
    {.doc = "One step of Adagrad by dual averaging (Duchi et al. 2011), which makes the variable anew from the sums of "
            "all gradients:\n  gradient_accumulator += grad; gradient_squared_accumulator += grad^2\n  var = -lr * s / "
            "(l2 * global_step * lr + sqrt(gradient_squared_accumulator))\nwhere s is gradient_accumulator, moved "
            "towards 0 by l1 * global_step at most. All three variables change or none does.",
     .effects = {effects::updates(0), effects::updates(1), effects::updates(2)},
     .shape = [](ShapeContext& c) { apply_shape(c, 3, 3); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 12 * c.numel(3); },
     .types_reason = kRealOnly});

const Op& kResourceApplyProximalAdagrad = define_op(
    "ResourceApplyProximalAdagrad(var: resource, accum: resource, lr: T, l1: T, l2: T, grad: T; T: numeric, "
    "use_locking: bool = false) -> ()",
    {.doc = "One step of Adagrad with proximal regularization (Duchi and Singer 2009):\n  accum += grad^2; rate = lr / "
            "sqrt(accum); p = var - rate * grad\n  var = p moved towards 0 by rate * l1 at most, / (1 + rate * "
            "l2)\nBoth variables change or neither does.",
     .effects = {effects::updates(0), effects::updates(1)},
     .shape = [](ShapeContext& c) { apply_shape(c, 2, 5); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 12 * c.numel(5); },
     .types_reason = kRealOnly});

const Op& kResourceApplyProximalGradientDescent = define_op(
    "ResourceApplyProximalGradientDescent(var: resource, alpha: T, l1: T, l2: T, delta: T; T: numeric, use_locking: "
    "bool = false) -> ()",
    {.doc = "One step of gradient descent with proximal regularization (Duchi and Singer 2009):\n  p = var - alpha * "
            "delta; var = p moved towards 0 by alpha * l1 at most, / (1 + alpha * l2)\n"
            "Updates are made under the variable's lock.",
     .effects = {effects::updates(0)},
     .shape = [](ShapeContext& c) { apply_shape(c, 1, 4); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 8 * c.numel(4); },
     .types_reason = kRealOnly});

const Op& kResourceApplyAdaMax = define_op(
    "ResourceApplyAdaMax(var: resource, m: resource, v: resource, beta1_power: T, lr: T, beta1: T, beta2: T, epsilon: "
    "T, grad: T; T: numeric, use_locking: bool = false) -> ()",
    {.doc = "One step of AdaMax (Kingma and Ba 2015, section 7.1):\n  m += (grad - m) * (1 - beta1); v = max(beta2 * "
            "v, |grad|)\n  var -= lr / (1 - beta1_power) * m / (v + epsilon)\nAll three variables change or none does.",
     .effects = {effects::updates(0), effects::updates(1), effects::updates(2)},
     .shape = [](ShapeContext& c) { apply_shape(c, 3, 8); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 10 * c.numel(8); },
     .types_reason = kRealOnly});

const Op& kResourceApplyAdamWithAmsgrad = define_op(
    "ResourceApplyAdamWithAmsgrad(var: resource, m: resource, v: resource, vhat: resource, beta1_power: T, "
    "beta2_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T; T: numeric, use_locking: bool = false) -> ()",
    {.doc = "One step of AMSGrad (Reddi et al. 2018), Adam that does not forget large gradients:\n  m += (grad - m) * "
            "(1 - beta1); v += (grad^2 - v) * (1 - beta2); vhat = max(vhat, v)\n  var -= lr * sqrt(1 - beta2_power) / "
            "(1 - beta1_power) * m / (sqrt(vhat) + epsilon)\nAll four variables change or none does.",
     .effects = {effects::updates(0), effects::updates(1), effects::updates(2), effects::updates(3)},
     .shape = [](ShapeContext& c) { apply_shape(c, 4, 10); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 13 * c.numel(10); },
     .types_reason = kRealOnly});

const Op& kResourceApplyFtrl = define_op(
    "ResourceApplyFtrl(var: resource, accum: resource, linear: resource, grad: T, lr: T, l1: T, l2: T, lr_power: T; T: "
    "numeric, use_locking: bool = false, multiply_linear_by_lr: bool = false) -> ()",
    {.doc = "One step of Ftrl-proximal (McMahan et al. 2013), with p = -lr_power:\n  next = accum + grad^2; linear += "
            "grad - (next^p - accum^p) / lr * var\n  var = (l1 * sign(linear) - linear) / (next^p / lr + 2 * l2) if "
            "|linear| > l1, else 0; accum = next\nWith `multiply_linear_by_lr`, linear holds lr times as much. All "
            "three variables change or none does.",
     .cpp = "resource_apply_ftrl_v1",
     .effects = {effects::updates(0), effects::updates(1), effects::updates(2)},
     .shape = [](ShapeContext& c) { apply_shape(c, 3, 3); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 20 * c.numel(3); },
     .types_reason = kRealOnly});

const Op& kResourceApplyFtrlV2 = define_op(
    "ResourceApplyFtrlV2(var: resource, accum: resource, linear: resource, grad: T, lr: T, l1: T, l2: T, l2_shrinkage: "
    "T, lr_power: T; T: numeric, use_locking: bool = false, multiply_linear_by_lr: bool = false) -> ()",
    {.doc = "ResourceApplyFtrl with grad + 2 * l2_shrinkage * var in the place of grad where it is added to linear.",
     .cpp = "resource_apply_ftrl",
     .effects = {effects::updates(0), effects::updates(1), effects::updates(2)},
     .shape = [](ShapeContext& c) { apply_shape(c, 3, 3); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 22 * c.numel(3); },
     .types_reason = kRealOnly});

const Op& kResourceApplyAddSign = define_op(
    "ResourceApplyAddSign(var: resource, m: resource, lr: T, alpha: T, sign_decay: T, beta: T, grad: T; T: numeric, "
    "use_locking: bool = false) -> ()",
    {.doc = "One step of AddSign (Bello et al. 2017):\n  m = beta * m + (1 - beta) * grad\n  var -= lr * (alpha + "
            "sign_decay * sign(grad) * sign(m)) * grad\nBoth variables change or neither does.",
     .effects = {effects::updates(0), effects::updates(1)},
     .shape = [](ShapeContext& c) { apply_shape(c, 2, 6); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 10 * c.numel(6); },
     .types_reason = kRealOnly});

const Op& kResourceApplyPowerSign = define_op(
    "ResourceApplyPowerSign(var: resource, m: resource, lr: T, logbase: T, sign_decay: T, beta: T, grad: T; T: "
    "numeric, use_locking: bool = false) -> ()",
    {.doc = "One step of PowerSign (Bello et al. 2017):\n  m = beta * m + (1 - beta) * grad\n  var -= lr * exp(logbase "
            "* sign_decay * sign(grad) * sign(m)) * grad\nBoth variables change or neither does.",
     .effects = {effects::updates(0), effects::updates(1)},
     .shape = [](ShapeContext& c) { apply_shape(c, 2, 6); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 30 * c.numel(6); },
     .types_reason = kRealOnly});

}  // namespace panto
