// Feature columns, as tf.feature_column has them.
//
//   auto age = numeric_column("age");
//   auto words = categorical_column_with_hash_bucket("keywords", 1000);
//   auto where_and_when = crossed_column({"city", "month"}, 10000);
//   DenseFeatures layer({age, bucketized_column(age, {18, 25, 40}), embedding_column(words, 16),
//                        indicator_column(where_and_when)});
//   Tensor x = layer({{"age", ages}, {"keywords", bags_of_words}, {"city", cities}, {"month", months}});
//
// A categorical feature is a SparseTensor, or a dense tensor of strings or integers in which "" and -1 mark missing
// values. All functions throw InvalidArgument for arguments out of range.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/nn/columns/feature_column.h"
#include "panto/nn/layers/initializers.h"
#include "panto/nn/variables/embedding_lookup.h"

namespace panto {

// ---- Numbers -----------------------------------------------------------------------------------------------------

class NumericColumn;
class BucketizedColumn;
using NumericColumnPtr = std::shared_ptr<const NumericColumn>;
using BucketizedColumnPtr = std::shared_ptr<const BucketizedColumn>;

struct NumericColumnOptions {
  Shape shape = {1};                       // of one example's numbers
  std::vector<double> default_value = {};  // for records without the feature: one number, or one per element
  DType dtype = kFloat32;                  // of the feature
  Callable<Tensor(const Tensor&)> normalizer_fn = nullptr;  // of the feature's tensor, before it becomes float32
};
PANTO_EXPORT NumericColumnPtr numeric_column(std::string key, const NumericColumnOptions& options = {});
// The bucket of each number between ascending boundaries: one-hot as a dense column, one id per number as a categorical
// one. b boundaries make b + 1 buckets; a boundary belongs to the bucket above it.
PANTO_EXPORT BucketizedColumnPtr bucketized_column(NumericColumnPtr source, std::vector<float> boundaries);

// ---- Categories --------------------------------------------------------------------------------------------------

// Hashes strings, or integers written as decimal text (FarmHash's Fingerprint64 modulo the number of buckets).
PANTO_EXPORT CategoricalColumnPtr categorical_column_with_hash_bucket(std::string key, int64_t buckets,
                                                                      DType dtype = kString);

struct VocabularyOptions {
  int64_t num_oov_buckets = 0;  // for values outside the vocabulary, chosen by hash; 0: they get default_value
  int64_t default_value = -1;   // an id; -1: none
};
// The id of a value is its position in the vocabulary.
PANTO_EXPORT CategoricalColumnPtr categorical_column_with_vocabulary_list(std::string key,
                                                                          const std::vector<std::string>& vocabulary,
                                                                          const VocabularyOptions& options = {});
PANTO_EXPORT CategoricalColumnPtr categorical_column_with_vocabulary_list(std::string key,
                                                                          std::initializer_list<int64_t> vocabulary,
                                                                          const VocabularyOptions& options = {});
namespace detail {
PANTO_EXPORT CategoricalColumnPtr column_of_integers(std::string key, const std::vector<int64_t>& vocabulary,
                                                     const VocabularyOptions& options);
}  // namespace detail
// A template, so that two string literals in braces are not taken for a vector's begin and end iterators.
template <std::same_as<std::vector<int64_t>> Integers>
CategoricalColumnPtr categorical_column_with_vocabulary_list(std::string key, const Integers& vocabulary,
                                                             const VocabularyOptions& options = {}) {
  return detail::column_of_integers(std::move(key), vocabulary, options);
}
struct VocabularyFileOptions {
  int64_t vocabulary_size = 0;  // the first lines; 0: all
  int64_t num_oov_buckets = 0;
  int64_t default_value = -1;
  DType dtype = kString;  // or an integer type, as which the lines are parsed
};
// The id of a value is the number of its line, from 0. Reads the file now. Throws as reading files does.
PANTO_EXPORT CategoricalColumnPtr categorical_column_with_vocabulary_file(std::string key, const std::string& path,
                                                                          const VocabularyFileOptions& options = {});
// The integers are the ids. An integer outside [0, buckets) gets `default_value`; without a default it is an error.
PANTO_EXPORT CategoricalColumnPtr categorical_column_with_identity(std::string key, int64_t buckets,
                                                                   std::optional<int64_t> default_value = std::nullopt);
// The same categories, weighted by the feature `weight_key`: floating, with one weight for each entry of the
// categorical feature.
PANTO_EXPORT CategoricalColumnPtr weighted_categorical_column(CategoricalColumnPtr column, std::string weight_key,
                                                              DType dtype = kFloat32);

// One input of a cross: a feature's key, or a categorical column (not a hashed one: cross its key instead).
using CrossKey = std::variant<std::string, CategoricalColumnPtr>;
struct CrossedColumnOptions {
  std::optional<int64_t> hash_key = std::nullopt;
};
// One category for each combination of the inputs' values, by hash: TensorFlow's SparseCross.
PANTO_EXPORT CategoricalColumnPtr crossed_column(const std::vector<CrossKey>& keys, int64_t hash_bucket_size,
                                                 const CrossedColumnOptions& options = {});

// ---- From categories to numbers ------------------------------------------------------------------------------------

class EmbeddingColumn;
class IndicatorColumn;
using EmbeddingColumnPtr = std::shared_ptr<const EmbeddingColumn>;
using IndicatorColumnPtr = std::shared_ptr<const IndicatorColumn>;

// Counts each category, or adds up its weights: [batch, buckets].
PANTO_EXPORT IndicatorColumnPtr indicator_column(CategoricalColumnPtr column);

struct EmbeddingColumnOptions {
  Combiner combiner = Combiner::kMean;
  Initializer initializer =
      nullptr;  // none: normal, truncated at 2 standard deviations, with stddev 1 / sqrt(dimension)
  std::string ckpt_to_load_from = {};  // as of load_variables: first values come from tensor_name_in_ckpt there
  std::string tensor_name_in_ckpt = {};
  std::optional<double> max_norm = std::nullopt;
  bool trainable = true;
};
// The rows of a table [buckets, dimension] for an example's categories, combined. Variable:
// "COLUMN_embedding/embedding_weights".
PANTO_EXPORT EmbeddingColumnPtr embedding_column(CategoricalColumnPtr column, int64_t dimension,
                                                 const EmbeddingColumnOptions& options = {});

struct SharedEmbeddingOptions {
  Combiner combiner = Combiner::kMean;
  Initializer initializer = nullptr;
  std::string shared_embedding_collection_name = {};  // "": the columns' names in order, then "_shared_embedding"
  std::string ckpt_to_load_from = {};
  std::string tensor_name_in_ckpt = {};
  std::optional<double> max_norm = std::nullopt;
  bool trainable = true;
};
// Embedding columns that share one table. All must have the same number of buckets.
PANTO_EXPORT std::vector<EmbeddingColumnPtr> shared_embedding_columns(const std::vector<CategoricalColumnPtr>& columns,
                                                                      int64_t dimension,
                                                                      const SharedEmbeddingOptions& options = {});

// ---- Sequences -----------------------------------------------------------------------------------------------------

struct SequenceNumericOptions {
  Shape shape = {1};         // of one step's numbers
  double default_value = 0;  // fills the steps after an example's last one
  DType dtype = kFloat32;
  Callable<Tensor(const Tensor&)> normalizer_fn = nullptr;
};
// The feature is a SparseTensor [batch, numbers] or [batch, steps, ...].
PANTO_EXPORT SequenceColumnPtr sequence_numeric_column(std::string key, const SequenceNumericOptions& options = {});
// Categories for each step. embedding_column and indicator_column of such a column are sequence columns.
PANTO_EXPORT CategoricalColumnPtr sequence_categorical_column_with_hash_bucket(std::string key, int64_t buckets,
                                                                               DType dtype = kString);
PANTO_EXPORT CategoricalColumnPtr sequence_categorical_column_with_identity(
    std::string key, int64_t buckets, std::optional<int64_t> default_value = std::nullopt);
PANTO_EXPORT CategoricalColumnPtr sequence_categorical_column_with_vocabulary_list(
    std::string key, const std::vector<std::string>& vocabulary, const VocabularyOptions& options = {});
PANTO_EXPORT CategoricalColumnPtr sequence_categorical_column_with_vocabulary_file(
    std::string key, const std::string& path, const VocabularyFileOptions& options = {});

// ---- The classes, for code that needs a member of one column kind ---------------------------------------------------

class PANTO_EXPORT NumericColumn final : public DenseColumn {
 public:
  NumericColumn(std::string key, const NumericColumnOptions& options);
  std::string name() const override { return key_; }
  const std::string& key() const { return key_; }
  Feature transform(LazyBuilder& builder) const override;
  ExampleSpec parse_spec() const override;
  Shape variable_shape() const override { return options_.shape; }
  Tensor dense_tensor(LazyBuilder& builder, StateManager& state) const override;

 private:
  std::string key_;
  NumericColumnOptions options_;
};

class PANTO_EXPORT BucketizedColumn final : public DenseColumn, public CategoricalColumn {
 public:
  BucketizedColumn(NumericColumnPtr source, std::vector<float> boundaries);
  std::string name() const override { return source_->name() + "_bucketized"; }
  Feature transform(LazyBuilder& builder) const override;
  ExampleSpec parse_spec() const override { return source_->parse_spec(); }
  Shape variable_shape() const override;
  Tensor dense_tensor(LazyBuilder& builder, StateManager& state) const override;
  int64_t num_buckets() const override;
  IdWeightPair id_weight_pair(LazyBuilder& builder) const override;

 private:
  int64_t each() const { return static_cast<int64_t>(boundaries_.size()) + 1; }

  NumericColumnPtr source_;
  std::vector<float> boundaries_;
};

class PANTO_EXPORT IndicatorColumn final : public DenseColumn, public SequenceDenseColumn {
 public:
  explicit IndicatorColumn(CategoricalColumnPtr column);
  std::string name() const override { return column_->name() + "_indicator"; }
  Feature transform(LazyBuilder& builder) const override;
  ExampleSpec parse_spec() const override { return column_->parse_spec(); }
  Shape variable_shape() const override { return {column_->num_buckets()}; }
  Shape step_shape() const override { return variable_shape(); }
  Tensor dense_tensor(LazyBuilder& builder, StateManager& state) const override;
  SequenceTensor sequence_tensor(LazyBuilder& builder, StateManager& state) const override;

 private:
  CategoricalColumnPtr column_;
};

class PANTO_EXPORT EmbeddingColumn final : public DenseColumn, public SequenceDenseColumn {
 public:
  // `shared_as`: the name of a table shared by several columns; empty: the column has its own table.
  EmbeddingColumn(CategoricalColumnPtr column, int64_t dimension, const EmbeddingColumnOptions& options,
                  std::string shared_as = {});
  std::string name() const override;
  Feature transform(LazyBuilder& builder) const override;
  ExampleSpec parse_spec() const override { return column_->parse_spec(); }
  Shape variable_shape() const override { return {dimension_}; }
  Shape step_shape() const override { return variable_shape(); }
  Tensor dense_tensor(LazyBuilder& builder, StateManager& state) const override;
  SequenceTensor sequence_tensor(LazyBuilder& builder, StateManager& state) const override;
  void create_state(StateManager& state) const override { table(state); }
  void create_sequence_state(StateManager& state) const override { table(state); }

 private:
  PartitionedVariable table(StateManager& state) const;
  Tensor looked_up(LazyBuilder& builder, StateManager& state) const;

  CategoricalColumnPtr column_;
  int64_t dimension_;
  EmbeddingColumnOptions options_;
  std::string shared_as_;
};

}  // namespace panto
