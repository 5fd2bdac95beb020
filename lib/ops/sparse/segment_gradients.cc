// Gradients of segment reductions over rows chosen by indices; returns the gradients of chosen rows only.
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/sparse.h"

namespace panto {
namespace {

// Returns the indices; fails at run time unless they are below `count`, as a gather from a tensor with `count` empty
// rows checks them.
Tensor rows_below(const Tensor& indices, const Tensor& count) {
  const Tensor scalar = ensure_shape(count, PartialShape::of_rank(0));
  const Tensor dims = concat({reshape(cast(scalar, kInt64), {1}), fill({1}, int64_t{0})}, 0);
  const Tensor nothing = gather(fill(dims, cast(0, indices.dtype())), indices, 0);
  return reshape(concat({expand_dims(indices, -1), nothing}, 1), {-1});
}

using Gradient = Tensor (*)(const Tensor& grad, const Tensor& indices, const Tensor& ids, const Tensor& rows);

// The rows of the gradient that may be nonzero: one per distinct index, in ascending order.
template <Gradient kGradient>
void rows_body(CompositeContext& c) {
  const Tensor indices = rows_below(ensure_shape(c.in(1), PartialShape{kUnknownDim}), c.in(3));
  const Tensor rows = unique(sort(indices)).y;
  const Tensor places = cast(searchsorted(rows, indices), kInt32);
  c.set_out(0, kGradient(c.in(0), places, c.in(2), size(rows)));
  c.set_out(1, rows);
}

Tensor sum_gradient(const Tensor& grad, const Tensor& indices, const Tensor& ids, const Tensor& rows) {
  return sparse_segment_sum_grad(grad, indices, ids, rows);
}
Tensor mean_gradient(const Tensor& grad, const Tensor& indices, const Tensor& ids, const Tensor& rows) {
  return sparse_segment_mean_grad(grad, indices, ids, rows);
}
Tensor root_gradient(const Tensor& grad, const Tensor& indices, const Tensor& ids, const Tensor& rows) {
  return sparse_segment_sqrt_n_grad(grad, indices, ids, rows);
}

}  // namespace

const Op& kSparseSegmentSumGradV2 = define_op(
    "SparseSegmentSumGradV2(grad: T, indices: Tidx, segment_ids: Tsegmentids, dense_output_dim0: int32 @host; T: "
    "floating, Tidx: index = int32, Tsegmentids: index = int32) -> (output: T, sorted_unique_indices: Tidx)",
    {.doc = "The rows of SparseSegmentSumGrad that are among `indices`, and their numbers, in ascending order. An "
            "index that is not below `dense_output_dim0`, or an id out of range, is an error.",
     .cpp = "sparse_segment_sum_grad_rows",
     .body = rows_body<sum_gradient>,
     .in_tensorflow = true});

const Op& kSparseSegmentMeanGradV2 = define_op(
    "SparseSegmentMeanGradV2(grad: T, indices: Tidx, segment_ids: Tsegmentids, dense_output_dim0: int32 @host; T: "
    "floating, Tidx: index = int32, Tsegmentids: index = int32) -> (output: T, sorted_unique_indices: Tidx)",
    {.doc = "The rows of SparseSegmentMeanGrad that are among `indices`, and their numbers, as SparseSegmentSumGradV2.",
     .cpp = "sparse_segment_mean_grad_rows",
     .body = rows_body<mean_gradient>,
     .in_tensorflow = true});

const Op& kSparseSegmentSqrtNGradV2 = define_op(
    "SparseSegmentSqrtNGradV2(grad: T, indices: Tidx, segment_ids: Tsegmentids, dense_output_dim0: int32 @host; T: "
    "floating, Tidx: index = int32, Tsegmentids: index = int32) -> (output: T, sorted_unique_indices: Tidx)",
    {.doc = "The rows of SparseSegmentSqrtNGrad that are among `indices`, and their numbers, as "
            "SparseSegmentSumGradV2.",
     .cpp = "sparse_segment_sqrt_n_grad_rows",
     .body = rows_body<root_gradient>,
     .in_tensorflow = true});

}  // namespace panto
