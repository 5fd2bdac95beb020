// Variables and what changes them; printing and assertions.

#include "panto/ops/state.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/variable_checks.h"
#include "panto/lib/ops/batching.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

// What is known of the variable that input i refers to, null if nothing is.
std::shared_ptr<const HandleInfo> variable_info(const ShapeContext& c, int i) {
  c.expect_scalar(i);
  const TensorImpl& handle = *c.in(i).impl();
  if (handle.meta != nullptr) return handle.meta->handle;
  const VariableResource& variable = variable_of(c.in(i));
  return std::make_shared<HandleInfo>(HandleInfo{variable.dtype(), variable.shape()});
}

// Eager calls leave all of this to the kernel, which looks at the variable anyway.
void read_shape(ShapeContext& c) {
  if (!c.symbolic()) return;
  const std::shared_ptr<const HandleInfo> info = variable_info(c, 0);
  if (info == nullptr) return;
  expect_variable_dtype(info->dtype, c.type("dtype"));
  c.output(info->shape);
}

void assign_shape(ShapeContext& c) {
  if (!c.symbolic()) return;
  const std::shared_ptr<const HandleInfo> info = variable_info(c, 0);
  if (info == nullptr) return;
  expect_variable_dtype(info->dtype, c.in(1).dtype());
  expect_variable_shape(info->shape, c.shape(1), "value");
}

// An optimizer's step: `slots` variables, then scalars and, among them, the gradient.
void apply_shape(ShapeContext& c, int slots, int gradient) {
  for (int i = slots; i < c.num_inputs(); ++i) {
    if (i != gradient) c.expect_scalar(i);
  }
  if (!c.symbolic()) return;
  for (int i = 0; i < slots; ++i) {
    const std::shared_ptr<const HandleInfo> info = variable_info(c, i);
    if (info == nullptr) continue;
    expect_variable_dtype(info->dtype, c.in(gradient).dtype());
    expect_variable_shape(info->shape, c.shape(gradient),
                          c.op().signature().inputs[static_cast<size_t>(gradient)].name);
  }
}

// All examples must hold; what is shown is the batch's.
void assert_batch(BatchContext& c) {
  std::vector<Tensor> inputs = {c.batched(0) ? reduce_all(c.in(0)) : c.in(0)};
  for (int i = 1; i < c.num_inputs(); ++i) inputs.push_back(c.in(i));
  c.again(inputs);
}

}  // namespace

const Op& kVarHandleOp = define_op(
    "VarHandleOp(; container: string = \"\", shared_name: string = \"\", debug_name: string = \"\", dtype: type, "
    "shape: shape, allowed_devices: list(string) = []) -> (resource: resource)",
    {.doc = "A handle to the variable `shared_name` (or, without one, the node's name) in `container`, which is made, "
            "without a value, if there is none. An eager call without a name makes a new variable.",
     .kind = OpKind::kVariableHandle,
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape =
         [](ShapeContext& c) {
           shapes::scalar(c);
           if (c.symbolic()) {
             c.output_handle(0, std::make_shared<HandleInfo>(HandleInfo{c.type("dtype"), c.shape_attr("shape")}));
           }
         },
     .no_gradient = "it has no inputs"});

const Op& kReadVariableOp = define_op(
    "ReadVariableOp(resource: resource; dtype: type) -> (value: dtype)",
    {.doc = "The variable's value. Later updates do not change what was read. Reading one that was never assigned is "
            "FailedPrecondition.",
     .kind = OpKind::kReadVariable,
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::reads(0)},
     .shape = read_shape,
     .gradient = [](GradContext& g) { g.set(0, g.dy()); }});

const Op& kAssignVariableOp = define_op(
    "AssignVariableOp(resource: resource, value: dtype; dtype: type, validate_shape: bool = false) -> ()",
    {.doc = "Gives the variable a new value, which must have its declared shape; with `validate_shape`, also the shape "
            "of the value it has.",
     .effects = {effects::writes(0)},
     .shape = assign_shape,
     .no_gradient = "it has no outputs"});

const Op& kAssignAddVariableOp = define_op(  //
    "AssignAddVariableOp(resource: resource, value: dtype; dtype: type) -> ()",
    {.doc = "Adds `value` to the variable, in place where nobody else holds the old value.",
     .effects = {effects::updates(0)},
     .shape = assign_shape,
     .no_gradient = "it has no outputs",
     .types_reason = "only numbers are added"});

const Op& kAssignSubVariableOp = define_op(  //
    "AssignSubVariableOp(resource: resource, value: dtype; dtype: type) -> ()",
    {.doc = "Subtracts `value` from the variable, in place where nobody else holds the old value.",
     .effects = {effects::updates(0)},
     .shape = assign_shape,
     .no_gradient = "it has no outputs",
     .types_reason = "only numbers are added"});

const Op& kVarIsInitializedOp = define_op(  //
    "VarIsInitializedOp(resource: resource) -> (is_initialized: bool)", {.doc = "Whether the variable has a value.",
                                                                         .effects = {effects::reads(0)},
                                                                         .shape =
                                                                             [](ShapeContext& c) {
                                                                               c.expect_scalar(0);
                                                                               shapes::scalar(c);
                                                                             },
                                                                         .no_gradient = "a truth value has none"});

const Op& kVariableShape = define_op("VariableShape(input: resource; out_type: index = int32) -> (output: out_type)",
                                     {.doc = "The shape of the variable's value, of which nothing else is read.",
                                      .traits = {Trait::kSelfAllocating},
                                      .effects = {effects::reads(0)},
                                      .shape =
                                          [](ShapeContext& c) {
                                            c.expect_scalar(0);
                                            const TensorImpl& handle = *c.in(0).impl();
                                            if (!c.symbolic()) return;
                                            const bool known = handle.meta != nullptr && handle.meta->handle != nullptr;
                                            const PartialShape shape =
                                                known ? handle.meta->handle->shape : PartialShape();
                                            c.output({shape.known_rank() ? Dim(shape.rank()) : Dim(-1)});
                                          },
                                      .no_gradient = "integers have none"});

const Op& kDisableCopyOnRead = define_op("DisableCopyOnRead(resource: resource) -> ()",
                                         {.doc = "Does nothing: reading a variable copies it only where it must.",
                                          .effects = {effects::reads(0)},
                                          .shape = [](ShapeContext& c) { c.expect_scalar(0); },
                                          .no_gradient = "it has no outputs"});

const Op& kResourceApplyGradientDescent = define_op(
    "ResourceApplyGradientDescent(var: resource, alpha: T, delta: T; T: numeric, use_locking: bool = false) -> ()",
    {.doc = "var -= alpha * delta. Updates are always made under the variable's lock, whatever `use_locking` says.",
     .effects = {effects::updates(0)},
     .shape = [](ShapeContext& c) { apply_shape(c, 1, 2); },
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return 2 * c.numel(2); },
     .types_reason = "a step is a fraction, which integers do not hold"});

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
     .types_reason = "a step is a fraction, which integers do not hold"});

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
     .types_reason = "a step is a fraction, which integers do not hold"});

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
     .types_reason = "a step is a fraction, which integers do not hold"});

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
     .types_reason = "a step is a fraction, which integers do not hold"});

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
     .types_reason = "a step is a fraction, which integers do not hold"});

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
     .types_reason = "a step is a fraction, which integers do not hold"});

const Op& kAssert = define_op(  //
    "Assert(condition: bool, data: T; T: list(type) >= 1, summarize: int = 3) -> ()",
    {.doc = "Fails with InvalidArgument, showing the first `summarize` elements of each of `data`, unless `condition` "
            "is true.",
     .cpp = "assert_true",
     .effects = {effects::external()},
     .shape = [](ShapeContext& c) { c.expect_scalar(0); },
     .no_gradient = "it has no outputs",
     .batch = assert_batch});

const Op& kPrint = define_op(
    "Print(input: T, data: U; T: type, U: list(type), message: string = \"\", first_n: int = -1, summarize: int = 3) "
    "-> (output: T)",
    {.doc = "`input`; as it passes, `message` and the first `summarize` elements of each of `data` go to standard "
            "error, the first `first_n` times.",
     .cpp = "print_data",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::external()},
     .shape = [](ShapeContext& c) { c.output(c.shape(0)); },
     .gradient = [](GradContext& g) { g.set(0, g.dy()); }});

const Op& kPrintV2 = define_op(
    "PrintV2(input: string; output_stream: string = \"stderr\", end: string = \"\\n\") -> ()",
    {.doc = "Writes the string to \"stderr\", \"stdout\" or, as a message, to \"log(info)\", \"log(warning)\" or "
            "\"log(error)\".",
     .cpp = "print_text",
     .effects = {effects::external()},
     .shape = [](ShapeContext& c) { c.expect_scalar(0); },
     .no_gradient = "it has no outputs"});

}  // namespace panto
