// Lists of tensors, in which loops collect values. In vmap every example has its own lists.

#include "panto/lib/core/collections/tensor_list.h"

#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/lists/element_shape.h"
#include "panto/lib/ops/lists/list_shapes.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/lists.h"

namespace panto {
namespace {

// The info of the list in input i after `element`, an input, was put into it.
HandleInfo written_list(const ShapeContext& c, int i, int element) {
  HandleInfo info = list_info(c, i);
  expect_list_dtype(info.dtype, c.type("element_dtype"));
  expect_element_shape(info.shape, c.shape(element), "element");
  return {c.type("element_dtype"), std::move(info.shape)};
}

}  // namespace

const Op& kEmptyTensorList = define_op(
    "EmptyTensorList(element_shape: shape_type @host, max_num_elements: int32 @host; element_dtype: type, "
    "shape_type: index) -> (handle: variant)",
    {.doc = "A list without elements. What is put into it must be of type `element_dtype` and fit `element_shape`, in "
            "which -1 is a dimension of any size; a scalar -1 means any shape. It holds at most `max_num_elements`, "
            "unless that is negative.\n"
            "Lists are values: what changes one gives a new list. Give a list that is not needed any more away "
            "(std::move), and it is changed in place.",
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(1);
           give_list(c, c.type("element_dtype"), spelled_element_shape(c.in(0)));
         },
     .no_gradient = "an empty list has none",
     .batch = batching::loop});

const Op& kTensorListReserve = define_op(
    "TensorListReserve(element_shape: shape_type @host, num_elements: int32 @host; element_dtype: type, "
    "shape_type: index) -> (handle: variant)",
    {.doc = "A list of `num_elements` elements, none of which is set yet. As long as one is not, it stands for zeros. "
            "`element_shape` as in EmptyTensorList.",
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(1);
           give_list(c, c.type("element_dtype"), spelled_element_shape(c.in(0)));
         },
     .no_gradient = "what was never set has none",
     .batch = batching::loop});

const Op& kTensorListPushBack = define_op(
    "TensorListPushBack(input_handle: variant, tensor: element_dtype; element_dtype: type) -> (output_handle: variant)",
    {.doc = "The list with one more element, `tensor`. On average this takes the same time however long the list is.",
     .kind = OpKind::kPushBack,
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           if (!c.symbolic()) return;
           HandleInfo info = written_list(c, 0, 1);
           give_list(c, info.dtype, std::move(info.shape));
         },
     .saves = {shape_of(1)},
     .gradient =
         [](GradContext& g) {
           auto [list, element] = tensor_list_pop_back(g.dy(), g.shape(1), g.type("element_dtype"));
           if (g.needs(0)) g.set(0, std::move(list));
           if (g.needs(1)) g.set(1, std::move(element));
         },
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kTensorListPopBack = define_op(
    "TensorListPopBack(input_handle: variant, element_shape: int32 @host; element_dtype: type) -> "
    "(output_handle: variant, tensor: element_dtype)",
    {.doc = "The list without its last element, and that element. `element_shape`, as in EmptyTensorList, must fit it, "
            "and is its shape if it was not set and the list does not tell one.",
     .kind = OpKind::kPopBack,
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           if (!c.symbolic()) return;
           HandleInfo info = read_list(c, 0, 1);
           c.output(1, info.shape);
           give_list(c, info.dtype, list_info(c, 0).shape);
         },
     .saves = {out(0), out(1)},
     .gradient =
         [](GradContext& g) {
           const Tensor list = g.has_dy(0) ? g.dy(0) : unset_like(g.out(0), g.type("element_dtype"));
           g.set(0, tensor_list_push_back(list, g.has_dy(1) ? g.dy(1) : zeros_like(g.out(1))));
         },
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kTensorListLength = define_op("TensorListLength(input_handle: variant) -> (length: int32 @host)",
                                        {.doc = "The number of elements of the list.",
                                         .shape =
                                             [](ShapeContext& c) {
                                               c.expect_scalar(0);
                                               shapes::scalar(c);
                                             },
                                         .no_gradient = "integers have none",
                                         .batch = batching::loop});

const Op& kTensorListElementShape = define_op(
    "TensorListElementShape(input_handle: variant; shape_type: index) -> (element_shape: shape_type @host)",
    {.doc = "The shape that the elements of the list fit, as it was given: -1 for each dimension of any size; a scalar "
            "-1 for any shape.",
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           if (!c.symbolic()) return;
           const HandleInfo info = list_info(c, 0);
           if (!info.shape.known_rank()) return;
           c.output({info.shape.rank()});
           PartialValues values(static_cast<size_t>(info.shape.rank()));
           for (int k = 0; k < info.shape.rank(); ++k) {  // the list itself may know dimensions that are unknown here
             if (info.shape.dim(k) != kUnknownDim) values[static_cast<size_t>(k)] = info.shape.dim(k);
           }
           c.output_values(0, std::move(values));
         },
     .no_gradient = "integers have none",
     .batch = batching::loop});

const Op& kTensorListGetItem = define_op(
    "TensorListGetItem(input_handle: variant, index: int32 @host, element_shape: Tshape @host; element_dtype: type, "
    "Tshape: index = int32) -> (item: element_dtype)",
    {.doc = "Element `index` of the list. `element_shape` as in TensorListPopBack.",
     .traits = {Trait::kSelfAllocating},
     .primary = "element_dtype",
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(1);
           if (c.symbolic()) c.output(read_list(c, 0, 2).shape);
         },
     .saves = {in(0), in(1)},
     .gradient =
         [](GradContext& g) {
           g.set(0, tensor_list_set_item(unset_like(g.in(0), g.type("element_dtype")), g.in(1), g.dy()));
         },
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kTensorListSetItem = define_op(
    "TensorListSetItem(input_handle: variant, index: int32 @host, item: element_dtype; element_dtype: type, "
    "resize_if_index_out_of_bounds: bool = false) -> (output_handle: variant)",
    {.doc =
         "The list with `item` as element `index`. With `resize_if_index_out_of_bounds` it has as many more as it "
         "needs for that, which are not set. It takes the time of a copy of the list, unless the list is given away.",
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(1);
           if (!c.symbolic()) return;
           HandleInfo info = written_list(c, 0, 2);
           give_list(c, info.dtype, std::move(info.shape));
         },
     .saves = {in(0).where("resize_if_index_out_of_bounds"), in(1), shape_of(2)},
     .gradient =
         [](GradContext& g) {
           const Tensor item = tensor_list_get_item(g.dy(), g.in(1), g.shape(2), g.type("element_dtype"));
           if (g.needs(2)) g.set(2, item);
           if (!g.needs(0)) return;
           Tensor list = tensor_list_set_item(g.dy(), g.in(1), zeros_like(item));
           const bool grows = g.flag("resize_if_index_out_of_bounds");
           g.set(0, grows ? tensor_list_resize(list, tensor_list_length(g.in(0))) : list);
         },
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kTensorListResize = define_op(
    "TensorListResize(input_handle: variant, size: int32 @host) -> (output_handle: variant)",
    {.doc = "The list with `size` elements: those at its end are left out, or there are more, which are not set.",
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(1);
           HandleInfo info = list_info(c, 0);
           if (c.symbolic()) give_list(c, info.dtype, std::move(info.shape));
         },
     .saves = {in(0)},
     .gradient = [](GradContext& g) { g.set(0, tensor_list_resize(g.dy(), tensor_list_length(g.in(0)))); },
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kTensorListStack = define_op(
    "TensorListStack(input_handle: variant, element_shape: int32 @host; element_dtype: type, num_elements: int = -1) "
    "-> (tensor: element_dtype)",
    {.doc = "The elements of the list, which must be of one shape, stacked along a new first dimension. Of a list "
            "without elements that are set, `element_shape` or the list must tell their shape. There must be "
            "`num_elements`, unless that is -1.",
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           if (c.symbolic())
             c.output(behind(std::max<int64_t>(-1, c.integer("num_elements")), read_list(c, 0, 1).shape));
         },
     .gradient =
         [](GradContext& g) {
           const Tensor rows = row_shape(g.dy().partial_shape(), [&] { return shape(g.dy()); });
           g.set(0, tensor_list_from_tensor(g.dy(), rows));
         },
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kTensorListFromTensor = define_op(
    "TensorListFromTensor(tensor: element_dtype, element_shape: shape_type @host; element_dtype: type, "
    "shape_type: index) -> (output_handle: variant)",
    {.doc =
         "The list of the slices of `tensor` along its first dimension. `element_shape`, as in EmptyTensorList, must "
         "fit them.",
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           c.expect_rank_at_least(0, 1);
           PartialShape shape = spelled_element_shape(c.in(1));
           expect_element_shape(shape, shape_of_rows(c.shape(0)), "tensor");
           give_list(c, c.type("element_dtype"), std::move(shape));
         },
     .saves = {shape_of(0)},
     .gradient =
         [](GradContext& g) {
           const PartialShape& shape = g.in_shape(0);
           const Tensor rows = row_shape(shape, [&] { return g.shape(0); });
           const int64_t count = shape.known_rank() ? shape.dim(0) : -1;
           g.set(0, tensor_list_stack(g.dy(), rows, g.type("element_dtype"), {.num_elements = count}));
         },
     .batch = batching::loop,
     .jvp = tangents::linear});

}  // namespace panto
