// Segment ops: reduce the rows that have the same number in `segment_ids`.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/segments.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {

namespace {

// Sets the output's shape: the number of segments, then the dimensions of the data after the first `first`.
void output_rows(ShapeContext& c, int64_t segments, int first) {
  const PartialShape& data = c.shape(0);
  SmallVector<int64_t, 8> dims;
  dims.push_back(segments);
  for (int i = first; i < data.rank(); ++i) dims.push_back(data.dim(i));
  c.output(PartialShape(std::span<const int64_t>(dims.data(), dims.size())));
}

}  // namespace

void unsorted_segment_shape(ShapeContext& c) {
  const PartialShape &data = c.shape(0), &ids = c.shape(1);
  const std::string& name = c.op().signature().inputs[0].name;
  const std::optional<int64_t> count = known_scalar(c, 2);
  if (count && *count < 0) invalid("num_segments: expected at least 0, got {}", *count);
  if (!data.known_rank() || !ids.known_rank()) return c.output(PartialShape::unknown());
  if (ids.rank() > data.rank()) {
    invalid("rank of segment_ids: expected at most {}, that of {}, got {}", data.rank(), name, ids.rank());
  }
  for (int i = 0; i < ids.rank(); ++i) {
    if (data.dim(i) == ids.dim(i)) continue;
    c.expect_equal(data.dim(i), ids.dim(i), fmt::format("leading dimensions of {} and segment_ids", name));
  }
  output_rows(c, count.value_or(kUnknownDim), ids.rank());
}

Tensor beside_rows(const Tensor& per_row, const Tensor& data) {
  const int rank = per_row.partial_shape().rank(), whole = data.partial_shape().rank();
  if (rank < 0 || whole < 0) {
    const Tensor dims = shape(per_row);
    const Tensor further = size(shape(data)) - size(dims);
    return reshape(per_row, concat({dims, fill(reshape(further, {1}), 1)}, 0));
  }
  Tensor result = per_row;
  for (int i = rank; i < whole; ++i) result = expand_dims(result, -1);
  return result;
}

namespace {

void sorted_shape(ShapeContext& c) {
  c.expect_rank_at_least(0, 1);
  const int64_t count = c.vector(1);
  if (c.rank(0) < 0) return c.output(PartialShape::unknown());
  c.expect_equal(c.dim(0, 0), count, "dimension 0 of data and segment_ids");
  output_rows(c, kUnknownDim, 1);
}

// Gathers for each row of the data the row of its segment; 0 if the segment's number is negative.
Tensor spread(const Tensor& of_segments, const Tensor& ids) {
  const Tensor taken = gather(of_segments, maximum(ids, 0), 0);
  return select(beside_rows(greater_equal(ids, 0), taken), taken, zeros_like(taken));
}

Tensor first_dim(const Tensor& t) { return gather(shape(t), 0, 0); }

// ---- Extremes -------------------------------------------------------------------------------------------------------

// The share of each element in its segment's gradient: elements equal to the extreme share it equally.
Tensor shares(const Tensor& data, const Tensor& ids, const Tensor& extremes) {
  const Tensor chosen = cast(equal(data, spread(extremes, ids)), data.dtype());
  const Tensor count = unsorted_segment_sum(chosen, ids, first_dim(extremes));
  return chosen * spread(1 / maximum(count, 1), ids);  // maximum: a segment may be empty
}

void extreme_gradient(GradContext& g) { g.set(0, shares(g.in(0), g.in(1), g.out(0)) * spread(g.dy(), g.in(1))); }

void extreme_tangent(JvpContext& c) {
  if (!c.has_tangent(0)) return;
  c.set(0, unsorted_segment_sum(shares(c.in(0), c.in(1), c.out()) * c.tangent(0), c.in(1), first_dim(c.out())));
}

// ---- Products -------------------------------------------------------------------------------------------------------

// For each row, the product of the rows before it (after it, if `reverse`) in its segment. `ids` must be sorted.
Tensor running_product(const Tensor& rows, const Tensor& ids, bool reverse) {
  const Tensor count = size(ids);
  const Tensor position = range(0, count, 1);
  const Tensor next = reverse ? maximum(position - 1, 0) : minimum(position + 1, count - 1);
  const Tensor first = beside_rows(equal(position, reverse ? count - 1 : zeros_like(count)), rows);
  const Tensor same = beside_rows(equal(gather(ids, next, 0), ids), rows);
  const Tensor zero = zeros_like(rows), one = ones_like(rows);
  // y is 0 at first rows of segments, where the empty product, 1, belongs.
  const Tensor y = linear_recurrence(select(same, rows, zero), select(same, select(first, rows, zero), one), 0,
                                     {.reverse = reverse});
  return select(first, one, y);
}

// For each element, the product of the other elements of its segment. Does not divide: quotients fail for zeros, and
// their derivatives for several zeros in one segment.
Tensor product_of_others(const Tensor& data, const Tensor& segment_ids, bool in_order) {
  const DType type = data.dtype();
  // Partial products may overflow even if the full product does not.
  const DType wide = type == kFloat32                        ? kFloat64
                     : type == kFloat16 || type == kBFloat16 ? kFloat32
                     : type == kComplex64                    ? kComplex128
                                                             : type;
  const Tensor x = type == wide ? data : cast(data, wide);
  if (in_order) {
    const Tensor others = running_product(x, segment_ids, false) * running_product(x, segment_ids, true);
    return type == wide ? others : cast(others, type);
  }
  const Tensor ids = reshape(segment_ids, {-1});
  const Tensor tail = slice(shape(x), reshape(size(shape(segment_ids)), {1}), {-1});
  const Tensor rows = reshape(x, concat({reshape(size(ids), {1}), tail}, 0));
  const Tensor order = argsort(cast(ids, kInt64));
  const Tensor sorted = gather(rows, order, 0), numbers = gather(ids, order, 0);
  const Tensor others = running_product(sorted, numbers, false) * running_product(sorted, numbers, true);
  const Tensor back = reshape(gather(others, invert_permutation(order), 0), shape(x));
  return type == wide ? back : cast(back, type);
}

template <bool kInOrder>
void product_gradient(GradContext& g) {
  g.set(0, product_of_others(g.conj_in(0), g.in(1), kInOrder) * spread(g.dy(), g.in(1)));
}

template <bool kInOrder>
void product_tangent(JvpContext& c) {
  if (!c.has_tangent(0)) return;
  const Tensor change = product_of_others(c.in(0), c.in(1), kInOrder) * c.tangent(0);
  c.set(0, unsorted_segment_sum(change, c.in(1), first_dim(c.out())));
}

// ---- Means ----------------------------------------------------------------------------------------------------------

void mean_gradient(GradContext& g) {
  const Tensor& ids = g.in(1);
  const Tensor ones = cast(ones_like(ids), g.in_type(0));
  const Tensor count = maximum(unsorted_segment_sum(ones, ids, first_dim(g.dy())), 1);
  g.set(0, gather(g.dy() / beside_rows(count, g.dy()), ids, 0));
}

// ---- Inside vmap ----------------------------------------------------------------------------------------------------

// Gives each example its own segments: segment s of example b becomes b * count + s.
template <Tensor (*kOp)(Arg, Arg, Arg)>
void unsorted_batch(BatchContext& c) {
  const auto count = all_integers(c.in(2));
  if (c.batched(2) || !count || c.size() < 0 || !c.shape(1).fully_known()) return c.loop();
  const int64_t segments = (*count)[0];
  std::vector<int64_t> column(static_cast<size_t>(c.rank(1) + 1), 1);
  column[0] = c.size();
  const Tensor ids = cast(c.front(1), kInt64);
  const Tensor offset = reshape(range(int64_t{0}, c.size(), int64_t{1}), column) * segments;
  // An id beyond the count, which is an error, must not reach another example's segments.
  const Tensor valid = logical_and(greater_equal(ids, int64_t{0}), less(ids, segments));
  const Tensor moved = select(valid, ids + offset, select(less(ids, int64_t{0}), int64_t{-1}, c.size() * segments));
  c.set_out(0, split_front(kOp(c.front(0), moved, c.size() * segments), c.size(), segments));
}

// Examples with the same segments become further columns.
void sorted_batch(BatchContext& c) {
  if (c.batched(1) || c.rank(0) < 0) return c.loop();
  std::vector<int64_t> perm = {1, 0};
  for (int k = 2; k <= c.rank(0); ++k) perm.push_back(k);
  c.set_out(0, transpose(c.again({{transpose(c.in(0), perm), c.in(1)}})[0], perm));
}

// The body of sorted-segment ops with a given number of segments: the unsorted op, with ids that must be a vector.
template <Tensor (*kOp)(Arg, Arg, Arg)>
void counted_body(CompositeContext& c) {
  c.set_out(0, kOp(c.in(0), ensure_shape(c.in(1), PartialShape{kUnknownDim}), c.in(2)));
}

int64_t one_flop_each(const CostContext& c) { return c.numel(0); }

}  // namespace

const Op& kUnsortedSegmentSum = define_op(
    "UnsortedSegmentSum(data: T, segment_ids: Tindices, num_segments: Tnumsegments @host; T: numeric, "
    "Tindices: int16|int32|int64, Tnumsegments: index = int32) -> (output: T)",
    {.doc =
         "Row s of the result is the sum of the rows of `data` whose segment_ids are s. Rows with a negative one are "
         "left out; one of num_segments or more is an error.",
     .shape = unsorted_segment_shape,
     .saves = {shape_of(0), in(1)},
     .gradient = [](GradContext& g) { g.set(0, spread(g.dy(), g.in(1))); },
     .flops = one_flop_each,
     .batch = unsorted_batch<unsorted_segment_sum>,
     .jvp = tangents::linear});

const Op& kUnsortedSegmentProd = define_op(
    "UnsortedSegmentProd(data: T, segment_ids: Tindices, num_segments: Tnumsegments @host; T: numeric, "
    "Tindices: index, Tnumsegments: index = int32) -> (output: T)",
    {.doc =
         "Row s of the result is the product of the rows of `data` whose segment_ids are s, 1 where there are none. "
         "Rows with a negative one are left out; one of num_segments or more is an error. Derivatives of every order "
         "hold for factors of 0 as well.",
     .shape = unsorted_segment_shape,
     .saves = {in(0), in(1)},
     .gradient = product_gradient<false>,
     .flops = one_flop_each,
     .batch = unsorted_batch<unsorted_segment_prod>,
     .jvp = product_tangent<false>});

const Op& kUnsortedSegmentMax = define_op(
    "UnsortedSegmentMax(data: T, segment_ids: Tindices, num_segments: Tnumsegments @host; T: real, "
    "Tindices: index, Tnumsegments: index = int32) -> (output: T)",
    {.doc =
         "Row s of the result has the largest elements of the rows of `data` whose segment_ids are s: NaN if there is "
         "one among them, the lowest finite number of the type where there are no rows. Rows with a negative one are "
         "left out; one of num_segments or more is an error. Equal elements share the gradient.",
     .shape = unsorted_segment_shape,
     .saves = {in(0), in(1), out(0)},
     .gradient = extreme_gradient,
     .flops = one_flop_each,
     .batch = unsorted_batch<unsorted_segment_max>,
     .jvp = extreme_tangent});

const Op& kUnsortedSegmentMin = define_op(
    "UnsortedSegmentMin(data: T, segment_ids: Tindices, num_segments: Tnumsegments @host; T: real, "
    "Tindices: index, Tnumsegments: index = int32) -> (output: T)",
    {.doc =
         "Row s of the result has the smallest elements of the rows of `data` whose segment_ids are s: NaN if there is "
         "one among them, the highest finite number of the type where there are no rows. Rows with a negative one are "
         "left out; one of num_segments or more is an error. Equal elements share the gradient.",
     .shape = unsorted_segment_shape,
     .saves = {in(0), in(1), out(0)},
     .gradient = extreme_gradient,
     .flops = one_flop_each,
     .batch = unsorted_batch<unsorted_segment_min>,
     .jvp = extreme_tangent});

const Op& kSegmentSum = define_op(
    "SegmentSum(data: T, segment_ids: Tindices; T: numeric, Tindices: index) -> (output: T)",
    {.doc = "Row s of the result is the sum of the rows of `data` whose segment_ids are s, 0 where there are none. The "
            "ids do not decrease; there are as many segments as the last one says.",
     .traits = {Trait::kSelfAllocating},
     .shape = sorted_shape,
     .saves = {in(1)},
     .gradient = [](GradContext& g) { g.set(0, gather(g.dy(), g.in(1), 0)); },
     .flops = one_flop_each,
     .batch = sorted_batch,
     .jvp = tangents::linear});

const Op& kSegmentMean = define_op(
    "SegmentMean(data: T, segment_ids: Tindices; T: numeric, Tindices: index) -> (output: T)",
    {.doc = "Row s of the result is the mean of the rows of `data` whose segment_ids are s, 0 where there are none. "
            "The ids do not decrease; there are as many segments as the last one says. Of integers the sum wraps and "
            "the quotient is truncated, as in TensorFlow.",
     .traits = {Trait::kSelfAllocating},
     .shape = sorted_shape,
     .saves = {in(1)},
     .gradient = mean_gradient,
     .flops = one_flop_each,
     .batch = sorted_batch,
     .jvp = tangents::linear});

const Op& kSegmentProd = define_op(
    "SegmentProd(data: T, segment_ids: Tindices; T: numeric, Tindices: index) -> (output: T)",
    {.doc = "Row s of the result is the product of the rows of `data` whose segment_ids are s, 1 where there are none. "
            "The ids do not decrease; there are as many segments as the last one says. Derivatives of every order "
            "hold for factors of 0 as well.",
     .traits = {Trait::kSelfAllocating},
     .shape = sorted_shape,
     .saves = {in(0), in(1)},
     .gradient = product_gradient<true>,
     .flops = one_flop_each,
     .batch = sorted_batch,
     .jvp = product_tangent<true>});

const Op& kSegmentMax = define_op(
    "SegmentMax(data: T, segment_ids: Tindices; T: real, Tindices: index) -> (output: T)",
    {.doc = "Row s of the result has the largest elements of the rows of `data` whose segment_ids are s: NaN if there "
            "is one among them, 0 where there are no rows. The ids do not decrease; there are as many segments as the "
            "last one says. Equal elements share the gradient.",
     .traits = {Trait::kSelfAllocating},
     .shape = sorted_shape,
     .saves = {in(0), in(1), out(0)},
     .gradient = extreme_gradient,
     .flops = one_flop_each,
     .batch = sorted_batch,
     .jvp = extreme_tangent});

const Op& kSegmentMin = define_op(
    "SegmentMin(data: T, segment_ids: Tindices; T: real, Tindices: index) -> (output: T)",
    {.doc = "Row s of the result has the smallest elements of the rows of `data` whose segment_ids are s: NaN if there "
            "is one among them, 0 where there are no rows. The ids do not decrease; there are as many segments as the "
            "last one says. Equal elements share the gradient.",
     .traits = {Trait::kSelfAllocating},
     .shape = sorted_shape,
     .saves = {in(0), in(1), out(0)},
     .gradient = extreme_gradient,
     .flops = one_flop_each,
     .batch = sorted_batch,
     .jvp = extreme_tangent});

// ---- With the number of segments ------------------------------------------------------------------------------------

const Op& kSegmentSumV2 = define_op(
    "SegmentSumV2(data: T, segment_ids: Tindices, num_segments: Tnumsegments @host; T: numeric, Tindices: index, "
    "Tnumsegments: index = int32) -> (output: T)",
    {.doc = "UnsortedSegmentSum of a vector of ids, which need not be sorted: row s of the result is the sum of the "
            "rows whose segment_ids are s, 0 where there are none.",
     .cpp = "counted_segment_sum",
     .body = counted_body<unsorted_segment_sum>,
     .in_tensorflow = true});

const Op& kSegmentProdV2 = define_op(
    "SegmentProdV2(data: T, segment_ids: Tindices, num_segments: Tnumsegments @host; T: numeric, Tindices: index, "
    "Tnumsegments: index = int32) -> (output: T)",
    {.doc =
         "UnsortedSegmentProd of a vector of ids, which need not be sorted: row s of the result is the product of the "
         "rows whose segment_ids are s, 1 where there are none.",
     .cpp = "counted_segment_prod",
     .body = counted_body<unsorted_segment_prod>,
     .in_tensorflow = true});

const Op& kSegmentMaxV2 = define_op(
    "SegmentMaxV2(data: T, segment_ids: Tindices, num_segments: Tnumsegments @host; T: real, Tindices: index, "
    "Tnumsegments: index = int32) -> (output: T)",
    {.doc = "UnsortedSegmentMax of a vector of ids, which need not be sorted: row s of the result is the largest "
            "elements of the "
            "rows whose segment_ids are s, the lowest finite number of the type where there are none.",
     .cpp = "counted_segment_max",
     .body = counted_body<unsorted_segment_max>,
     .in_tensorflow = true});

const Op& kSegmentMinV2 = define_op(
    "SegmentMinV2(data: T, segment_ids: Tindices, num_segments: Tnumsegments @host; T: real, Tindices: index, "
    "Tnumsegments: index = int32) -> (output: T)",
    {.doc = "UnsortedSegmentMin of a vector of ids, which need not be sorted: row s of the result is the smallest "
            "elements of the "
            "rows whose segment_ids are s, the highest finite number of the type where there are none.",
     .cpp = "counted_segment_min",
     .body = counted_body<unsorted_segment_min>,
     .in_tensorflow = true});

}  // namespace panto
