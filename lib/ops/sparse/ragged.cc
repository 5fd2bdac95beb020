// Ragged tensors, whose rows differ in length. They consist of values and, for each ragged dimension, a vector of
// splits: row r holds items splits[r] to splits[r + 1] - 1 of the next dimension's rows, or of the values.
#include <string>
#include <vector>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/sparse.h"

namespace panto {
namespace {

// ---- RaggedRange ----------------------------------------------------------------------------------------------------

void range_shape(ShapeContext& c) {
  int64_t rows = kUnknownDim;
  bool scalars = true;
  for (int i = 0; i < 3; ++i) {
    const char* what = i == 0 ? "starts" : i == 1 ? "limits" : "deltas";
    if (c.rank(i) > 1) invalid("{}: expected a scalar or vector, got shape {}", what, c.shape(i).to_string());
    if (c.rank(i) == 1) rows = c.merge(rows, c.dim(i, 0), "lengths of starts, limits and deltas");
    scalars = scalars && c.rank(i) == 0;
  }
  if (scalars) rows = 1;
  c.output(0, PartialShape{rows < 0 ? kUnknownDim : checked_add(rows, 1, "rows")});
  c.output(1, PartialShape{kUnknownDim});
}

// ---- RaggedGather ---------------------------------------------------------------------------------------------------

// Throws if one of the `count` splits, from input `first` on, is not a vector or is empty.
void expect_splits(const ShapeContext& c, int first, int count, const char* what) {
  for (int i = first; i < first + count; ++i) {
    if (c.vector(i) == 0) invalid("{}: expected at least one split, got none", what);
  }
}

void gather_shape(ShapeContext& c) {
  const auto splits = static_cast<int>(c.integer("PARAMS_RAGGED_RANK"));
  const int64_t out = c.integer("OUTPUT_RAGGED_RANK");
  const int rank = c.rank(splits + 1);
  expect_splits(c, 0, splits, "params_nested_splits");
  c.expect_rank_at_least(splits, 1);
  if (rank >= 0 && out != splits + rank - 1) {
    invalid("OUTPUT_RAGGED_RANK: expected {}, of indices with {} dimensions, got {}", splits + rank - 1, rank, out);
  }
  int64_t rows = 1;
  for (int k = 0; k < out; ++k) {
    // Splits of the indices' dimensions, then of the chosen rows.
    if (k < rank && rows >= 0) {
      const int64_t dim = c.dim(splits + 1, k);
      rows = dim < 0 ? kUnknownDim : checked_mul(rows, dim, "rows");
    }
    c.output(k, PartialShape{k < rank && rows >= 0 ? checked_add(rows, 1, "rows") : kUnknownDim});
  }
  std::vector<int64_t> dims;
  for (int k = 0; k < c.rank(splits); ++k) dims.push_back(k == 0 ? kUnknownDim : c.dim(splits, k));
  c.output(static_cast<int>(out), c.rank(splits) < 0 ? PartialShape::unknown() : PartialShape(dims));
}

// The result consists of rows of the values; finds the numbers of these rows and sums the gradient into them.
void gather_gradient(GradContext& g) {
  const auto splits = static_cast<int>(g.integer("PARAMS_RAGGED_RANK"));
  const int64_t out = g.integer("OUTPUT_RAGGED_RANK");
  const auto values = static_cast<int>(out);
  if (!g.has_dy(values)) return;
  std::vector<Tensor> nested;
  for (int i = 0; i < splits; ++i) nested.push_back(g.in(i));
  const Tensor count = gather(cast(g.shape(splits), kInt64), 0, 0);
  const Tensor numbers =
      ragged_gather(nested, range(int64_t{0}, count, int64_t{1}), g.in(splits + 1), out).output_dense_values;
  g.set(splits, unsorted_segment_sum(g.dy(values), numbers, count));
}

// ---- RaggedTensorToSparse -------------------------------------------------------------------------------------------

void to_sparse_shape(ShapeContext& c) {
  const auto splits = static_cast<int>(c.integer("RAGGED_RANK"));
  expect_splits(c, 0, splits, "rt_nested_splits");
  c.expect_rank_at_least(splits, 1);
  const PartialShape& values = c.shape(splits);
  const int64_t count = values.fully_known() ? values.numel() : kUnknownDim;
  const int64_t rank = values.known_rank() ? splits + values.rank() : kUnknownDim;
  c.output(0, PartialShape{count, rank});
  c.output(1, PartialShape{count});
  c.output(2, PartialShape{rank});
  if (rank < 0) return;
  PartialValues dims(static_cast<size_t>(rank));
  if (c.dim(0, 0) > 0) dims[0] = c.dim(0, 0) - 1;
  for (int k = 1; k < values.rank(); ++k) {
    if (values.dim(k) >= 0) dims[static_cast<size_t>(splits + k)] = values.dim(k);
  }
  c.output_values(2, std::move(dims));
}

}  // namespace

const Op& kRaggedRange = define_op(
    "RaggedRange(starts: T, limits: T, deltas: T; T: bfloat16|float32|float64|int32|int64 = int32, Tsplits: index = "
    "int64) -> (rt_nested_splits: Tsplits, rt_dense_values: T)",
    {.doc =
         "Rows of ranges: starts[r], starts[r] + deltas[r], ... up to but without limits[r], of vectors of one length "
         "or scalars for all rows; none if the limit is on the other side. Each number is the sum of the one before "
         "and the delta, as it is rounded. A delta of 0, or a number of elements that is none, is an error.",
     .traits = {Trait::kSelfAllocating},
     .primary = "T",
     .shape = range_shape,
     .no_gradient = "its inputs say how many elements there are",
     .batch = batching::loop});

const Op& kRaggedGather = define_op(
    "RaggedGather(params_nested_splits: PARAMS_RAGGED_RANK*Tsplits, params_dense_values: Tvalues, indices: Tindices; "
    "Tvalues: type, Tindices: index, Tsplits: index = int64, PARAMS_RAGGED_RANK: int >= 1, OUTPUT_RAGGED_RANK: int >= "
    "0) -> (output_nested_splits: OUTPUT_RAGGED_RANK*Tsplits, output_dense_values: Tvalues)",
    {.doc = "The rows `indices`, which may have any shape, of a ragged tensor, as a ragged tensor with the dimensions "
            "of the indices before those of the rows: `OUTPUT_RAGGED_RANK` is PARAMS_RAGGED_RANK + the rank of the "
            "indices - 1. An index out of range is an error, and so are splits that decrease or lead beyond what they "
            "split.",
     .traits = {Trait::kSelfAllocating},
     .primary = "Tvalues",
     .shape = gather_shape,
     .saves = {in(0), in(2), shape_of(1)},
     .gradient = gather_gradient,
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kRaggedTensorToSparse = define_op(
    "RaggedTensorToSparse(rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: T; RAGGED_RANK: int >= 1, T: type, "
    "Tsplits: index = int64) -> (sparse_indices: int64, sparse_values: T, sparse_dense_shape: int64)",
    {.doc = "The elements of a ragged tensor as entries of a sparse one, in order. Its shape is that of the longest "
            "rows. Splits do not decrease, from 0 to the number of what they split.",
     .traits = {Trait::kSelfAllocating},
     .primary = "T",
     .shape = to_sparse_shape,
     .saves = {shape_of(1)},
     .gradient =
         [](GradContext& g) {
           const auto values = static_cast<int>(g.integer("RAGGED_RANK"));
           if (g.has_dy(1)) g.set(values, reshape(g.dy(1), g.shape(values)));
         },
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kRaggedFillEmptyRows = define_op(
    "RaggedFillEmptyRows(value_rowids: int64, values: T, nrows: int64 @host, default_value: T; T: type) -> "
    "(output_value_rowids: int64, output_values: T, empty_row_indicator: bool, reverse_index_map: int64)",
    {.doc = "The values of a ragged matrix of `nrows` rows in the order of their rows, in which they stay as they are "
            "among themselves; a row without any has one, `default_value`. Also the numbers of their rows, which rows "
            "had none, and where each value went. A row out of range is an error.",
     .body =
         [](CompositeContext& c) {
           const Tensor rows = ensure_shape(c.in(0), PartialShape{kUnknownDim});
           const Tensor shape = reshape(ensure_shape(c.in(2), PartialShape::of_rank(0)), {1});
           auto filled = sparse_fill_empty_rows(expand_dims(rows, -1), c.in(1), shape, c.in(3));
           c.set_out(0, reshape(filled.output_indices, {-1}));
           c.set_out(1, filled.output_values);
           c.set_out(2, filled.empty_row_indicator);
           c.set_out(3, filled.reverse_index_map);
         },
     .in_tensorflow = true});

const Op& kRaggedFillEmptyRowsGrad = define_op(
    "RaggedFillEmptyRowsGrad(reverse_index_map: int64, grad_values: T; T: type) -> (d_values: T, d_default_value: T)",
    {.doc = "The gradient of RaggedFillEmptyRows: the elements of `grad_values` at the places in `reverse_index_map`, "
            "and the sum of the others. A place out of range is an error.",
     .body =
         [](CompositeContext& c) {
           auto gradients = sparse_fill_empty_rows_grad(c.in(0), c.in(1));
           c.set_out(0, gradients.d_values);
           c.set_out(1, gradients.d_default_value);
         },
     .in_tensorflow = true});

}  // namespace panto
