// Concatenation of strings.
#include <string>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/array/segments.h"
#include "panto/lib/ops/batching.h"
#include "panto/ops/strings.h"

namespace panto {
namespace {

void segments_shape(ShapeContext& c) {
  c.expect_rank_at_least(1, 1);
  unsorted_segment_shape(c);
}

}  // namespace

const Op& kStringJoin = define_op(
    "StringJoin(inputs: N*string; N: int >= 0, separator: string = \"\") -> (output: string)",
    {.doc = "The strings of all inputs one after the other, element by element, with `separator` between them. Inputs "
            "broadcast (TensorFlow: scalars only); of none the result is one empty string.",
     .shape =
         [](ShapeContext& c) {
           PartialShape shape = Shape{};
           for (int i = 0; i < c.num_inputs(); ++i) shape = broadcast_shapes(shape, c.shape(i));
           c.output(std::move(shape));
         },
     .no_gradient = "strings are not differentiable",
     .batch = batching::elementwise});

const Op& kReduceJoin = define_op(
    "ReduceJoin(inputs: string, reduction_indices: int32 @host; keep_dims: bool = false, separator: string = \"\")"
    " -> (output: string)",
    {.doc = "The strings along the dimensions `reduction_indices` one after the other, with `separator` between them. "
            "The first that `reduction_indices` names varies first, whatever their order in the tensor; with none the "
            "strings stay. Reduced dimensions are gone, or have size 1 with `keep_dims`.",
     .shape = shapes::reduction,
     .no_gradient = "strings are not differentiable",
     .batch = batching::axes<1>});

const Op& kUnsortedSegmentJoin = define_op(
    "UnsortedSegmentJoin(inputs: string, segment_ids: Tindices, num_segments: Tnumsegments @host; "
    "separator: string = \"\", Tindices: index, Tnumsegments: index = int32) -> (output: string)",
    {.doc =
         "The strings whose place has the same number in `segment_ids` one after the other, with `separator` "
         "between them, but not behind what is still empty, as in TensorFlow. `segment_ids` has the first dimensions "
         "of `inputs`, the rest are those of slices. Segments without strings are empty; a number outside of "
         "[0, num_segments) is InvalidArgument.",
     .shape = segments_shape,
     .no_gradient = "strings are not differentiable",
     .batch = batching::loop});

}  // namespace panto
