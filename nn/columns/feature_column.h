// Feature columns: how named raw values become what a model computes with. What columns are made of stands here, for
// whoever writes one; panto/nn/columns/columns.h makes those that there are.
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
// As TensorFlow's, whose numbers they give. Columns do not change; they may be used by several threads at once. A
// builder and a state belong to one thread.
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

// What is known of a batch's examples by one name: a tensor [batch, ...], one whose elements may be missing, or one
// whose rows differ in length, which columns take as a sparse one.
class PANTO_EXPORT Feature {
 public:
  Feature() = default;
  Feature(Tensor dense) : value_(std::move(dense)) {}          // NOLINT(google-explicit-constructor): {"age", ages}
  Feature(SparseTensor sparse) : value_(std::move(sparse)) {}  // NOLINT(google-explicit-constructor)
  Feature(RaggedTensor ragged) : value_(std::move(ragged)) {}  // NOLINT(google-explicit-constructor)
  bool is_sparse() const { return std::holds_alternative<SparseTensor>(value_); }
  bool is_ragged() const { return std::holds_alternative<RaggedTensor>(value_); }
  // Throw InvalidArgument for one of another kind.
  const Tensor& dense() const;
  const SparseTensor& sparse() const;
  const RaggedTensor& ragged() const;

 private:
  std::variant<Tensor, SparseTensor, RaggedTensor> value_;
};
using Features = std::map<std::string, Feature, std::less<>>;

// How a feature stands in an Example record: so many values, or any number of them.
struct FixedLenFeature {
  Shape shape;
  DType dtype = kFloat32;
  Tensor default_value = {};  // undefined: the feature must be there
};
struct VarLenFeature {
  DType dtype = kString;
};
// So many values for each step, of which there may be any number.
struct FixedLenSequenceFeature {
  Shape shape;
  DType dtype = kFloat32;
  bool allow_missing = false;
  Tensor default_value = {};  // one element, behind the last step; undefined: 0 or ""
};
struct RaggedFeature {
  DType dtype = kString;
  DType row_splits_dtype = kInt32;
};
// Values and where they stand, as features of their own: `value_key`'s values at the places that the int64 features
// `index_keys` say, in a tensor of `size` for each example, a size for each index. Of examples, not of lists.
struct SparseFeature {
  std::vector<std::string> index_keys;
  std::string value_key;
  DType dtype = kFloat32;
  std::vector<int64_t> size;
  bool already_sorted = false;  // places ascend in each record
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
  // What the column makes of the features. LazyBuilder calls it once.
  virtual Feature transform(LazyBuilder& builder) const = 0;
  // The raw features that it needs.
  virtual ExampleSpec parse_spec() const = 0;
};

// One that gives numbers: [batch, *variable_shape()].
class PANTO_EXPORT DenseColumn : public virtual FeatureColumn {
 public:
  virtual Shape variable_shape() const = 0;
  virtual Tensor dense_tensor(LazyBuilder& builder, StateManager& state) const = 0;
  // Makes the variables that `dense_tensor` asks `state` for.
  virtual void create_state(StateManager& state) const;  // none
};

// Ids, and what each of them counts: both of one shape [batch, ...] and with the same entries.
struct IdWeightPair {
  SparseTensor ids;                                    // int64
  std::optional<SparseTensor> weights = std::nullopt;  // 1 without
};

// One that gives numbers of categories.
class PANTO_EXPORT CategoricalColumn : public virtual FeatureColumn {
 public:
  // Ids are below this.
  virtual int64_t num_buckets() const = 0;
  virtual IdWeightPair id_weight_pair(LazyBuilder& builder) const = 0;
  // Whether examples are sequences of ids: [batch, steps, ...].
  virtual bool is_sequence() const { return false; }
};

// Numbers for each step, and how many steps each example has.
struct SequenceTensor {
  Tensor values;   // [batch, steps, ...]: zeros behind an example's last step
  Tensor lengths;  // int64 [batch]
};

// One that gives numbers of steps.
class PANTO_EXPORT SequenceDenseColumn : public virtual FeatureColumn {
 public:
  virtual Shape step_shape() const = 0;  // of a step's numbers
  virtual SequenceTensor sequence_tensor(LazyBuilder& builder, StateManager& state) const = 0;
  virtual void create_sequence_state(StateManager& state) const;  // none
};

// shared_ptr, since columns are made of columns.
using DenseColumnPtr = std::shared_ptr<const DenseColumn>;
using CategoricalColumnPtr = std::shared_ptr<const CategoricalColumn>;
using SequenceColumnPtr = std::shared_ptr<const SequenceDenseColumn>;

// Features as columns see them: each is transformed once, however many columns are made of it.
//
//   LazyBuilder builder({{"age", tensor({17.f, 30.f})}});
//   Tensor ages = builder.get("age").dense();                 // [2, 1]
//   Tensor buckets = builder.get(*bucketized).dense();
class PANTO_EXPORT LazyBuilder {
 public:
  explicit LazyBuilder(Features features) : features_(std::move(features)) {}
  // A raw feature; of a vector [batch] as [batch, 1]. Throws NotFound, and InvalidArgument for a scalar or a tensor of
  // unknown rank.
  Feature get(std::string_view key);
  Feature get(const FeatureColumn& column);

 private:
  Features features_;
  std::map<std::string, Feature, std::less<>> raw_;
  std::map<const FeatureColumn*, Feature> transformed_;
};

// Where columns have their variables.
class PANTO_EXPORT StateManager {
 public:
  virtual ~StateManager();
  // The variable `name` of whoever is called `owner`, made when it is asked for the first time.
  virtual PartitionedVariable get_variable(const std::string& owner, const std::string& name, const Shape& shape,
                                           const GetVariableOptions& options) = 0;
};

// Ids as a column's input is understood: of a tensor the elements that are neither "" nor -1.
PANTO_EXPORT SparseTensor to_sparse_input(const Feature& feature);
// The name, with "_" for characters that a scope's name may not have.
PANTO_EXPORT std::string scope_name(const std::string& name);

}  // namespace panto
