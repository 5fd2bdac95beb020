#include <algorithm>
#include <fstream>
#include <numeric>
#include <unordered_set>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/columns/columns.h"
#include "panto/nn/columns/parts.h"
#include "panto/nn/layers/preprocessing/vocabulary.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/sparse.h"
#include "panto/ops/strings.h"

namespace panto {
namespace {

void expect_buckets(const std::string& key, int64_t buckets) {
  if (buckets < 1) invalid("buckets of '{}': expected at least 1, got {}", key, buckets);
}

void expect_category_type(const std::string& key, DType dtype) {
  if (dtype != kString && !dtypes::kInteger.contains(dtype)) {
    invalid("dtype of '{}': expected string or an integer type, got {}", key, dtype_name(dtype));
  }
}

// A categorical column of one feature; `ids_of` maps its values to ids.
class FeatureCategories : public CategoricalColumn {
 public:
  FeatureCategories(std::string key, int64_t buckets, DType dtype)
      : key_(std::move(key)), buckets_(buckets), dtype_(dtype) {
    expect_category_type(key_, dtype);
    expect_buckets(key_, buckets);
  }
  std::string name() const override { return key_; }
  ExampleSpec parse_spec() const override { return {{key_, VarLenFeature{dtype_ == kString ? kString : kInt64}}}; }
  int64_t num_buckets() const override { return buckets_; }
  IdWeightPair id_weight_pair(LazyBuilder& builder) const override { return {builder.get(*this).sparse()}; }

  Feature transform(LazyBuilder& builder) const override {
    SparseTensor sparse = to_sparse_input(builder.get(key_));
    const bool text = sparse.values.dtype() == kString;
    if (text != (dtype_ == kString) || (!text && !dtypes::kInteger.contains(sparse.values.dtype()))) {
      invalid("feature '{}': expected {}, got {}", key_, dtype_ == kString ? "strings" : "integers",
              dtype_name(sparse.values.dtype()));
    }
    sparse.values = ids_of(text ? sparse.values : cast(sparse.values, kInt64));
    return sparse;
  }

 protected:
  const std::string& key() const { return key_; }
  // Maps strings or int64 to int64 ids.
  virtual Tensor ids_of(const Tensor& values) const = 0;

 private:
  std::string key_;
  int64_t buckets_;
  DType dtype_;
};

Tensor hashed(const Tensor& values, int64_t buckets) {
  return string_to_hash_bucket_fast(values.dtype() == kString ? values : as_string(values), buckets);
}

class HashedColumn final : public FeatureCategories {
 public:
  using FeatureCategories::FeatureCategories;

 private:
  Tensor ids_of(const Tensor& values) const override { return hashed(values, num_buckets()); }
};

class IdentityColumn final : public FeatureCategories {
 public:
  IdentityColumn(std::string key, int64_t buckets, std::optional<int64_t> default_value)
      : FeatureCategories(std::move(key), buckets, kInt64), default_value_(default_value) {
    if (default_value_ && (*default_value_ < 0 || *default_value_ >= buckets)) {
      invalid("default_value of '{}': expected one in [0, {}), got {}", this->key(), buckets, *default_value_);
    }
  }

 private:
  Tensor ids_of(const Tensor& values) const override {
    const Tensor within = logical_and(greater_equal(values, int64_t{0}), less(values, num_buckets()));
    if (default_value_) return where(within, values, *default_value_);
    return asserted(values, all(within), fmt::format("'{}': expected ids in [0, {}), got ", key(), num_buckets()));
  }

  std::optional<int64_t> default_value_;
};

class VocabularyColumn final : public FeatureCategories {
 public:
  VocabularyColumn(std::string key, const Tensor& vocabulary, const VocabularyOptions& options)
      : FeatureCategories(std::move(key), buckets_of(vocabulary, options), vocabulary.dtype()),
        options_(options),
        vocabulary_(fmt::format("vocabulary of '{}'", this->key()), vocabulary) {
    if (options.num_oov_buckets > 0 && options.default_value != -1) {
      invalid("default_value of '{}': expected none beside num_oov_buckets, got {}", this->key(),
              options.default_value);
    }
    if (options.default_value < -1 || options.default_value >= num_buckets()) {
      invalid("default_value of '{}': expected -1 or an id below {}, got {}", this->key(), num_buckets(),
              options.default_value);
    }
  }

 private:
  static int64_t buckets_of(const Tensor& vocabulary, const VocabularyOptions& options) {
    if (vocabulary.numel() == 0) invalid("vocabulary: expected at least one value, got none");
    if (options.num_oov_buckets < 0 || options.num_oov_buckets > INT64_MAX - vocabulary.numel()) {
      invalid("num_oov_buckets: expected at least 0, got {}", options.num_oov_buckets);
    }
    return vocabulary.numel() + options.num_oov_buckets;
  }
  Tensor ids_of(const Tensor& values) const override {
    if (options_.num_oov_buckets == 0) return vocabulary_.places_of(values, 0, options_.default_value);
    return vocabulary_.places_of(values, 0, hashed(values, options_.num_oov_buckets) + vocabulary_.size());
  }

  VocabularyOptions options_;
  Vocabulary vocabulary_;
};

// The lines of a text file without their ends ("\n", "\r\n").
std::vector<std::string> lines_of(const std::string& path) {
  const std::string text = read_file(path);
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(std::move(line));
    begin = end + 1;
  }
  return lines;
}

class WeightedColumn final : public CategoricalColumn {
 public:
  WeightedColumn(CategoricalColumnPtr column, std::string weight_key, DType dtype)
      : column_(std::move(column)), weight_key_(std::move(weight_key)), dtype_(dtype) {
    if (column_ == nullptr) invalid("column: expected a categorical one, got none");
    if (!dtypes::kFloating.contains(dtype) && !dtypes::kInteger.contains(dtype)) {
      invalid("dtype of '{}': expected a floating or an integer type, got {}", weight_key_, dtype_name(dtype));
    }
  }
  std::string name() const override { return fmt::format("{}_weighted_by_{}", column_->name(), weight_key_); }
  int64_t num_buckets() const override { return column_->num_buckets(); }
  bool is_sequence() const override { return column_->is_sequence(); }
  ExampleSpec parse_spec() const override {
    ExampleSpec spec = column_->parse_spec();
    spec.insert_or_assign(weight_key_, VarLenFeature{dtype_});
    return spec;
  }
  // The column's feature is the weights.
  Feature transform(LazyBuilder& builder) const override {
    const Feature feature = builder.get(weight_key_);
    SparseTensor weights = feature.is_sparse() ? feature.sparse() : from_dense(feature.dense());
    if (weights.values.dtype() != dtype_) {
      invalid("feature '{}': expected {}, got {}", weight_key_, dtype_name(dtype_), dtype_name(weights.values.dtype()));
    }
    if (!dtypes::kFloating.contains(dtype_)) weights.values = cast(weights.values, kFloat32);
    return weights;
  }
  IdWeightPair id_weight_pair(LazyBuilder& builder) const override {
    IdWeightPair pair = column_->id_weight_pair(builder);
    if (pair.weights) invalid("column '{}': expected one without weights, got one that has some", column_->name());
    pair.weights = builder.get(*this).sparse();
    expect_one_each(pair);
    return pair;
  }

 private:
  void expect_one_each(const IdWeightPair& pair) const {
    const PartialShape &ids = pair.ids.values.partial_shape(), &weights = pair.weights->values.partial_shape();
    if (ids.compatible_with(weights)) return;
    invalid("feature '{}': expected a weight for each of {} entries of '{}', got {}", weight_key_, ids.dim(0),
            column_->name(), weights.to_string());
  }

  CategoricalColumnPtr column_;
  std::string weight_key_;
  DType dtype_;
};

// Ids [batch, steps, categories per step].
class SequenceCategories final : public CategoricalColumn {
 public:
  explicit SequenceCategories(CategoricalColumnPtr column) : column_(std::move(column)) {}
  std::string name() const override { return column_->name(); }
  ExampleSpec parse_spec() const override { return column_->parse_spec(); }
  int64_t num_buckets() const override { return column_->num_buckets(); }
  bool is_sequence() const override { return true; }
  Feature transform(LazyBuilder& builder) const override {
    const SparseTensor ids = column_->id_weight_pair(builder).ids;
    const Tensor& dims = ids.dense_shape;
    const Tensor rest = prod(dims(Slice(2, {})), {0});
    return sparse_reshape(ids, concat({dims(Slice(0, 2)), expand_dims(rest, 0)}, 0));
  }
  IdWeightPair id_weight_pair(LazyBuilder& builder) const override { return {builder.get(*this).sparse()}; }

 private:
  CategoricalColumnPtr column_;
};

}  // namespace

CategoricalColumnPtr categorical_column_with_hash_bucket(std::string key, int64_t buckets, DType dtype) {
  return std::make_shared<HashedColumn>(std::move(key), buckets, dtype);
}

CategoricalColumnPtr categorical_column_with_identity(std::string key, int64_t buckets,
                                                      std::optional<int64_t> default_value) {
  return std::make_shared<IdentityColumn>(std::move(key), buckets, default_value);
}

CategoricalColumnPtr categorical_column_with_vocabulary_list(std::string key,
                                                             const std::vector<std::string>& vocabulary,
                                                             const VocabularyOptions& options) {
  return std::make_shared<VocabularyColumn>(std::move(key), tensor(vocabulary), options);
}

CategoricalColumnPtr categorical_column_with_vocabulary_list(std::string key, std::initializer_list<int64_t> vocabulary,
                                                             const VocabularyOptions& options) {
  return detail::column_of_integers(std::move(key), vocabulary, options);
}

CategoricalColumnPtr detail::column_of_integers(std::string key, const std::vector<int64_t>& vocabulary,
                                                const VocabularyOptions& options) {
  return std::make_shared<VocabularyColumn>(std::move(key), tensor(vocabulary), options);
}

CategoricalColumnPtr categorical_column_with_vocabulary_file(std::string key, const std::string& path,
                                                             const VocabularyFileOptions& options) {
  expect_category_type(key, options.dtype);
  std::vector<std::string> lines = lines_of(path);
  const auto count = static_cast<int64_t>(lines.size());
  if (options.vocabulary_size < 0 || options.vocabulary_size > count) {
    invalid("vocabulary_size of '{}': expected at most {}, the lines of {}, got {}", key, count, path,
            options.vocabulary_size);
  }
  if (options.vocabulary_size > 0) lines.resize(static_cast<size_t>(options.vocabulary_size));
  const RecorderPause unheard;  // the lines are constants also while a graph is built
  Tensor vocabulary = tensor(lines);
  if (options.dtype != kString) vocabulary = string_to_number(vocabulary, {.out_type = kInt64});
  const VocabularyOptions others = {.num_oov_buckets = options.num_oov_buckets, .default_value = options.default_value};
  return std::make_shared<VocabularyColumn>(std::move(key), vocabulary, others);
}

CategoricalColumnPtr weighted_categorical_column(CategoricalColumnPtr column, std::string weight_key, DType dtype) {
  return std::make_shared<WeightedColumn>(std::move(column), std::move(weight_key), dtype);
}

CategoricalColumnPtr sequence_categorical_column_with_hash_bucket(std::string key, int64_t buckets, DType dtype) {
  return std::make_shared<SequenceCategories>(categorical_column_with_hash_bucket(std::move(key), buckets, dtype));
}
CategoricalColumnPtr sequence_categorical_column_with_identity(std::string key, int64_t buckets,
                                                               std::optional<int64_t> default_value) {
  return std::make_shared<SequenceCategories>(categorical_column_with_identity(std::move(key), buckets, default_value));
}
CategoricalColumnPtr sequence_categorical_column_with_vocabulary_list(std::string key,
                                                                      const std::vector<std::string>& vocabulary,
                                                                      const VocabularyOptions& options) {
  return std::make_shared<SequenceCategories>(
      categorical_column_with_vocabulary_list(std::move(key), vocabulary, options));
}
CategoricalColumnPtr sequence_categorical_column_with_vocabulary_file(std::string key, const std::string& path,
                                                                      const VocabularyFileOptions& options) {
  return std::make_shared<SequenceCategories>(categorical_column_with_vocabulary_file(std::move(key), path, options));
}

}  // namespace panto
