// Optimizer steps with sparse gradients: of the rows (slices along the first dimension) whose numbers are in `indices`.
// Other rows of all variables stay unchanged. A row whose number occurs several times takes as many steps, one after
// the other. Nothing changes if a number is out of range.
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/state/variable_info.h"

namespace panto {
namespace {

constexpr const char* kFractions = "a step is a fraction, which integers do not hold; TensorFlow has no complex ones";

}  // namespace

const Op& kResourceSparseApplyMomentum = define_op(
    "ResourceSparseApplyMomentum(var: resource, accum: resource, lr: T, grad: T, indices: Tindices, momentum: T; T: "
    "numeric, Tindices: index, use_locking: bool = false, use_nesterov: bool = false) -> ()",
    {.doc = "ResourceApplyMomentum of the rows whose numbers are in `indices`, of each as often as it occurs: `grad` "
            "has a row for each number. Nothing changes if one is out of range.",
     .effects = {effects::updates(0), effects::updates(1)},
     .primary = "T",
     .shape = [](ShapeContext& c) { sparse_apply_shape(c, 2, 3); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 4 * c.numel(3); },
     .types_reason = kFractions});

const Op& kResourceSparseApplyKerasMomentum = define_op(
    "ResourceSparseApplyKerasMomentum(var: resource, accum: resource, lr: T, grad: T, indices: Tindices, momentum: T; "
    "T: numeric, Tindices: index, use_locking: bool = false, use_nesterov: bool = false) -> ()",
    {.doc = "ResourceApplyKerasMomentum of the rows whose numbers are in `indices`, of each as often as it occurs: "
            "`grad` has a row for each number. Nothing changes if one is out of range.",
     .effects = {effects::updates(0), effects::updates(1)},
     .primary = "T",
     .shape = [](ShapeContext& c) { sparse_apply_shape(c, 2, 3); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 4 * c.numel(3); },
     .types_reason = kFractions});

const Op& kResourceSparseApplyAdagrad = define_op(
    "ResourceSparseApplyAdagrad(var: resource, accum: resource, lr: T, grad: T, indices: Tindices; T: numeric, "
    "Tindices: index, use_locking: bool = false, update_slots: bool = true) -> ()",
    {.doc = "ResourceApplyAdagrad of the rows whose numbers are in `indices`, of each as often as it occurs: `grad` "
            "has a row for each number. Nothing changes if one is out of range.",
     .cpp = "resource_sparse_apply_adagrad_v1",
     .effects = {effects::updates(0), effects::updates(1)},
     .primary = "T",
     .shape = [](ShapeContext& c) { sparse_apply_shape(c, 2, 3); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 6 * c.numel(3); },
     .types_reason = kFractions});

const Op& kResourceSparseApplyAdagradV2 = define_op(
    "ResourceSparseApplyAdagradV2(var: resource, accum: resource, lr: T, epsilon: T, grad: T, indices: Tindices; T: "
    "numeric, Tindices: index, use_locking: bool = false, update_slots: bool = true) -> ()",
    {.doc = "ResourceApplyAdagradV2 of the rows whose numbers are in `indices`, of each as often as it occurs: `grad` "
            "has a row for each number. Nothing changes if one is out of range.",
     .cpp = "resource_sparse_apply_adagrad",
     .effects = {effects::updates(0), effects::updates(1)},
     .primary = "T",
     .shape = [](ShapeContext& c) { sparse_apply_shape(c, 2, 4); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 6 * c.numel(4); },
     .types_reason = kFractions});

const Op& kResourceSparseApplyAdagradDA = define_op(
    "ResourceSparseApplyAdagradDA(var: resource, gradient_accumulator: resource, gradient_squared_accumulator: "
    "resource, grad: T, indices: Tindices, lr: T, l1: T, l2: T, global_step: int64; T: numeric, Tindices: index, "
    "use_locking: bool = false) -> ()",
    {.doc = "ResourceApplyAdagradDA of the rows whose numbers are in `indices`, of each as often as it occurs: `grad` "
            "has a row for each number. Nothing changes if one is out of range.",
     .effects = {effects::updates(0), effects::updates(1), effects::updates(2)},
     .primary = "T",
     .shape = [](ShapeContext& c) { sparse_apply_shape(c, 3, 3); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 12 * c.numel(3); },
     .types_reason = kFractions});

const Op& kResourceSparseApplyProximalAdagrad = define_op(
    "ResourceSparseApplyProximalAdagrad(var: resource, accum: resource, lr: T, l1: T, l2: T, grad: T, indices: "
    "Tindices; T: numeric, Tindices: index, use_locking: bool = false) -> ()",
    {.doc = "ResourceApplyProximalAdagrad of the rows whose numbers are in `indices`, of each as often as it occurs: "
            "`grad` has a row for each number. Nothing changes if one is out of range.",
     .effects = {effects::updates(0), effects::updates(1)},
     .primary = "T",
     .shape = [](ShapeContext& c) { sparse_apply_shape(c, 2, 5); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 12 * c.numel(5); },
     .types_reason = kFractions});

const Op& kResourceSparseApplyProximalGradientDescent = define_op(
    "ResourceSparseApplyProximalGradientDescent(var: resource, alpha: T, l1: T, l2: T, grad: T, indices: Tindices; T: "
    "numeric, Tindices: index, use_locking: bool = false) -> ()",
    {.doc = "ResourceApplyProximalGradientDescent of the rows whose numbers are in `indices`, of each as often as it "
            "occurs: `grad` has a row for each number. Nothing changes if one is out of range.",
     .effects = {effects::updates(0)},
     .primary = "T",
     .shape = [](ShapeContext& c) { sparse_apply_shape(c, 1, 4); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 8 * c.numel(4); },
     .types_reason = kFractions});

const Op& kResourceSparseApplyAdadelta = define_op(
    "ResourceSparseApplyAdadelta(var: resource, accum: resource, accum_update: resource, lr: T, rho: T, epsilon: T, "
    "grad: T, indices: Tindices; T: numeric, Tindices: index, use_locking: bool = false) -> ()",
    {.doc = "ResourceApplyAdadelta of the rows whose numbers are in `indices`, of each as often as it occurs: `grad` "
            "has a row for each number. Nothing changes if one is out of range.",
     .effects = {effects::updates(0), effects::updates(1), effects::updates(2)},
     .primary = "T",
     .shape = [](ShapeContext& c) { sparse_apply_shape(c, 3, 6); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 14 * c.numel(6); },
     .types_reason = kFractions});

const Op& kResourceSparseApplyRMSProp = define_op(
    "ResourceSparseApplyRMSProp(var: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, epsilon: T, "
    "grad: T, indices: Tindices; T: numeric, Tindices: index, use_locking: bool = false) -> ()",
    {.doc = "ResourceApplyRMSProp of the rows whose numbers are in `indices`, of each as often as it occurs: `grad` "
            "has a row for each number. Nothing changes if one is out of range.",
     .effects = {effects::updates(0), effects::updates(1), effects::updates(2)},
     .primary = "T",
     .shape = [](ShapeContext& c) { sparse_apply_shape(c, 3, 7); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 10 * c.numel(7); },
     .types_reason = kFractions});

const Op& kResourceSparseApplyCenteredRMSProp = define_op(
    "ResourceSparseApplyCenteredRMSProp(var: resource, mg: resource, ms: resource, mom: resource, lr: T, rho: T, "
    "momentum: T, epsilon: T, grad: T, indices: Tindices; T: numeric, Tindices: index, use_locking: bool = false) -> "
    "()",
    {.doc = "ResourceApplyCenteredRMSProp of the rows whose numbers are in `indices`, of each as often as it occurs: "
            "`grad` has a row for each number. Nothing changes if one is out of range.",
     .effects = {effects::updates(0), effects::updates(1), effects::updates(2), effects::updates(3)},
     .primary = "T",
     .shape = [](ShapeContext& c) { sparse_apply_shape(c, 4, 8); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 15 * c.numel(8); },
     .types_reason = kFractions});

const Op& kResourceSparseApplyFtrl = define_op(
    "ResourceSparseApplyFtrl(var: resource, accum: resource, linear: resource, grad: T, indices: Tindices, lr: T, l1: "
    "T, l2: T, lr_power: T; T: numeric, Tindices: index, use_locking: bool = false, multiply_linear_by_lr: bool = "
    "false) -> ()",
    {.doc = "ResourceApplyFtrl of the rows whose numbers are in `indices`, of each as often as it occurs: `grad` has a "
            "row for each number. Nothing changes if one is out of range.",
     .cpp = "resource_sparse_apply_ftrl_v1",
     .effects = {effects::updates(0), effects::updates(1), effects::updates(2)},
     .primary = "T",
     .shape = [](ShapeContext& c) { sparse_apply_shape(c, 3, 3); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 20 * c.numel(3); },
     .types_reason = kFractions});

const Op& kResourceSparseApplyFtrlV2 = define_op(
    "ResourceSparseApplyFtrlV2(var: resource, accum: resource, linear: resource, grad: T, indices: Tindices, lr: T, "
    "l1: T, l2: T, l2_shrinkage: T, lr_power: T; T: numeric, Tindices: index, use_locking: bool = false, "
    "multiply_linear_by_lr: bool = false) -> ()",
    {.doc = "ResourceApplyFtrlV2 of the rows whose numbers are in `indices`, of each as often as it occurs: `grad` has "
            "a row for each number. Nothing changes if one is out of range.",
     .cpp = "resource_sparse_apply_ftrl",
     .effects = {effects::updates(0), effects::updates(1), effects::updates(2)},
     .primary = "T",
     .shape = [](ShapeContext& c) { sparse_apply_shape(c, 3, 3); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 22 * c.numel(3); },
     .types_reason = kFractions});

}  // namespace panto
