// Ranking ops: the n-th element, whether an element is among the top k, and insertion positions.
#include <string>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

void nth_shape(ShapeContext& c) {
  c.expect_rank_at_least(0, 1);
  const std::optional<int64_t> n = known_scalar(c, 1);
  const PartialShape& in = c.shape(0);
  if (n && *n < 0) invalid("n: expected at least 0, got {}", *n);
  if (!in.known_rank()) return c.output(PartialShape());
  const int64_t size = in.dim(in.rank() - 1);
  if (n && size >= 0 && *n >= size) {
    invalid("n: expected less than {}, the size of the last dimension, got {}", size, *n);
  }
  SmallVector<int64_t, 8> dims;
  for (int i = 0; i + 1 < in.rank(); ++i) dims.push_back(in.dim(i));
  c.output(PartialShape(std::span<const int64_t>(dims.data(), dims.size())));
}

// The share of each element in its row's gradient: elements equal to the n-th value share it equally.
Tensor nth_shares(const Tensor& x, const Tensor& nth) {
  const Tensor chosen = cast(equal(x, expand_dims(nth, -1)), x.dtype());
  return chosen / sum(chosen, -1, {.keep_dims = true});
}

void among_shape(ShapeContext& c) {
  c.expect_rank(0, 2);
  const int64_t rows = c.vector(1);
  if (c.num_inputs() > 2) c.expect_scalar(2);
  c.output({c.merge(c.dim(0, 0), rows, "rows of predictions and targets")});
}

void bound_shape(ShapeContext& c) {
  c.expect_rank(0, 2);
  c.expect_rank(1, 2);
  const int64_t rows = c.merge(c.dim(0, 0), c.dim(1, 0), "rows of sorted_inputs and values");
  c.output({rows, c.dim(1, 1)});
}

void bucket_shape(ShapeContext& c) {
  const AttrSlot& slot = c.slot("boundaries");
  const auto* boundaries = static_cast<const float*>(slot.p);
  for (size_t i = 1; i < slot.n; ++i) {
    if (!(boundaries[i - 1] <= boundaries[i])) {
      invalid("boundaries[{}]: expected at least {}, the one before, got {}", i, boundaries[i - 1], boundaries[i]);
    }
  }
  c.output(c.shape(0));
}

}  // namespace

const Op& kNthElement = define_op(
    "NthElement(input: T, n: int32 @host; reverse: bool = false, T: real) -> (values: T)",
    {.doc =
         "The element of the last dimension that would be in place `n` if it were sorted, the smallest first or, with "
         "`reverse`, the largest. NaN counts as larger than any number. Equal elements share the gradient.",
     .shape = nth_shape,
     .saves = {in(0), out(0)},
     .gradient = [](GradContext& g) { g.set(0, nth_shares(g.in(0), g.out(0)) * expand_dims(g.dy(), -1)); },
     .flops = [](const CostContext& c) { return 4 * c.numel(0); },
     .batch = batching::trailing,
     .jvp =
         [](JvpContext& c) {
           if (c.has_tangent(0)) c.set(0, sum(nth_shares(c.in(0), c.out()) * c.tangent(0), -1));
         }});

const Op& kInTopKV2 = define_op(
    "InTopKV2(predictions: float32, targets: T, k: T @host; T: index = int32) -> (precision: bool)",
    {.doc = "For each row of `predictions` whether fewer than `k` classes have a larger prediction than class "
            "`targets[row]`. False where that is no class, or where a prediction of the row that is looked at is not "
            "finite.",
     .shape = among_shape,
     .no_gradient = "truth values are not differentiable",
     .flops = [](const CostContext& c) { return c.numel(0); },
     .batch = batching::rows});

const Op& kInTopK = define_op("InTopK(predictions: float32, targets: T; k: int, T: index = int32) -> (precision: bool)",
                              {.doc = "InTopKV2, with `k` as an attribute.",
                               .cpp = "in_top_k_v1",
                               .shape = among_shape,
                               .body =
                                   [](CompositeContext& c) {
                                     const Tensor k = cast(constant(tensor(c.integer("k")), kInt64), c.in(1).dtype());
                                     c.set_out(0, in_top_k(c.in(0), c.in(1), k));
                                   },
                               .in_tensorflow = true});

const Op& kNearestNeighbors = define_op(
    "NearestNeighbors(points: float32, centers: float32, k: int64 @host) -> (nearest_center_indices: int64, "
    "nearest_center_distances: float32)",
    {.doc = "For each of `points` [points, dimensions] the numbers of the `k` nearest of `centers` [centers, "
            "dimensions], of all if there are fewer, and the squares of their distances; the nearest is first, of "
            "equal ones the first of `centers`.",
     .body =
         [](CompositeContext& c) {
           const Tensor &points = c.in(0), &centers = c.in(1);
           const Tensor squares = expand_dims(sum(square(points), 1), 1) + sum(square(centers), 1);
           const Tensor count = slice(shape(centers), {0}, {1});
           const Tensor k = minimum(cast(c.in(2), kInt32), reshape(count, Shape{}));
           auto [nearness, numbers] = top_k(2 * mm(points, centers, {.transpose_b = true}) - squares, k);
           c.set_out(0, cast(numbers, kInt64));
           c.set_out(1, -nearness);
         },
     .in_tensorflow = true});

const Op& kLowerBound = define_op(
    "LowerBound(sorted_inputs: T, values: T; T: real, out_type: index = int32) -> (output: out_type)",
    {.doc = "For each of `values` how many elements in the same row of `sorted_inputs`, whose rows are in order, are "
            "less than it: the first place at which it could be put. In C++ use searchsorted.",
     .shape = bound_shape,
     .no_gradient = "positions are not differentiable",
     .batch = batching::rows});

const Op& kUpperBound = define_op(
    "UpperBound(sorted_inputs: T, values: T; T: real, out_type: index = int32) -> (output: out_type)",
    {.doc = "For each of `values` how many elements in the same row of `sorted_inputs`, whose rows are in order, are "
            "not greater than it: the last place at which it could be put. In C++ use searchsorted.",
     .shape = bound_shape,
     .no_gradient = "positions are not differentiable",
     .batch = batching::rows});

const Op& kBucketize = define_op(
    "Bucketize(input: T; boundaries: list(float), T: int32|int64|float32|float64) -> (output: int32)",
    {.doc = "For each element how many of `boundaries`, which are in order, are not greater than it: the number of its "
            "bucket. NaN is in the last one.",
     .shape = bucket_shape,
     .no_gradient = "numbers of buckets are not differentiable",
     .batch = batching::elementwise});

}  // namespace panto
