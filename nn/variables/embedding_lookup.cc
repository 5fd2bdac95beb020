#include "panto/nn/variables/embedding_lookup.h"

#include <cmath>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/sparse.h"

namespace panto {
namespace {

std::vector<Tensor> values_of(const std::vector<Variable>& variables) {
  std::vector<Tensor> values;
  values.reserve(variables.size());
  for (const Variable& v : variables) values.push_back(v.value());
  return values;
}

// Scales each row, over the dimensions after those of the ids, to a norm of at most `max_norm`.
Tensor clipped(const Tensor& rows, const Tensor& ids, std::optional<double> max_norm) {
  if (!max_norm) return rows;
  if (!(*max_norm > 0) || !std::isfinite(*max_norm)) {
    invalid("max_norm: expected a positive finite number, got {}", *max_norm);
  }
  const Tensor axes = range(rank(ids), rank(rows), 1);
  const Tensor squares = sum(square(rows), axes, {.keep_dims = true});
  const Tensor norm = cast(tensor(*max_norm), rows.dtype());
  // The norm of a zero row has no gradient; avoid its square root.
  const Tensor safe = where(squares > 0, squares, ones_like(squares));
  return rows * norm / maximum(where(squares > 0, sqrt(safe), squares), norm);
}

// The part of each id, and its row in it.
struct Place {
  Tensor part, row;
};

Place place_of(const Tensor& ids, const std::vector<Tensor>& parts, PartitionStrategy strategy) {
  const auto n = static_cast<int64_t>(parts.size());
  const DType t = ids.dtype();
  const auto number = [t](const Tensor& x) { return cast(x, t); };
  const Tensor count = number(tensor(n));
  if (strategy == PartitionStrategy::kMod) return {cast(floor_mod(ids, count), kInt32), floor_div(ids, count)};
  Tensor rows = number(shape(parts[0])(0));
  for (size_t i = 1; i < parts.size(); ++i) rows = rows + number(shape(parts[i])(0));
  const Tensor one = number(tensor(1)), each = floor_div(rows, count), more = floor_mod(rows, count);
  const Tensor part = maximum(floor_div(ids, each + one), floor_div(ids - more, each));
  return {cast(part, kInt32), where(part < more, floor_mod(ids, each + one), floor_mod(ids - more, each))};
}

Tensor weighted(const Tensor& rows, Tensor weights, const Tensor& segments, const Tensor& count, Combiner combiner) {
  const DType given = rows.dtype();
  const DType t = given == kFloat16 || given == kBFloat16 ? kFloat32 : given;
  weights = cast(weights, t);
  // One weight for each row, reshaped to broadcast over the rows' dimensions.
  const Tensor ones = fill(expand_dims(rank(rows) - 1, 0), cast(tensor(1), kInt32));
  const Tensor each = reshape(weights, concat({shape(weights), ones}, 0));
  Tensor result = unsorted_segment_sum(cast(rows, t) * each, segments, count);
  if (combiner == Combiner::kMean) result = div_no_nan(result, unsorted_segment_sum(each, segments, count));
  if (combiner == Combiner::kSqrtN) {
    result = div_no_nan(result, sqrt(unsorted_segment_sum(square(each), segments, count)));
  }
  return cast(result, given);
}

}  // namespace

EmbeddingTable::EmbeddingTable(const Variable& variable) : parts_{variable.value()} {}
EmbeddingTable::EmbeddingTable(const Tensor& tensor) : parts_{tensor} {}
EmbeddingTable::EmbeddingTable(const PartitionedVariable& variable) : EmbeddingTable(variable.variables()) {}
EmbeddingTable::EmbeddingTable(const std::vector<Variable>& parts) : EmbeddingTable(values_of(parts)) {}
EmbeddingTable::EmbeddingTable(std::vector<Tensor> parts) : parts_(std::move(parts)) {
  if (parts_.empty()) invalid("table: expected at least one part, got none");
}

Tensor embedding_lookup(const EmbeddingTable& table, Arg ids, const EmbeddingLookupOptions& options) {
  return from_caller(ids.where(), [&] {
    const std::vector<Tensor>& parts = table.parts();
    const Tensor& wanted = ids.tensor();
    if (wanted.dtype() != kInt32 && wanted.dtype() != kInt64) {
      invalid("ids: expected int32 or int64, got {}", dtype_name(wanted.dtype()));
    }
    if (parts.size() == 1) return clipped(gather(parts[0], wanted, 0), wanted, options.max_norm);
    const Tensor flat = reshape(wanted, {-1});
    const Place place = place_of(flat, parts, options.strategy);
    const auto n = static_cast<int64_t>(parts.size());
    const std::vector<Tensor> rows = dynamic_partition(place.row, place.part, n);
    const std::vector<Tensor> positions = dynamic_partition(range(0, size(flat), 1), place.part, n);
    std::vector<Tensor> found;
    for (size_t i = 0; i < parts.size(); ++i) found.push_back(gather(parts[i], rows[i], 0));
    const Tensor joined = dynamic_stitch(positions, found);
    const Tensor dims = concat({shape(wanted), shape(parts[0])(Slice(1, {}))}, 0);
    return clipped(reshape(joined, dims), wanted, options.max_norm);
  });
}

Tensor embedding_lookup_sparse(const EmbeddingTable& table, const SparseTensor& ids,
                               const EmbeddingSparseOptions& options) {
  const Tensor segments = ids.indices(Slice(), 0);
  const Tensor count = ids.dense_shape(0);
  const UniqueOutputs different = unique(ids.values);
  const Tensor rows =
      embedding_lookup(table, different.y, {.strategy = options.strategy, .max_norm = options.max_norm});
  if (options.weights.defined()) {
    if (!options.weights.partial_shape().compatible_with(ids.values.partial_shape())) {
      invalid("weights: expected one for each of ids {}, got {}", ids.values.partial_shape().to_string(),
              options.weights.partial_shape().to_string());
    }
    return weighted(gather(rows, different.idx, 0), options.weights, segments, count, options.combiner);
  }
  switch (options.combiner) {
    case Combiner::kSum: return sparse_segment_sum_with_num_segments(rows, different.idx, segments, count);
    case Combiner::kMean: return sparse_segment_mean_with_num_segments(rows, different.idx, segments, count);
    case Combiner::kSqrtN: return sparse_segment_sqrt_n_with_num_segments(rows, different.idx, segments, count);
  }
  invalid("combiner: expected one of those that there are, got {}", static_cast<int>(options.combiner));
}

Tensor safe_embedding_lookup_sparse(const EmbeddingTable& table, const SparseTensor& ids,
                                    const SafeEmbeddingOptions& options) {
  const Tensor outer = ids.dense_shape(Slice({}, -1));
  const Tensor matrix = concat({expand_dims(prod(outer, {0}), 0), ids.dense_shape(Slice(-1, {}))}, 0);
  SparseTensor valid = sparse_reshape(ids, matrix);
  Tensor weights = options.weights;
  Tensor keep = greater_equal(valid.values, zeros_like(valid.values));
  if (weights.defined() && options.combiner != Combiner::kSum) keep = logical_and(keep, weights > 0);
  if (weights.defined()) weights = sparse_retain({valid.indices, weights, valid.dense_shape}, keep).values;
  valid = sparse_retain(valid, keep);
  const Tensor default_id = cast(tensor(options.default_id.value_or(0)), valid.values.dtype());
  const SparseFillEmptyRowsOutputs filled =
      sparse_fill_empty_rows(valid.indices, valid.values, valid.dense_shape, default_id);
  if (weights.defined()) {
    weights = sparse_fill_empty_rows(valid.indices, weights, valid.dense_shape, ones_like(sum(weights))).output_values;
  }
  Tensor result = embedding_lookup_sparse(
      table, {filled.output_indices, filled.output_values, valid.dense_shape},
      {.combiner = options.combiner, .weights = weights, .strategy = options.strategy, .max_norm = options.max_norm});
  if (!options.default_id) result = where(expand_dims(filled.empty_row_indicator, -1), zeros_like(result), result);
  return reshape(result, concat({outer, cast(shape(result)(Slice(1, {})), kInt64)}, 0));
}

}  // namespace panto
