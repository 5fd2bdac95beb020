// Reductions of sparse tensors with sparse results.
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/lib/ops/sparse/coo.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/sparse.h"

namespace panto {
namespace {

void groups_shape(ShapeContext& c) {
  const int64_t rank = sparse::entries(c, 0, 1, 2).rank;
  if (c.rank(3) > 1) {
    invalid("reduction_axes: expected a scalar or vector, got shape {}", c.shape(3).to_string());
  }
  c.output(1, PartialShape{kUnknownDim});
  const KnownIntegers dims(c, 2, rank), axes(c.in(3));
  const bool keep = c.flag("keep_dims");
  for (int64_t i = 0; dims.counted() && i < dims.count(); ++i) {
    if (dims.known(i) && dims[i] < 0) invalid("input_shape: expected dimensions of at least 0, got {}", dims[i]);
  }
  if (dims.counted()) c.shape_from(2);  // checks that the shape's number of elements does not overflow
  if (!dims.counted() || !axes.counted() || !axes.complete()) {
    const int64_t left = keep && dims.counted() ? dims.count() : kUnknownDim;
    c.output(0, PartialShape{kUnknownDim, left});
    return c.output(2, PartialShape{left});
  }
  AxisFlags reduced;
  for (int64_t i = 0; i < axes.count(); ++i) {
    reduced.set(static_cast<size_t>(c.axis(axes[i], static_cast<int>(dims.count()), "reduction_axes")));
  }
  PartialValues left;
  for (int64_t i = 0; i < dims.count(); ++i) {
    if (!reduced[static_cast<size_t>(i)]) {
      left.push_back(dims.get(i));
    } else if (keep) {
      left.push_back(1);
    }
  }
  const auto out_rank = static_cast<int64_t>(left.size());
  c.output(0, PartialShape{kUnknownDim, out_rank});
  c.output(2, PartialShape{out_rank});
  c.output_values(2, std::move(left));
}

// Every entry gets the gradient of the result entry that it contributed to, found by its flat position.
void sum_gradient(GradContext& g) {
  if (!g.has_dy(1)) return;
  const Tensor &indices = g.in(0), &dims = g.in(2);
  const Tensor rank = size(dims);
  const Tensor axes = expand_dims(floor_mod(reshape(g.in(3), {-1}), rank), -1);
  const Tensor kept = tensor_scatter_update(ones_like(dims), axes, fill(reshape(size(axes), {1}), int64_t{0}));
  const Tensor is_kept = equal(kept, int64_t{1});
  const Tensor strides =
      cumprod(select(is_kept, dims, ones_like(dims)), 0, {.exclusive = true, .reverse = true}) * kept;
  const Tensor left = g.flag("keep_dims") ? strides : gather(strides, reshape(nonzero(is_kept), {-1}), 0);
  const Tensor groups = reduce_sum(g.out(0) * left, {1}), entries = reduce_sum(indices * strides, {1});
  g.set(1, gather(g.dy(1), searchsorted(reshape(groups, {-1}), reshape(entries, {-1})), 0));
}

}  // namespace

const Op& kSparseReduceSumSparse = define_op(
    "SparseReduceSumSparse(input_indices: int64, input_values: T, input_shape: int64 @host, reduction_axes: int32 "
    "@host; keep_dims: bool = false, T: numeric) -> (output_indices: int64, output_values: T, output_shape: int64)",
    {.doc = "SparseReduceSum with a sparse result: one entry, in the order of the indices, wherever there is one to be "
            "added up, also if the sum is 0. An index out of range in a dimension that is kept is an error. TensorFlow "
            "has no gradient.",
     .traits = {Trait::kSelfAllocating},
     .shape = groups_shape,
     .saves = {in(0), in(2), in(3), out(0)},
     .gradient = sum_gradient,
     .flops = [](const CostContext& c) { return c.numel(1); },
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kSparseReduceMaxSparse = define_op(
    "SparseReduceMaxSparse(input_indices: int64, input_values: T, input_shape: int64 @host, reduction_axes: int32 "
    "@host; keep_dims: bool = false, T: real) -> (output_indices: int64, output_values: T, output_shape: int64)",
    {.doc =
         "SparseReduceMax with a sparse result: one entry, in the order of the indices, wherever there is one. A NaN "
         "gives way to an entry that comes after it.",
     .traits = {Trait::kSelfAllocating},
     .shape = groups_shape,
     .no_gradient = "TensorFlow has none",
     .flops = [](const CostContext& c) { return c.numel(1); },
     .batch = batching::loop});

}  // namespace panto
