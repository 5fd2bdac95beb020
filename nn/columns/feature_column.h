// Feature columns: they turn named raw values into the numbers that a model computes with. This header has the base
// classes, for writing a column of your own; panto/nn/columns/columns.h makes the built-in columns.
//
//   struct Squared : DenseColumn {
//     std::string key;
//     std::string name() const override { return key + "_squared"; }
//     Feature transform(LazyBuilder& builder) const override { return square(builder.get(key).dense()); }
//     Shape variable_shape() const override { return {1}; }
//     Tensor dense_tensor(LazyBuilder& builder, StateManager&) const override { return builder.get(*this).dense(); }
//     ExampleSpec parse_spec() const override { return {{key, FixedLenFeature{{1}, kFloat32}}}; }
//   };
//
// Columns follow TensorFlow's and give the same numbers. They are immutable and may be used by several threads at once.
// A builder and a state belong to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/shape.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/ops/sparse/ragged_tensor.h"
#include "panto/lib/ops/sparse/sparse_tensor.h"
#include "panto/nn/variables/partitioned.h"
#include "panto/nn/variables/variable_scope.h"

namespace panto {

// The values of one named feature for a batch of examples: a dense tensor [batch, ...], a sparse tensor if elements may
// be missing, or a ragged one if rows differ in length (columns read it as a sparse one).
class PANTO_EXPORT Feature {
 public:
  Feature() = default;
  Feature(Tensor dense) : value_(std::move(dense)) {}          // NOLINT(google-explicit-constructor): {"age", ages}
  Feature(SparseTensor sparse) : value_(std::move(sparse)) {}  // NOLINT(google-explicit-constructor)
  Feature(RaggedTensor ragged) : value_(std::move(ragged)) {}  // NOLINT(google-explicit-constructor)
  bool is_sparse() const { return std::holds_alternative<SparseTensor>(value_); }
  bool is_ragged() const { return std::holds_alternative<RaggedTensor>(value_); }
  // Throw InvalidArgument if the feature is of another kind.
  const Tensor& dense() const;
  const SparseTensor& sparse() const;
  const RaggedTensor& ragged() const;

 private:
  std::variant<Tensor, SparseTensor, RaggedTensor> value_;
};
using Features = std::map<std::string, Feature, std::less<>>;

// How an Example record stores a feature: FixedLenFeature has a fixed number of values, VarLenFeature any number.
struct FixedLenFeature {
  Shape shape;
  DType dtype = kFloat32;
  Tensor default_value = {};  // undefined: the feature must be there
};
struct VarLenFeature {
  DType dtype = kString;
};
// A fixed number of values for each step; the number of steps varies.
struct FixedLenSequenceFeature {
  Shape shape;
  DType dtype = kFloat32;
  bool allow_missing = false;
  Tensor default_value = {};  // one element that fills the steps after the last; undefined: 0 or ""
};
struct RaggedFeature {
  DType dtype = kString;
  DType row_splits_dtype = kInt32;
};
// A sparse tensor stored as several features: the values of `value_key` at the positions that the int64 features
// `index_keys` give, in a tensor of shape `size` for each example (one size per index key). For Examples only, not for
// the lists of SequenceExamples.
struct SparseFeature {
  std::vector<std::string> index_keys;
  std::string value_key;
  DType dtype = kFloat32;
  std::vector<int64_t> size;
  bool already_sorted = false;  // positions ascend in each record
};
using ExampleFeature =
    std::variant<FixedLenFeature, VarLenFeature, FixedLenSequenceFeature, RaggedFeature, SparseFeature>;
using ExampleSpec = std::map<std::string, ExampleFeature, std::less<>>;

class LazyBuilder;
class StateManager;

class PANTO_EXPORT FeatureColumn {
 public:
  virtual ~FeatureColumn();
  virtual std::string name() const = 0;
  // Computes the column's value from the features. LazyBuilder calls it once.
  virtual Feature transform(LazyBuilder& builder) const = 0;
  // The raw features that the column needs.
  virtual ExampleSpec parse_spec() const = 0;
};

// A column of numbers: [batch, *variable_shape()].
class PANTO_EXPORT DenseColumn : public virtual FeatureColumn {
 public:
  virtual Shape variable_shape() const = 0;
  virtual Tensor dense_tensor(LazyBuilder& builder, StateManager& state) const = 0;
  // Makes the variables that `dense_tensor` asks `state` for.
  virtual void create_state(StateManager& state) const;  // none
};

// Category ids and their weights: both of one shape [batch, ...] and with the same entries.
struct IdWeightPair {
  SparseTensor ids;                                    // int64
  std::optional<SparseTensor> weights = std::nullopt;  // none: every weight is 1
};

// A column of category ids.
class PANTO_EXPORT CategoricalColumn : public virtual FeatureColumn {
 public:
  // Ids are below num_buckets().
  virtual int64_t num_buckets() const = 0;
  virtual IdWeightPair id_weight_pair(LazyBuilder& builder) const = 0;
  // Whether examples are sequences of ids: [batch, steps, ...].
  virtual bool is_sequence() const { return false; }
};

// Numbers for each step, and the number of steps of each example.
struct SequenceTensor {
  Tensor values;   // [batch, steps, ...]: zeros after an example's last step
  Tensor lengths;  // int64 [batch]
};

// A column of numbers for each step.
class PANTO_EXPORT SequenceDenseColumn : public virtual FeatureColumn {
 public:
  virtual Shape step_shape() const = 0;  // of one step's numbers
  virtual SequenceTensor sequence_tensor(LazyBuilder& builder, StateManager& state) const = 0;
  virtual void create_sequence_state(StateManager& state) const;  // none
};

// shared_ptr, since columns refer to other columns.
using DenseColumnPtr = std::shared_ptr<const DenseColumn>;
using CategoricalColumnPtr = std::shared_ptr<const CategoricalColumn>;
using SequenceColumnPtr = std::shared_ptr<const SequenceDenseColumn>;

// The features that columns read. Each column is transformed once, however many other columns use it.
//
//   LazyBuilder builder({{"age", tensor({17.f, 30.f})}});
//   Tensor ages = builder.get("age").dense();                 // [2, 1]
//   Tensor buckets = builder.get(*bucketized).dense();
class PANTO_EXPORT LazyBuilder {
 public:
  explicit LazyBuilder(Features features) : features_(std::move(features)) {}
  // Returns a raw feature; a vector [batch] becomes [batch, 1]. Throws NotFound if it is missing, InvalidArgument for a
  // scalar or a tensor of unknown rank.
  Feature get(std::string_view key);
  Feature get(const FeatureColumn& column);

 private:
  Features features_;
  std::map<std::string, Feature, std::less<>> raw_;
  std::map<const FeatureColumn*, Feature> transformed_;
};

// Creates and keeps the variables of columns.
class PANTO_EXPORT StateManager {
 public:
  virtual ~StateManager();
  // Returns the variable `name` of the column `owner`, creating it at the first request.
  virtual PartitionedVariable get_variable(const std::string& owner, const std::string& name, const Shape& shape,
                                           const GetVariableOptions& options) = 0;
};

// Converts a column's input to sparse ids: from a dense tensor it takes the elements other than "" and -1.
PANTO_EXPORT SparseTensor to_sparse_input(const Feature& feature);
// The name with "_" in place of characters that a scope's name may not have.
PANTO_EXPORT std::string scope_name(const std::string& name);

}  // namespace panto
