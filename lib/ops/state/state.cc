// Variables and assignments; printing and assertions.

#include "panto/ops/state.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/tensor/variable_checks.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/state/variable_info.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

// Eager calls leave these checks to the kernel, which reads the variable anyway.
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

// The condition must hold for all examples; the message shows the batch's data.
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

const Op& kVariableShape =
    define_op("VariableShape(input: resource; out_type: index = int32) -> (output: out_type @host)",
              {.doc = "The shape of the variable's value, of which nothing else is read.",
               .traits = {Trait::kSelfAllocating},
               .effects = {effects::reads(0)},
               .shape =
                   [](ShapeContext& c) {
                     c.expect_scalar(0);
                     const TensorImpl& handle = *c.in(0).impl();
                     if (!c.symbolic()) return;
                     const bool known = handle.meta != nullptr && handle.meta->handle != nullptr;
                     const PartialShape shape = known ? handle.meta->handle->shape : PartialShape();
                     c.output({shape.known_rank() ? Dim(shape.rank()) : Dim(-1)});
                   },
               .no_gradient = "integers have none"});

const Op& kDisableCopyOnRead = define_op("DisableCopyOnRead(resource: resource) -> ()",
                                         {.doc = "Does nothing: reading a variable copies it only where it must.",
                                          .effects = {effects::reads(0)},
                                          .shape = [](ShapeContext& c) { c.expect_scalar(0); },
                                          .no_gradient = "it has no outputs"});

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
