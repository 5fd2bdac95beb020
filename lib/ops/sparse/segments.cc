// Segment reductions over rows chosen by indices: sum, mean, and sum divided by the square root of the count. They
// combine looked-up embeddings.
#include <cstdint>
#include <vector>

#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/segments.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/sparse.h"

namespace panto {
namespace {

// Divisor of a segment's sum: none, its number of rows, or the square root of that.
enum class Norm { kSum, kMean, kRoot };

DType computed_in(DType type) { return type == kFloat16 || type == kBFloat16 ? kFloat32 : type; }
Tensor as(const Tensor& t, DType type) { return t.dtype() == type ? t : cast(t, type); }

Tensor vector(const Tensor& t) { return ensure_shape(t, PartialShape{kUnknownDim}); }
Tensor ones_for(const Tensor& ids) { return cast(ones_like(ids), kFloat64); }

// The divisors for these numbers of rows, in float64.
template <Norm kNorm>
Tensor divisors(const Tensor& counts) {
  const Tensor some = maximum(counts, 1.0);  // an empty segment has the sum 0
  return kNorm == Norm::kRoot ? sqrt(some) : some;
}

template <Norm kNorm>
Tensor divided(const Tensor& sums, const Tensor& counts) {
  return sums / beside_rows(as(divisors<kNorm>(counts), sums.dtype()), sums);
}

// The number of segments follows from the last id, so it is unknown here.
void chosen_shape(ShapeContext& c) {
  c.expect_rank_at_least(0, 1);
  c.expect_equal(c.vector(1), c.vector(2), "dimension 0 of data and segment_ids");
  if (c.rank(0) < 0) return c.output(PartialShape::unknown());
  std::vector<int64_t> dims(c.shape(0).dims().begin(), c.shape(0).dims().end());
  dims[0] = kUnknownDim;
  c.output(PartialShape(dims));
}

template <Norm kNorm>
void segment_body(CompositeContext& c) {
  const Tensor rows = gather(c.in(0), vector(c.in(1)), 0), ids = vector(c.in(2));
  if constexpr (kNorm == Norm::kSum) return c.set_out(0, segment_sum(rows, ids));
  if constexpr (kNorm == Norm::kMean) return c.set_out(0, segment_mean(rows, ids));
  const DType type = rows.dtype();
  const Tensor sums = segment_sum(as(rows, computed_in(type)), ids);
  c.set_out(0, as(divided<kNorm>(sums, segment_sum(ones_for(ids), ids)), type));
}

// Returns the ids; fails at run time unless they are sorted and not negative. Each id becomes the largest of its
// segment, and at most `count` segments are made for this.
Tensor in_order(const Tensor& ids, const Tensor& count) {
  const Tensor numbers = minimum(cast(ids, kInt64), cast(count, kInt64));
  return gather(segment_max(numbers, numbers), numbers, 0);
}

template <Norm kNorm>
void counted_body(CompositeContext& c) {
  const Tensor rows = gather(c.in(0), vector(c.in(1)), 0);
  const Tensor& count = c.in(3);
  const Tensor ids = in_order(vector(c.in(2)), count);
  if constexpr (kNorm == Norm::kSum) return c.set_out(0, unsorted_segment_sum(rows, ids, count));
  const DType type = rows.dtype();
  const Tensor sums = unsorted_segment_sum(as(rows, computed_in(type)), ids, count);
  c.set_out(0, as(divided<kNorm>(sums, unsorted_segment_sum(ones_for(ids), ids, count)), type));
}

// Row indices[i] of the result sums rows segment_ids[i] of the gradient, each divided by its segment's divisor.
template <Norm kNorm>
void gradient_body(CompositeContext& c) {
  const DType type = c.in(0).dtype();
  const Tensor indices = vector(c.in(1)), ids = vector(c.in(2));
  Tensor grad = as(c.in(0), computed_in(type));
  if constexpr (kNorm != Norm::kSum) {
    const Tensor counts = unsorted_segment_sum(ones_for(ids), ids, gather(shape(grad), 0, 0));
    grad = grad * beside_rows(as(1.0 / divisors<kNorm>(counts), grad.dtype()), grad);
  }
  const Tensor rows = gather(grad, ids, 0);
  const Tensor count = ensure_shape(c.in(3), PartialShape::of_rank(0));
  const Tensor tail = slice(shape(rows, {.out_type = kInt64}), {1}, {-1});
  const Tensor dims = concat({reshape(cast(count, kInt64), {1}), tail}, 0);
  c.set_out(0, as(scatter_nd(expand_dims(cast(indices, kInt64), -1), rows, dims), type));
}

}  // namespace

const Op& kSparseSegmentSum = define_op(
    "SparseSegmentSum(data: T, indices: Tidx, segment_ids: Tsegmentids; T: real, Tidx: index = int32, "
    "Tsegmentids: index = int32, sparse_gradient: bool = false) -> (output: T)",
    {.doc = "SegmentSum of the rows of `data` that `indices` chooses: row s of the result is the sum of the rows "
            "indices[i] where segment_ids[i] is s, 0 where there are none. The ids, as many as there are indices, do "
            "not decrease; there are as many segments as the last one says. An index out of range is an error. "
            "`sparse_gradient` changes no value here.",
     .traits = {Trait::kSelfAllocating},
     .shape = chosen_shape,
     .body = segment_body<Norm::kSum>,
     .in_tensorflow = true});

const Op& kSparseSegmentMean = define_op(
    "SparseSegmentMean(data: T, indices: Tidx, segment_ids: Tsegmentids; T: floating, Tidx: index = int32, "
    "Tsegmentids: index = int32, sparse_gradient: bool = false) -> (output: T)",
    {.doc = "SparseSegmentSum over the numbers of rows: the means of the rows that `indices` chooses, by segment.",
     .traits = {Trait::kSelfAllocating},
     .shape = chosen_shape,
     .body = segment_body<Norm::kMean>,
     .in_tensorflow = true});

const Op& kSparseSegmentSqrtN = define_op(
    "SparseSegmentSqrtN(data: T, indices: Tidx, segment_ids: Tsegmentids; T: floating, Tidx: index = int32, "
    "Tsegmentids: index = int32, sparse_gradient: bool = false) -> (output: T)",
    {.doc = "SparseSegmentSum over the square roots of the numbers of rows of each segment.",
     .shape = chosen_shape,
     .body = segment_body<Norm::kRoot>,
     .in_tensorflow = true});

const Op& kSparseSegmentSumWithNumSegments = define_op(
    "SparseSegmentSumWithNumSegments(data: T, indices: Tidx, segment_ids: Tsegmentids, num_segments: Tnumsegments "
    "@host; T: real, Tidx: index = int32, Tnumsegments: index = int32, Tsegmentids: index = int32, sparse_gradient: "
    "bool = false) -> (output: T)",
    {.doc = "SparseSegmentSum with `num_segments` segments. An id of that or more is an error.",
     .body = counted_body<Norm::kSum>,
     .in_tensorflow = true});

const Op& kSparseSegmentMeanWithNumSegments = define_op(
    "SparseSegmentMeanWithNumSegments(data: T, indices: Tidx, segment_ids: Tsegmentids, num_segments: Tnumsegments "
    "@host; T: floating, Tidx: index = int32, Tnumsegments: index = int32, Tsegmentids: index = int32, "
    "sparse_gradient: bool = false) -> (output: T)",
    {.doc = "SparseSegmentMean with `num_segments` segments. An id of that or more is an error.",
     .body = counted_body<Norm::kMean>,
     .in_tensorflow = true});

const Op& kSparseSegmentSqrtNWithNumSegments = define_op(
    "SparseSegmentSqrtNWithNumSegments(data: T, indices: Tidx, segment_ids: Tsegmentids, num_segments: Tnumsegments "
    "@host; T: floating, Tidx: index = int32, Tnumsegments: index = int32, Tsegmentids: index = int32, "
    "sparse_gradient: bool = false) -> (output: T)",
    {.doc = "SparseSegmentSqrtN with `num_segments` segments. An id of that or more is an error.",
     .body = counted_body<Norm::kRoot>,
     .in_tensorflow = true});

const Op& kSparseSegmentSumGrad = define_op(
    "SparseSegmentSumGrad(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32 @host; T: floating, "
    "Tidx: index = int32, Tsegmentids: index = int32) -> (output: T)",
    {.doc =
         "The gradient of SparseSegmentSum: row r of the result is the sum of the rows segment_ids[i] of `grad` "
         "where indices[i] is r, 0 where there are none. The result has `output_dim0` rows; an index or an id out of "
         "range is an error.",
     .body = gradient_body<Norm::kSum>,
     .in_tensorflow = true});

const Op& kSparseSegmentMeanGrad = define_op(
    "SparseSegmentMeanGrad(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32 @host; T: floating, "
    "Tidx: index = int32, Tsegmentids: index = int32) -> (output: T)",
    {.doc = "The gradient of SparseSegmentMean: SparseSegmentSumGrad of rows over the numbers of their ids.",
     .body = gradient_body<Norm::kMean>,
     .in_tensorflow = true});

const Op& kSparseSegmentSqrtNGrad = define_op(
    "SparseSegmentSqrtNGrad(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32 @host; T: floating, "
    "Tidx: index = int32, Tsegmentids: index = int32) -> (output: T)",
    {.doc = "The gradient of SparseSegmentSqrtN: SparseSegmentSumGrad of rows over the square roots of the numbers of "
            "their ids.",
     .body = gradient_body<Norm::kRoot>,
     .in_tensorflow = true});

}  // namespace panto
