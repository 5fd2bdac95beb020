#include <algorithm>
#include <cmath>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/nn/columns/columns.h"
#include "panto/nn/columns/parts.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

void expect_shape_of_numbers(const std::string& key, const Shape& shape) {
  for (const int64_t dim : shape.dims()) {
    if (dim < 1) invalid("shape of '{}': expected positive dimensions, got {}", key, shape.to_string());
  }
}

// Flattens each row: [batch, elements].
Tensor rows_of(const Tensor& x) { return reshape(x, concat({shape(x)(Slice(0, 1)), tensor({-1})}, 0)); }

}  // namespace

// ---- Numeric -------------------------------------------------------------------------------------------------------

NumericColumn::NumericColumn(std::string key, const NumericColumnOptions& options)
    : key_(std::move(key)), options_(options) {
  expect_shape_of_numbers(key_, options_.shape);
  const size_t defaults = options_.default_value.size();
  if (defaults > 1 && static_cast<int64_t>(defaults) != options_.shape.numel()) {
    invalid("default_value of '{}': expected one number or {}, got {}", key_, options_.shape.numel(), defaults);
  }
  if (!dtypes::kInteger.contains(options_.dtype) && !dtypes::kFloating.contains(options_.dtype)) {
    invalid("dtype of '{}': expected a floating or an integer type, got {}", key_, dtype_name(options_.dtype));
  }
}

Feature NumericColumn::transform(LazyBuilder& builder) const {
  const Feature feature = builder.get(key_);
  if (feature.is_sparse()) {
    invalid("feature '{}': expected a tensor for a numeric column, got a sparse one (to_dense makes one of it)", key_);
  }
  const Tensor x = options_.normalizer_fn ? options_.normalizer_fn(feature.dense()) : feature.dense();
  return cast(x, kFloat32);
}

ExampleSpec NumericColumn::parse_spec() const {
  Tensor missing;
  if (!options_.default_value.empty()) {
    const RecorderPause unheard;  // a constant also while a graph is built
    const Tensor given = cast(tensor(options_.default_value), options_.dtype);
    missing = options_.default_value.size() == 1 ? broadcast_to(reshape(given, {}), options_.shape)
                                                 : reshape(given, options_.shape);
  }
  return {{key_, FixedLenFeature{options_.shape, options_.dtype, missing}}};
}

Tensor NumericColumn::dense_tensor(LazyBuilder& builder, StateManager&) const { return builder.get(*this).dense(); }

NumericColumnPtr numeric_column(std::string key, const NumericColumnOptions& options) {
  return std::make_shared<NumericColumn>(std::move(key), options);
}

// ---- Bucketized ----------------------------------------------------------------------------------------------------

BucketizedColumn::BucketizedColumn(NumericColumnPtr source, std::vector<float> boundaries)
    : source_(std::move(source)), boundaries_(std::move(boundaries)) {
  if (source_ == nullptr) invalid("source: expected a numeric column, got none");
  if (boundaries_.empty()) invalid("boundaries of '{}': expected at least one, got none", source_->name());
  for (size_t i = 0; i < boundaries_.size(); ++i) {
    if (std::isnan(boundaries_[i]) || (i > 0 && !(boundaries_[i] > boundaries_[i - 1]))) {
      invalid("boundaries of '{}': expected them to ascend, got {} at place {}", source_->name(), boundaries_[i], i);
    }
  }
  if (source_->variable_shape().rank() > 1) {
    invalid("source '{}': expected a shape of at most one dimension, got {}", source_->name(),
            source_->variable_shape().to_string());
  }
  num_buckets();  // throws if the number is too large
}

Feature BucketizedColumn::transform(LazyBuilder& builder) const {
  return bucketize(builder.get(*source_).dense(), boundaries_);
}

Shape BucketizedColumn::variable_shape() const {
  const Shape numbers = source_->variable_shape();
  std::vector<int64_t> dims(numbers.dims().begin(), numbers.dims().end());
  dims.push_back(each());
  return Shape(dims);
}

Tensor BucketizedColumn::dense_tensor(LazyBuilder& builder, StateManager&) const {
  return one_hot(builder.get(*this).dense(), each(), 1.f, 0.f);
}

int64_t BucketizedColumn::num_buckets() const {
  int64_t all = 0;
  if (__builtin_mul_overflow(each(), source_->variable_shape().numel(), &all)) {
    invalid("buckets of '{}': expected fewer than 2^63, got more", name());
  }
  return all;
}

// The id of bucket b for an example's number j is j * (buckets per number) + b.
IdWeightPair BucketizedColumn::id_weight_pair(LazyBuilder& builder) const {
  const Tensor buckets = cast(rows_of(builder.get(*this).dense()), kInt64);
  const Tensor dims = shape(buckets, {.out_type = kInt64});
  const Tensor indices = where(broadcast_to(tensor(true), dims));
  const Tensor values = reshape(buckets, {-1}) + indices(Slice(), 1) * each();
  return {{indices, values, dims}};
}

BucketizedColumnPtr bucketized_column(NumericColumnPtr source, std::vector<float> boundaries) {
  return std::make_shared<BucketizedColumn>(std::move(source), std::move(boundaries));
}

// ---- Sequences of numbers -------------------------------------------------------------------------------------------

namespace {

class SequenceNumericColumn final : public SequenceDenseColumn {
 public:
  SequenceNumericColumn(std::string key, const SequenceNumericOptions& options)
      : key_(std::move(key)), options_(options) {
    expect_shape_of_numbers(key_, options_.shape);
  }
  std::string name() const override { return key_; }
  ExampleSpec parse_spec() const override { return {{key_, VarLenFeature{options_.dtype}}}; }
  Shape step_shape() const override { return options_.shape; }

  Feature transform(LazyBuilder& builder) const override {
    const Feature feature = builder.get(key_);
    if (!feature.is_sparse()) {
      invalid("feature '{}': expected a sparse tensor for a column of sequences, got a dense one", key_);
    }
    SparseTensor sparse = feature.sparse();
    if (options_.normalizer_fn) sparse.values = options_.normalizer_fn(sparse.values);
    sparse.values = cast(sparse.values, kFloat32);
    return sparse;
  }

  SequenceTensor sequence_tensor(LazyBuilder& builder, StateManager&) const override {
    const SparseTensor sparse = builder.get(*this).sparse();
    const Tensor dense = to_dense(sparse, cast(tensor(options_.default_value), kFloat32));
    std::vector<int64_t> steps = {-1};
    steps.insert(steps.end(), options_.shape.dims().begin(), options_.shape.dims().end());
    const Tensor dims = concat({shape(dense)(Slice(0, 1)), cast(tensor(steps), kInt32)}, 0);
    // In a feature [batch, numbers] the numbers of all steps follow one another.
    const bool flat = sparse.dense_shape.partial_shape().dim(0) == 2;
    return {reshape(dense, dims), sequence_lengths(sparse, flat ? options_.shape.numel() : 1)};
  }

 private:
  std::string key_;
  SequenceNumericOptions options_;
};

}  // namespace

SequenceColumnPtr sequence_numeric_column(std::string key, const SequenceNumericOptions& options) {
  return std::make_shared<SequenceNumericColumn>(std::move(key), options);
}

}  // namespace panto
