// Ragged tensors as variants: a single one, or a vector of its rows, so that ops which only split and stack tensors
// (datasets, maps, lists) can handle rows of different lengths.
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/sparse.h"

namespace panto {
namespace {

void to_variant_shape(ShapeContext& c) {
  const auto count = static_cast<int>(c.integer("RAGGED_RANK"));
  for (int k = 0; k < count; ++k) {
    if (c.vector(k) == 0) invalid("rt_nested_splits: expected at least one split, got none");
  }
  const bool batched = c.flag("batched_input");
  if (batched || count > 0) c.expect_rank_at_least(count, 1);
  if (!batched) return c.output(Shape{});
  const int64_t first = c.dim(0, 0);
  c.output({count == 0 || first < 0 ? first : first - 1});
}

void to_variant_gradient(GradContext& g) {
  const auto values = static_cast<int>(g.integer("RAGGED_RANK"));
  // With one ragged dimension, splits define the rows; otherwise rows are those of the values, or there is a single
  // one.
  const Tensor splits = values == 0 ? tensor(int64_t{0}) : g.in(0);
  g.set(values, ragged_tensor_to_variant_gradient(g.dy(), splits, g.shape(values), g.in_type(values)));
}

void from_variant_shape(ShapeContext& c) {
  const auto in = static_cast<int>(c.integer("input_ragged_rank"));
  const auto out = static_cast<int>(c.integer("output_ragged_rank"));
  const int rank = c.rank(0);
  const bool stacked = out == 0 && in <= 0;
  if (rank >= 0 && !stacked && (in < 0 ? out < rank : out != in + rank)) {
    invalid("output_ragged_rank: expected {}{}, the dimensions of encoded_ragged{}, got {}", in < 0 ? "at least " : "",
            in < 0 ? rank : in + rank, in < 0 ? "" : " and input_ragged_rank", out);
  }
  for (int k = 0; k < out; ++k) c.output(k, PartialShape{kUnknownDim});
  c.output(out, PartialShape::unknown());
}

// The gradient as variants of rows, in the shape of `encoded_ragged`; its last dimension holds the rows.
void from_variant_gradient(GradContext& g) {
  const int64_t out = g.integer("output_ragged_rank");
  if (!g.has_dy(static_cast<int>(out))) return;
  const int rank = g.in_shape(0).rank();
  if (rank < 0) {
    fail(Code::kUnimplemented, "encoded_ragged: expected a known rank where gradients go through, got none");
  }
  std::vector<Tensor> splits;
  for (int k = rank == 0 ? 0 : rank - 1; k < out; ++k) splits.push_back(g.out(k));
  const Tensor rows = ragged_tensor_to_variant(splits, g.dy(static_cast<int>(out)), rank > 0);
  g.set(0, rank > 1 ? reshape(rows, g.shape(0)) : rows);
}

}  // namespace

const Op& kRaggedTensorToVariant = define_op(
    "RaggedTensorToVariant(rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: Tvalues; RAGGED_RANK: int >= 0, "
    "Tvalues: type, Tsplits: index = int64, batched_input: bool) -> (encoded_ragged: variant)",
    {.doc = "A scalar that holds a ragged tensor, or without any splits the values. With `batched_input` a vector of "
            "its rows, each with one ragged dimension less, or of the values' along their first dimension. Splits do "
            "not decrease, from 0 to the number of what they split.",
     .traits = {Trait::kSelfAllocating},
     .primary = "Tvalues",
     .shape = to_variant_shape,
     .saves = {in(0), shape_of(1)},
     .gradient = to_variant_gradient,
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kRaggedTensorFromVariant = define_op(
    "RaggedTensorFromVariant(encoded_ragged: variant; input_ragged_rank: int >= -1, output_ragged_rank: int >= 0, "
    "Tvalues: type, Tsplits: index = int64) -> (output_nested_splits: output_ragged_rank*Tsplits, output_dense_values: "
    "Tvalues)",
    {.doc =
         "The ragged tensor that RaggedTensorToVariant put into a scalar; of variants with dimensions those before "
         "the dimensions of what each holds, which has `input_ragged_rank` ragged ones (-1: as many as are missing "
         "to `output_ragged_rank`). If neither has any, the values are stacked. Without variants they have shape [0].",
     .traits = {Trait::kSelfAllocating},
     .primary = "Tvalues",
     .shape = from_variant_shape,
     .saves = {out(0), shape_of(0)},
     .gradient = from_variant_gradient,
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kRaggedTensorToVariantGradient = define_op(
    "RaggedTensorToVariantGradient(encoded_ragged_grad: variant, row_splits: Tsplits, dense_values_shape: int32 @host; "
    "Tvalues: type, Tsplits: index = int64) -> (dense_values_grad: Tvalues)",
    {.doc = "The gradient of RaggedTensorToVariant's values: those of all variants, one behind the other, in shape "
            "`dense_values_shape`. Rows whose variant holds nothing are zeros, as many as `row_splits` say: of a "
            "ragged tensor with one ragged dimension.",
     .traits = {Trait::kSelfAllocating},
     .primary = "Tvalues",
     .shape = [](ShapeContext& c) { c.output(c.shape_from(2)); },
     .no_gradient = "it is a gradient, which TensorFlow does not differentiate either",
     .types_reason = "of gradients there are only numbers",
     .batch = batching::loop});

}  // namespace panto
