#include <algorithm>
#include <cmath>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/columns/columns.h"
#include "panto/nn/columns/parts.h"
#include "panto/nn/training/matching.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

void expect_sequence(const CategoricalColumn& column, bool sequence, const std::string& name) {
  if (column.is_sequence() == sequence) return;
  if (sequence) {
    invalid("column '{}': expected one of a sequence of categories (sequence_categorical_column_...), got '{}'", name,
            column.name());
  }
  invalid("column '{}': expected one of categories, got the sequences of '{}' (SequenceFeatures takes those)", name,
          column.name());
}

// Reads the tensor of that name from a file, when the variable is made.
Initializer from_file(const std::string& path, const std::string& name) {
  return [path, name](const Shape& shape, DType dtype) {
    const std::optional<Tensor> value = value_in_file(path, name);
    if (!value) failf(Code::kNotFound, "'{}': expected a tensor of that name in {}, got none", name, path);
    if (value->dtype() != dtype || !(value->shape() == shape)) {
      invalid("'{}' in {}: expected {}, got {}", name, path, type_text(dtype, shape),
              type_text(value->dtype(), value->shape()));
    }
    return *value;
  };
}

}  // namespace

// ---- Indicator -----------------------------------------------------------------------------------------------------

IndicatorColumn::IndicatorColumn(CategoricalColumnPtr column) : column_(std::move(column)) {
  if (column_ == nullptr) invalid("column: expected a categorical one, got none");
}

Feature IndicatorColumn::transform(LazyBuilder& builder) const {
  const IdWeightPair pair = column_->id_weight_pair(builder);
  const int64_t buckets = column_->num_buckets();
  if (!pair.weights) {
    return sum(one_hot(to_dense(pair.ids, int64_t{-1}), buckets, 1.f, 0.f), {-2});
  }
  // Drop ids outside of the buckets: they count nothing.
  const Tensor keep = logical_and(greater_equal(pair.ids.values, int64_t{0}), less(pair.ids.values, buckets));
  const SparseTensor ids = sparse_retain(pair.ids, keep);
  const Tensor weights = sparse_retain(*pair.weights, keep).values;
  const Tensor outer = ids.indices(Slice(), Slice({}, -1));
  const Tensor dims = concat({ids.dense_shape(Slice({}, -1)), tensor({buckets})}, 0);
  return scatter_nd(concat({outer, expand_dims(ids.values, -1)}, 1), weights, dims);
}

Tensor IndicatorColumn::dense_tensor(LazyBuilder& builder, StateManager&) const {
  expect_sequence(*column_, false, name());
  return builder.get(*this).dense();
}

SequenceTensor IndicatorColumn::sequence_tensor(LazyBuilder& builder, StateManager&) const {
  expect_sequence(*column_, true, name());
  return {builder.get(*this).dense(), sequence_lengths(column_->id_weight_pair(builder).ids, 1)};
}

IndicatorColumnPtr indicator_column(CategoricalColumnPtr column) {
  return std::make_shared<IndicatorColumn>(std::move(column));
}

// ---- Embedding -----------------------------------------------------------------------------------------------------

EmbeddingColumn::EmbeddingColumn(CategoricalColumnPtr column, int64_t dimension, const EmbeddingColumnOptions& options,
                                 std::string shared_as)
    : column_(std::move(column)), dimension_(dimension), options_(options), shared_as_(std::move(shared_as)) {
  if (column_ == nullptr) invalid("column: expected a categorical one, got none");
  if (dimension < 1) invalid("dimension of '{}': expected at least 1, got {}", name(), dimension);
  if (options_.ckpt_to_load_from.empty() != options_.tensor_name_in_ckpt.empty()) {
    invalid("'{}': expected ckpt_to_load_from and tensor_name_in_ckpt, or neither, got one of them", name());
  }
  if (options_.max_norm && !(*options_.max_norm > 0)) {
    invalid("max_norm of '{}': expected a positive number, got {}", name(), *options_.max_norm);
  }
  if (!options_.ckpt_to_load_from.empty()) {
    options_.initializer = from_file(options_.ckpt_to_load_from, options_.tensor_name_in_ckpt);
  } else if (!options_.initializer) {
    options_.initializer = truncated_normal_initializer(0, 1 / std::sqrt(static_cast<double>(dimension)));
  }
}

std::string EmbeddingColumn::name() const {
  return column_->name() + (shared_as_.empty() ? "_embedding" : "_shared_embedding");
}

PartitionedVariable EmbeddingColumn::table(StateManager& state) const {
  return state.get_variable(scope_name(shared_as_.empty() ? name() : shared_as_), "embedding_weights",
                            {column_->num_buckets(), dimension_},
                            {.dtype = kFloat32, .initializer = options_.initializer, .trainable = options_.trainable});
}

Feature EmbeddingColumn::transform(LazyBuilder& builder) const { return builder.get(*column_); }

Tensor EmbeddingColumn::looked_up(LazyBuilder& builder, StateManager& state) const {
  const IdWeightPair pair = column_->id_weight_pair(builder);
  return safe_embedding_lookup_sparse(table(state), pair.ids,
                                      {.combiner = options_.combiner,
                                       .weights = pair.weights ? pair.weights->values : Tensor(),
                                       .max_norm = options_.max_norm});
}

Tensor EmbeddingColumn::dense_tensor(LazyBuilder& builder, StateManager& state) const {
  expect_sequence(*column_, false, name());
  return looked_up(builder, state);
}

SequenceTensor EmbeddingColumn::sequence_tensor(LazyBuilder& builder, StateManager& state) const {
  expect_sequence(*column_, true, name());
  return {looked_up(builder, state), sequence_lengths(column_->id_weight_pair(builder).ids, 1)};
}

EmbeddingColumnPtr embedding_column(CategoricalColumnPtr column, int64_t dimension,
                                    const EmbeddingColumnOptions& options) {
  return std::make_shared<EmbeddingColumn>(std::move(column), dimension, options);
}

std::vector<EmbeddingColumnPtr> shared_embedding_columns(const std::vector<CategoricalColumnPtr>& columns,
                                                         int64_t dimension, const SharedEmbeddingOptions& options) {
  if (columns.empty()) invalid("columns: expected at least one, got none");
  std::vector<std::string> names;
  for (const CategoricalColumnPtr& column : columns) {
    if (column == nullptr) invalid("columns: expected categorical ones, got none");
    if (column->num_buckets() != columns[0]->num_buckets()) {
      invalid("columns: expected {} buckets, as '{}' has, got {} of '{}'", columns[0]->num_buckets(),
              columns[0]->name(), column->num_buckets(), column->name());
    }
    names.push_back(column->name());
  }
  std::string shared_as = options.shared_embedding_collection_name;
  if (shared_as.empty()) {
    std::ranges::sort(names);
    for (const std::string& name : names) shared_as += name + "_";
    shared_as += "shared_embedding";
  }
  const EmbeddingColumnOptions each = {.combiner = options.combiner,
                                       .initializer = options.initializer,
                                       .ckpt_to_load_from = options.ckpt_to_load_from,
                                       .tensor_name_in_ckpt = options.tensor_name_in_ckpt,
                                       .max_norm = options.max_norm,
                                       .trainable = options.trainable};
  std::vector<EmbeddingColumnPtr> shared;
  for (const CategoricalColumnPtr& column : columns) {
    shared.push_back(std::make_shared<EmbeddingColumn>(column, dimension, each, shared_as));
  }
  return shared;
}

}  // namespace panto
