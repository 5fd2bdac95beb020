// Count ops: how often numbers occur in the rows of sparse and ragged matrices.
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/sparse/coo.h"

namespace panto {
namespace {

// The number of bins, in input `size_input`. Checks that there are `count` weights, one per value, or none.
int64_t bins(ShapeContext& c, int size_input, int64_t count) {
  c.expect_scalar(size_input);
  const std::optional<int64_t> size = known_scalar(c, size_input);
  if (size && *size < 0) invalid("size: expected at least 0, got {}", *size);
  const PartialShape& weights = c.shape(size_input + 1);
  if (count >= 0 && weights.fully_known() && weights.numel() != 0 && weights.numel() != count) {
    invalid("weights: expected {}, one for each value, or none, got {}", count, weights.numel());
  }
  return size.value_or(kUnknownDim);
}

void sparse_shape(ShapeContext& c) {
  const sparse::Entries e = sparse::entries(c, 0, 1, 2);
  if (e.rank == 0) c.invalid("dense_shape: expected at least one dimension, got none");
  const KnownIntegers dims(c, 2, e.rank);
  const int64_t size = bins(c, 3, e.count);
  if (!dims.counted()) return c.output(PartialShape::unknown());
  sparse::expect_none_negative(dims, "dense_shape");
  if (dims.count() == 1) return c.output({size});
  c.output({dims.get(0).value_or(kUnknownDim), size});
}

void ragged_shape(ShapeContext& c) {
  const int64_t splits = c.vector(0);
  if (splits == 0) c.invalid("splits: expected at least one, got none");
  const int64_t size = bins(c, 2, c.vector(1));
  c.output({splits < 0 ? kUnknownDim : splits - 1, size});
}

// Outputs: indices, values and shape of a sparse tensor of counts, of `rank` dimensions.
void counted_shape(ShapeContext& c, int64_t rank) {
  c.output(0, PartialShape{kUnknownDim, rank});
  c.output(1, PartialShape{kUnknownDim});
  c.output(2, PartialShape{rank});
}
// Throws unless there are no weights, or as many as values.
void expect_weights(const ShapeContext& c, int values, int weights) {
  const PartialShape &have = c.shape(weights), &want = c.shape(values);
  if (!have.fully_known() || have.numel() == 0 || have.compatible_with(want)) return;
  invalid("weights: expected shape {}, or none, got {}", want.to_string(), have.to_string());
}

constexpr const char* kNoGradient =
    "counts are whole numbers; sums of weights that have a gradient are unsorted_segment_sum";

}  // namespace

const Op& kSparseBincount = define_op(
    "SparseBincount(indices: int64, values: Tidx, dense_shape: int64 @host, size: Tidx @host, weights: T; Tidx: index, "
    "T: int32|int64|float32|float64, binary_output: bool = false) -> (output: T)",
    {.doc =
         "How often each of the numbers 0, 1, ..., size - 1 is among the values of a sparse vector, or the sum of its "
         "weights; of a sparse matrix, for each row. Larger numbers count nowhere; negative ones are InvalidArgument "
         "in a vector and count nowhere in a matrix, as in TensorFlow. Without elements in `weights` each counts as "
         "1; with `binary_output` the result is 1 where there is one at all. An index out of range is an error.",
     .primary = "T",
     .shape = sparse_shape,
     .no_gradient = kNoGradient,
     .batch = batching::loop});

const Op& kRaggedBincount = define_op(
    "RaggedBincount(splits: int64, values: Tidx, size: Tidx @host, weights: T; Tidx: index, "
    "T: int32|int64|float32|float64, binary_output: bool = false) -> (output: T)",
    {.doc =
         "How often each of the numbers 0, 1, ..., size - 1 is in each row of a ragged matrix, whose row r has the "
         "values from splits[r] to before splits[r + 1], or the sum of its weights. Larger numbers count nowhere, "
         "negative ones are InvalidArgument. Without elements in `weights` each counts as 1; with `binary_output` the "
         "result is 1 where there is one at all. The splits do not decrease, from 0 to the number of values.",
     .primary = "T",
     .shape = ragged_shape,
     .no_gradient = kNoGradient,
     .batch = batching::loop});

const Op& kDenseCountSparseOutput = define_op(
    "DenseCountSparseOutput(values: T, weights: output_type; T: index, minlength: int >= -1 = -1, maxlength: int >= -1 "
    "= -1, binary_output: bool, output_type: int32|int64|float32|float64) -> (output_indices: int64, output_values: "
    "output_type, output_dense_shape: int64)",
    {.doc = "How often each number is in a vector, or in each row of a matrix, as a sparse tensor: of numbers that "
            "occur the count, the sum of their `weights` (those of their shape, unless there are none), or 1 with "
            "`binary_output`. With a positive `maxlength` larger numbers count nowhere and the last dimension is so "
            "large; else it is one more than the largest, and at least `minlength`. A negative number is an error.",
     .traits = {Trait::kSelfAllocating},
     .primary = "output_type",
     .shape =
         [](ShapeContext& c) {
           const int rank = c.rank(0);
           if (rank >= 0 && rank != 1 && rank != 2)
             invalid("values: expected rank 1 or 2, got shape {}", c.shape(0).to_string());
           if (rank == 2 && c.dim(0, 0) == 0) invalid("values: expected at least one row, got none");
           expect_weights(c, 0, 1);
           counted_shape(c, rank < 0 ? kUnknownDim : rank);
         },
     .no_gradient = kNoGradient,
     .batch = batching::loop});

const Op& kSparseCountSparseOutput = define_op(
    "SparseCountSparseOutput(indices: int64, values: T, dense_shape: int64 @host, weights: output_type; T: index, "
    "minlength: int >= -1 = -1, maxlength: int >= -1 = -1, binary_output: bool, output_type: "
    "int32|int64|float32|float64) -> (output_indices: int64, output_values: output_type, output_dense_shape: int64)",
    {.doc = "DenseCountSparseOutput of the values of a sparse vector, or for each index of the first dimension of a "
            "sparse tensor.",
     .traits = {Trait::kSelfAllocating},
     .primary = "output_type",
     .shape =
         [](ShapeContext& c) {
           const sparse::Entries e = sparse::entries(c, 0, 1, 2);
           if (e.rank == 0) c.invalid("dense_shape: expected at least one dimension, got none");
           const KnownIntegers dims(c, 2, e.rank);
           if (dims.counted()) sparse::expect_none_negative(dims, "dense_shape");
           if (dims.counted() && dims.count() > 1 && dims.get(0) == 0) {
             c.invalid("dense_shape: expected at least one row, got none");
           }
           expect_weights(c, 1, 3);
           counted_shape(c, e.rank < 0 ? kUnknownDim : e.rank == 1 ? 1 : 2);
         },
     .no_gradient = kNoGradient,
     .batch = batching::loop});

const Op& kRaggedCountSparseOutput = define_op(
    "RaggedCountSparseOutput(splits: int64, values: T, weights: output_type; T: index, minlength: int >= -1 = -1, "
    "maxlength: int >= -1 = -1, binary_output: bool, output_type: int32|int64|float32|float64) -> (output_indices: "
    "int64, output_values: output_type, output_dense_shape: int64)",
    {.doc = "DenseCountSparseOutput of each row of a ragged matrix, whose row r has the values from splits[r] to "
            "before splits[r + 1].",
     .traits = {Trait::kSelfAllocating},
     .primary = "output_type",
     .shape =
         [](ShapeContext& c) {
           const int64_t splits = c.vector(0);
           if (splits >= 0 && splits < 2) invalid("splits: expected at least 2, got {}", splits);
           c.vector(1);
           expect_weights(c, 1, 2);
           counted_shape(c, 2);
         },
     .no_gradient = kNoGradient,
     .batch = batching::loop});

}  // namespace panto
