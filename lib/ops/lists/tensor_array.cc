// Arrays and stacks of tensors that are changed in place; TensorFlow 1's loops collect values in them. The
// TensorList... ops use values instead, and have gradients.

#include <algorithm>
#include <optional>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/lists/list_shapes.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/lists.h"

namespace panto {
namespace {

// What is known of the elements of the array that input 0 refers to; dtype kInvalid if nothing. Eager calls leave all
// checks to the array.
HandleInfo array_info(const ShapeContext& c) {
  c.expect_scalar(0);
  const TensorImpl& handle = *c.in(0).impl();
  return handle.meta == nullptr || handle.meta->handle == nullptr ? HandleInfo{} : *handle.meta->handle;
}

void expect_array_dtype(const HandleInfo& info, DType wanted) {
  if (info.dtype == wanted || info.dtype == DType::kInvalid) return;
  invalid("dtype: expected the array's {}, got {}", dtype_name(info.dtype), dtype_name(wanted));
}

// The shape of an element that is read: what is known of the array's elements, merged with `given`. Checks the dtype.
PartialShape element_of(const ShapeContext& c, const PartialShape& given = {}) {
  const HandleInfo info = array_info(c);
  expect_array_dtype(info, c.type("dtype"));
  if (!info.shape.compatible_with(given)) {
    invalid("element_shape: expected the array's {}, got {}", info.shape.to_string(), given.to_string());
  }
  return info.shape.merged_with(given);
}

// The shape function of writes, which return the flow.
void write_shape(ShapeContext& c, int value, int flow) {
  c.expect_scalar(flow);
  shapes::scalar(c);
  expect_array_dtype(array_info(c), c.in(value).dtype());
}

// Gradients are not supported: they would be collected in another array found by name, which two tapes, or two
// gradients of one tape, would share.
void no_gradient_by_arrays(GradContext& g) {
  failf(Code::kUnimplemented, "gradient of {}: expected a list of the ops TensorList..., got an array that is changed",
        g.op().name());
}

void no_tangent_by_arrays(JvpContext& c) {
  failf(Code::kUnimplemented,
        "derivative of {}: expected a list of the ops TensorList..., got an array that is changed", c.op().name());
}

}  // namespace

const Op& kTensorArrayV3 = define_op(
    "TensorArrayV3(size: int32 @host; dtype: type, element_shape: shape = ?, dynamic_size: bool = false, "
    "clear_after_read: bool = true, identical_element_shapes: bool = false, tensor_array_name: string = \"\") -> "
    "(handle: resource, flow: float32)",
    {.doc = "A new array of `size` elements, each of which is written once; with `dynamic_size` it grows where it is "
            "written behind its end. With `clear_after_read` an element is read once. `flow` is a number that means "
            "nothing: what takes it comes later.",
     .cpp = "tensor_array",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(0);
           c.output(0, Shape{});
           c.output(1, Shape{});
           c.output_handle(0, std::make_shared<HandleInfo>(HandleInfo{c.type("dtype"), c.shape_attr("element_shape")}));
         },
     .no_gradient = "an array without elements has none",
     .batch = batching::loop});

const Op& kTensorArrayGradV3 = define_op(
    "TensorArrayGradV3(handle: resource, flow_in: float32; source: string) -> (grad_handle: resource, flow_out: "
    "float32)",
    {.doc = "The array of the gradients by the elements of an array, which is made where there is none of the name "
            "`source`: it has as many elements, to which writes are added, and those not written are zeros. The first "
            "array does not grow any more.",
     .cpp = "tensor_array_grad",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::updates(0), effects::allocates(0)},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(1);
           c.output(0, Shape{});
           c.output(1, Shape{});
           c.output_handle(0, std::make_shared<HandleInfo>(array_info(c)));
         },
     .no_gradient = "the array is that of a gradient"});

const Op& kTensorArrayGradWithShape = define_op(
    "TensorArrayGradWithShape(handle: resource, flow_in: float32, shape_to_prepend: int32 @host; source: string) -> "
    "(grad_handle: resource, flow_out: float32)",
    {.doc =
         "The array of gradients that TensorArrayGradV3 gives, with elements that have `shape_to_prepend` before the "
         "shape of those of the first array. One that is there already stays as it is.",
     .cpp = "tensor_array_grad_with_shape",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::updates(0), effects::allocates(0)},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(1);
           c.vector(2);
           c.output(0, Shape{});
           c.output(1, Shape{});
           c.output_handle(0, std::make_shared<HandleInfo>(HandleInfo{array_info(c).dtype, PartialShape()}));
         },
     .no_gradient = "the array is that of a gradient"});

const Op& kTensorArrayWriteV3 = define_op(
    "TensorArrayWriteV3(handle: resource, index: int32 @host, value: T, flow_in: float32; T: type) -> (flow_out: "
    "float32)",
    {.doc = "Puts `value` into the array as element `index`.",
     .cpp = "tensor_array_write",
     .effects = {effects::updates(0)},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(1);
           write_shape(c, 2, 3);
         },
     .gradient = no_gradient_by_arrays,
     .jvp = no_tangent_by_arrays});

const Op& kTensorArrayReadV3 = define_op(
    "TensorArrayReadV3(handle: resource, index: int32 @host, flow_in: float32; dtype: type) -> (value: dtype)",
    {.doc = "Element `index` of the array. One that was never written is zeros, if the array knows the shape.",
     .cpp = "tensor_array_read",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::updates(0)},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(1);
           c.expect_scalar(2);
           if (c.symbolic()) c.output(element_of(c));
         },
     .gradient = no_gradient_by_arrays,
     .jvp = no_tangent_by_arrays});

const Op& kTensorArrayGatherV3 = define_op(
    "TensorArrayGatherV3(handle: resource, indices: int32 @host, flow_in: float32; dtype: type, element_shape: shape = "
    "?) -> (value: dtype)",
    {.doc = "The elements `indices` of the array, which must be of one shape, along a new first dimension.",
     .cpp = "tensor_array_gather",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::updates(0)},
     .shape =
         [](ShapeContext& c) {
           const int64_t count = c.vector(1);
           c.expect_scalar(2);
           if (c.symbolic()) c.output(behind(count, element_of(c, c.shape_attr("element_shape"))));
         },
     .gradient = no_gradient_by_arrays,
     .jvp = no_tangent_by_arrays});

const Op& kTensorArrayScatterV3 = define_op(
    "TensorArrayScatterV3(handle: resource, indices: int32 @host, value: T, flow_in: float32; T: type) -> (flow_out: "
    "float32)",
    {.doc = "Puts the slices of `value` along its first dimension into the array as its elements `indices`.",
     .cpp = "tensor_array_scatter",
     .effects = {effects::updates(0)},
     .shape =
         [](ShapeContext& c) {
           c.expect_rank_at_least(2, 1);
           c.expect_equal(c.vector(1), c.dim(2, 0), "number of indices and slices");
           write_shape(c, 2, 3);
         },
     .gradient = no_gradient_by_arrays,
     .jvp = no_tangent_by_arrays});

const Op& kTensorArrayConcatV3 = define_op(
    "TensorArrayConcatV3(handle: resource, flow_in: float32; dtype: type, element_shape_except0: shape = ?) -> (value: "
    "dtype, lengths: int64 @host)",
    {.doc = "All elements of the array one behind the other along their first dimension, and how long each one is.",
     .cpp = "tensor_array_concat",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::updates(0)},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(1);
           c.output(1, PartialShape{-1});
           if (c.symbolic()) c.output(0, behind(-1, c.shape_attr("element_shape_except0")));
         },
     .gradient = no_gradient_by_arrays,
     .jvp = no_tangent_by_arrays});

const Op& kTensorArraySplitV3 = define_op(
    "TensorArraySplitV3(handle: resource, value: T, lengths: int64 @host, flow_in: float32; T: type) -> (flow_out: "
    "float32)",
    {.doc = "Puts pieces of `value`, of these lengths along its first dimension, into the array: as many as it has "
            "elements.",
     .cpp = "tensor_array_split",
     .effects = {effects::updates(0)},
     .shape =
         [](ShapeContext& c) {
           c.expect_rank_at_least(1, 1);
           c.vector(2);
           write_shape(c, 1, 3);
         },
     .gradient = no_gradient_by_arrays,
     .jvp = no_tangent_by_arrays});

const Op& kTensorArraySizeV3 = define_op(  //
    "TensorArraySizeV3(handle: resource, flow_in: float32) -> (size: int32 @host)",
    {.doc = "The number of elements of the array.",
     .cpp = "tensor_array_size",
     .effects = {effects::reads(0)},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(0);
           c.expect_scalar(1);
           shapes::scalar(c);
         },
     .no_gradient = "integers have none",
     .batch = batching::loop});

const Op& kTensorArrayCloseV3 = define_op(  //
    "TensorArrayCloseV3(handle: resource) -> ()",
    {.doc = "Lets go of the elements of the array, which is not used any more.",
     .cpp = "tensor_array_close",
     .effects = {effects::updates(0)},
     .shape = [](ShapeContext& c) { c.expect_scalar(0); },
     .no_gradient = "it has no outputs"});

const Op& kStackV2 =
    define_op("StackV2(max_size: int32 @host; elem_type: type, stack_name: string = \"\") -> (handle: resource)",
              {.doc = "A new stack of tensors of one type, which holds at most `max_size`, unless that is negative.",
               .cpp = "tensor_stack",
               .traits = {Trait::kSelfAllocating},
               .effects = {effects::allocates(0)},
               .shape =
                   [](ShapeContext& c) {
                     c.expect_scalar(0);
                     shapes::scalar(c);
                     c.output_handle(0, std::make_shared<HandleInfo>(HandleInfo{c.type("elem_type"), PartialShape()}));
                   },
               .no_gradient = "an empty stack has none",
               .batch = batching::loop});

const Op& kStackPushV2 =
    define_op("StackPushV2(handle: resource, elem: T; T: type, swap_memory: bool = false) -> (output: T)",
              {.doc = "`elem`, which lies on top of the stack afterwards.",
               .cpp = "tensor_stack_push",
               .traits = {Trait::kSelfAllocating},
               .effects = {effects::updates(0)},
               .shape =
                   [](ShapeContext& c) {
                     expect_array_dtype(array_info(c), c.in(1).dtype());
                     c.output(c.shape(1));
                   },
               .no_gradient = "what is taken off a stack was put there by a gradient"});

const Op& kStackPopV2 =
    define_op("StackPopV2(handle: resource; elem_type: type) -> (elem: elem_type)",
              {.doc = "Takes the element on top off the stack.",
               .cpp = "tensor_stack_pop",
               .traits = {Trait::kSelfAllocating},
               .effects = {effects::updates(0)},
               .shape = [](ShapeContext& c) { expect_array_dtype(array_info(c), c.type("elem_type")); },
               .no_gradient = "what is taken off a stack was put there by a gradient"});

const Op& kStackCloseV2 = define_op(  //
    "StackCloseV2(handle: resource) -> ()", {.doc = "Lets go of the elements of the stack, which is not used any more.",
                                             .cpp = "tensor_stack_close",
                                             .effects = {effects::updates(0)},
                                             .shape = [](ShapeContext& c) { c.expect_scalar(0); },
                                             .no_gradient = "it has no outputs"});

}  // namespace panto
