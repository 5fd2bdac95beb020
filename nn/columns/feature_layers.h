// Layers on feature columns: one matrix of numbers, or a linear model.
//
// As layers, with variables of their own, for eager code and traces:
//
//   DenseFeatures inputs({age, embedding_column(words, 16)});
//   Sequential net(Dense(17, 64, {.activation = relu}), Dense(64, 1));
//   Tensor logits = net(inputs(features));
//
// As functions, whose variables belong to the open VariableScope, for graphs of TensorFlow 1:
//
//   Tensor x = input_layer(features, {age, embedding_column(words, 16)});   // "input_layer/keywords_embedding/..."
//   Tensor logits = linear_model(features, {age, words});                   // "linear_model/keywords/weights"
//
// Columns are taken in the order of their names. Thread-safety: as that of layers.
#pragma once

#include <map>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/base/shared_impl.h"
#include "panto/nn/columns/feature_column.h"
#include "panto/nn/variables/embedding_lookup.h"

namespace panto {

using FeatureColumnPtr = std::shared_ptr<const FeatureColumn>;

// The features that Example records must have for these columns. Throws InvalidArgument if two columns need one feature
// in different forms.
PANTO_EXPORT ExampleSpec make_parse_example_spec(const std::vector<FeatureColumnPtr>& columns);

// Joins dense columns: [batch, numbers of all columns]. Throws InvalidArgument for no columns, or two of one name; a
// call also throws the errors of transforming its features, with the column's name.
class PANTO_EXPORT DenseFeatures {
 public:
  explicit DenseFeatures(std::vector<DenseColumnPtr> columns, const std::string& name = "dense_features");
  Tensor operator()(const Features& features, std::source_location where = std::source_location::current()) const;
  // The number of numbers per example.
  int64_t size() const;
  std::vector<Variable> variables() const;
  // The variables that are not trained.
  std::vector<Variable> state() const;

 private:
  struct Impl;
  SharedImpl<Impl> impl_;
};

// Joins columns of steps: [batch, steps, numbers of all columns], and the number of steps of each example. A call
// throws InvalidArgument if columns differ in the number of steps, in all or of an example.
class PANTO_EXPORT SequenceFeatures {
 public:
  explicit SequenceFeatures(std::vector<SequenceColumnPtr> columns, const std::string& name = "sequence_features");
  SequenceTensor operator()(const Features& features,
                            std::source_location where = std::source_location::current()) const;
  std::vector<Variable> variables() const;

 private:
  struct Impl;
  SharedImpl<Impl> impl_;
};

struct LinearModelOptions {
  int64_t units = 1;
  Combiner sparse_combiner = Combiner::kSum;  // of an example's categories
  bool trainable = true;
};

// A linear model: the sum of all columns' numbers times weights, which start at zero, and a bias: [batch, units].
class PANTO_EXPORT LinearFeatures {
 public:
  explicit LinearFeatures(std::vector<FeatureColumnPtr> columns, const LinearModelOptions& options = {},
                          const std::string& name = "linear_model");
  Tensor operator()(const Features& features, std::source_location where = std::source_location::current()) const;
  std::vector<Variable> variables() const;

 private:
  struct Impl;
  SharedImpl<Impl> impl_;
};

struct InputLayerOptions {
  std::string scope = {};  // of the variables; empty: "input_layer", with a number if that is taken
  bool trainable = true;
  // If given: receives, by column name, the variables that the call has made or used.
  std::map<std::string, std::vector<Variable>>* cols_to_vars = nullptr;
};
// Throw as DenseFeatures; also FailedPrecondition outside of a graph if no scope is named, since every call would make
// new variables.
PANTO_EXPORT Tensor input_layer(const Features& features, const std::vector<DenseColumnPtr>& columns,
                                const InputLayerOptions& options = {},
                                std::source_location where = std::source_location::current());

struct LinearLayerOptions {
  int64_t units = 1;
  Combiner sparse_combiner = Combiner::kSum;
  std::string scope = {};
  bool trainable = true;
  std::map<std::string, std::vector<Variable>>* cols_to_vars = nullptr;  // the bias is "bias"
};
PANTO_EXPORT Tensor linear_model(const Features& features, const std::vector<FeatureColumnPtr>& columns,
                                 const LinearLayerOptions& options = {},
                                 std::source_location where = std::source_location::current());

}  // namespace panto
