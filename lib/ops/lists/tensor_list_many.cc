// Ops on several elements of lists at once: gather, scatter, concat and split.

#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/collections/tensor_list.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/lists/element_shape.h"
#include "panto/lib/ops/lists/list_shapes.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/lists.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

// The dimensions of input i without the first, as a vector.
Tensor row_dims(GradContext& g, int i) {
  return row_shape(g.in_shape(i), [&] { return g.shape(i); });
}

// `rows`, with zeros where a later row has the same index: the last write to an element wins.
Tensor of_last(const Tensor& rows, const Tensor& indices, const Tensor& dims) {
  const Tensor own = range(0, size(indices), 1);
  const Tensor last = tensor_list_gather(tensor_list_scatter(own, indices, Shape{}, -1), indices, Shape{}, kInt32);
  const Tensor mask = reshape(equal(last, own), concat({shape(indices), ones_like(dims)}, 0));
  return select(mask, rows, zeros_like(rows));
}

// What is known of the lists in input i, a tensor of lists or a single list.
HandleInfo lists_info(const ShapeContext& c, int i) {
  if (c.rank(i) == 0) return list_info(c, i);
  const MetaInfo* meta = c.in(i).impl()->meta;
  return meta == nullptr || meta->handle == nullptr ? HandleInfo{} : *meta->handle;
}

}  // namespace

const Op& kTensorListGather = define_op(
    "TensorListGather(input_handle: variant, indices: int32 @host, element_shape: int32 @host; element_dtype: type) -> "
    "(values: element_dtype)",
    {.doc = "The elements `indices` of the list, which must be of one shape, stacked along a new first dimension. "
            "`element_shape` as in TensorListStack.",
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           const int64_t count = c.vector(1);
           if (c.symbolic()) c.output(behind(count, read_list(c, 0, 2).shape));
         },
     .saves = {in(0), in(1)},
     .gradient =
         [](GradContext& g) {
           // An element that is gathered several times gets the sum of the gradients.
           const Tensor at = expand_dims(g.in(1), -1);
           const Tensor count = reshape(tensor_list_length(g.in(0)), {1});
           const Tensor rows = row_shape(g.dy().partial_shape(), [&] { return shape(g.dy()); });
           const Tensor sums = gather_nd(scatter_nd(at, g.dy(), concat({count, rows}, 0)), at);
           g.set(0,
                 tensor_list_scatter_into_existing_list(unset_like(g.in(0), g.type("element_dtype")), sums, g.in(1)));
         },
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kTensorListScatterV2 = define_op(
    "TensorListScatterV2(tensor: element_dtype, indices: int32 @host, element_shape: shape_type @host, num_elements: "
    "int32 @host; element_dtype: type, shape_type: index) -> (output_handle: variant)",
    {.doc = "A list in which the slices of `tensor` along its first dimension are the elements `indices`, and the "
            "others are not set. It has `num_elements`, or, where that is -1, as many as it needs. Of an index that "
            "occurs twice the last slice counts.",
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           c.expect_rank_at_least(0, 1);
           c.expect_equal(c.dim(0, 0), c.vector(1), "number of slices and indices");
           c.expect_scalar(3);
           PartialShape shape = spelled_element_shape(c.in(2));
           expect_element_shape(shape, shape_of_rows(c.shape(0)), "tensor");
           give_list(c, c.type("element_dtype"), std::move(shape));
         },
     .saves = {shape_of(0), in(1)},
     .gradient =
         [](GradContext& g) {
           const Tensor dims = row_dims(g, 0);
           g.set(0, of_last(tensor_list_gather(g.dy(), g.in(1), dims, g.type("element_dtype")), g.in(1), dims));
         },
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kTensorListScatterIntoExistingList = define_op(
    "TensorListScatterIntoExistingList(input_handle: variant, tensor: element_dtype, indices: int32 @host; "
    "element_dtype: type) -> (output_handle: variant)",
    {.doc = "The list with the slices of `tensor` along its first dimension as elements `indices`; it becomes longer "
            "where it needs to.",
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           c.expect_rank_at_least(1, 1);
           c.expect_equal(c.dim(1, 0), c.vector(2), "number of slices and indices");
           if (!c.symbolic()) return;
           HandleInfo info = list_info(c, 0);
           expect_list_dtype(info.dtype, c.type("element_dtype"));
           expect_element_shape(info.shape, shape_of_rows(c.shape(1)), "tensor");
           give_list(c, c.type("element_dtype"), std::move(info.shape));
         },
     .saves = {in(0), shape_of(1), in(2)},
     .gradient =
         [](GradContext& g) {
           const Tensor dims = row_dims(g, 1);
           const Tensor rows = tensor_list_gather(g.dy(), g.in(2), dims, g.type("element_dtype"));
           if (g.needs(1)) g.set(1, of_last(rows, g.in(2), dims));
           if (!g.needs(0)) return;
           const Tensor rest = tensor_list_scatter_into_existing_list(g.dy(), zeros_like(rows), g.in(2));
           g.set(0, tensor_list_resize(rest, tensor_list_length(g.in(0))));
         },
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kTensorListSplit = define_op(
    "TensorListSplit(tensor: element_dtype, element_shape: shape_type @host, lengths: int64 @host; element_dtype: "
    "type, "
    "shape_type: index) -> (output_handle: variant)",
    {.doc = "The list of the pieces of `tensor`, of these lengths along its first dimension. They must fit "
            "`element_shape`.",
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           c.expect_rank_at_least(0, 1);
           c.vector(2);
           PartialShape shape = spelled_element_shape(c.in(1));
           expect_element_shape(shape, behind(-1, shape_of_rows(c.shape(0))), "tensor");
           give_list(c, c.type("element_dtype"), std::move(shape));
         },
     .saves = {shape_of(0), in(2)},
     .gradient =
         [](GradContext& g) {
           const Tensor rows = concat({constant(tensor({-1}), kInt32), row_dims(g, 0)}, 0);
           g.set(0, tensor_list_concat(g.dy(), rows, g.in(2), g.type("element_dtype")).tensor);
         },
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kTensorListConcatV2 = define_op(
    "TensorListConcatV2(input_handle: variant, element_shape: shape_type @host, leading_dims: int64 @host; "
    "element_dtype: type, shape_type: index) -> (tensor: element_dtype, lengths: int64 @host)",
    {.doc = "The elements of the list one behind the other along their first dimension, and how long each one is. One "
            "that is not set is zeros, as long as `leading_dims` says.",
     .cpp = "tensor_list_concat",
     .traits = {Trait::kSelfAllocating},
     .primary = "element_dtype",
     .shape =
         [](ShapeContext& c) {
           c.vector(2);
           c.output(1, PartialShape{-1});
           if (!c.symbolic()) return;
           const PartialShape element = read_list(c, 0, 1).shape;
           if (!element.known_rank()) return;
           if (element.rank() < 1) invalid("element_shape: expected a rank of at least 1, got {}", element.to_string());
           c.output(0, behind(-1, shape_of_rows(element)));
         },
     .saves = {in(0), out(1)},
     .gradient =
         [](GradContext& g) {
           g.set(0, tensor_list_split(g.dy(0), tensor_list_element_shape(g.in(0), kInt32), g.out(1)));
         },
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kTensorListConcatLists =
    define_op("TensorListConcatLists(input_a: variant, input_b: variant; element_dtype: type) -> (output: variant)",
              {.doc = "The elements of one list, then those of another. Both may be tensors of lists, of one shape.",
               .traits = {Trait::kSelfAllocating},
               .shape =
                   [](ShapeContext& c) {
                     if (!c.shape(0).compatible_with(c.shape(1))) {
                       invalid("input_b: expected the shape of input_a, {}, got {}", c.shape(0).to_string(),
                               c.shape(1).to_string());
                     }
                     if (!c.symbolic()) return;
                     HandleInfo a = lists_info(c, 0);
                     const HandleInfo b = lists_info(c, 1);
                     for (const HandleInfo& info : {a, b}) expect_list_dtype(info.dtype, c.type("element_dtype"));
                     expect_element_shape(a.shape, b.shape, "input_b");
                     give_list(c, c.type("element_dtype"), a.shape.merged_with(b.shape));
                     c.output(c.shape(0).merged_with(c.shape(1)));
                   },
               .no_gradient = "TensorFlow has none",
               .batch = batching::loop,
               .jvp = tangents::linear});

const Op& kTensorListPushBackBatch = define_op(
    "TensorListPushBackBatch(input_handles: variant, tensor: element_dtype; element_dtype: type) -> (output_handles: "
    "variant)",
    {.doc = "Lists, each with one more element: `tensor` has these along the dimensions of `input_handles`.",
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           const PartialShape &lists = c.shape(0), &elements = c.shape(1);
           if (!lists.known_rank()) return;
           c.expect_rank_at_least(1, lists.rank());
           const auto rank = static_cast<size_t>(lists.rank());
           if (elements.known_rank() && !PartialShape(elements.dims().first(rank)).compatible_with(lists)) {
             invalid("tensor: expected a shape that begins with {}, got {}", lists.to_string(), elements.to_string());
           }
           if (!c.symbolic()) return;
           HandleInfo info = lists_info(c, 0);
           expect_list_dtype(info.dtype, c.type("element_dtype"));
           give_list(c, c.type("element_dtype"), std::move(info.shape));
           c.output(lists);
         },
     .no_gradient = "TensorFlow has none",
     .batch = batching::loop,
     .jvp = tangents::linear});

}  // namespace panto
