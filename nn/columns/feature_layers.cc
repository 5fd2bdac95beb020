#include "panto/nn/columns/feature_layers.h"

#include <algorithm>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/columns/parts.h"
#include "panto/nn/layers/core/merge.h"
#include "panto/nn/variables/embedding_lookup.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/trace/graph_scope.h"

namespace panto {
namespace {

// Sorts columns by name.
template <class Column>
std::vector<std::shared_ptr<const Column>> in_order(std::vector<std::shared_ptr<const Column>> columns) {
  if (columns.empty()) invalid("columns: expected at least one, got none");
  for (const auto& column : columns) {
    if (column == nullptr) invalid("columns: expected columns, got none");
  }
  const auto name = [](const auto& column) { return column->name(); };
  std::ranges::stable_sort(columns, {}, name);
  const auto twice = std::ranges::adjacent_find(columns, {}, name);
  if (twice != columns.end()) invalid("columns: expected each name once, got '{}' again", (*twice)->name());
  return columns;
}

// Makes and keeps the variables of a layer.
class OwnState final : public StateManager {
 public:
  explicit OwnState(std::string layer) : layer_(std::move(layer)) {}
  PartitionedVariable get_variable(const std::string& owner, const std::string& name, const Shape& shape,
                                   const GetVariableOptions& options) override {
    const std::string key = owner.empty() ? name : fmt::format("{}/{}", owner, name);
    if (const auto made = made_.find(key); made != made_.end()) return made->second;
    const GetVariableOptions all = VariableScope::filled_in(options);
    const VariableUseScope use(all.trainable ? VariableUseScope::current() : VariableUse::kKept);
    const Variable v(all.initializer(shape, all.dtype), fmt::format("{}/{}", layer_, key));
    (all.trainable ? trained_ : kept_).push_back(v);
    return made_.emplace(key, PartitionedVariable(v.name(), shape, 0, {v})).first->second;
  }
  const std::vector<Variable>& trained() const { return trained_; }
  const std::vector<Variable>& kept() const { return kept_; }

 private:
  std::string layer_;
  std::map<std::string, PartitionedVariable> made_;
  std::vector<Variable> trained_, kept_;
};

// Takes variables from the open VariableScope.
class ScopeState final : public StateManager {
 public:
  explicit ScopeState(bool trainable) : trainable_(trainable) {}
  PartitionedVariable get_variable(const std::string& owner, const std::string& name, const Shape& shape,
                                   const GetVariableOptions& options) override {
    const VariableScope scope(owner, {.reuse = Reuse::kAuto});
    GetVariableOptions all = options;
    all.trainable = options.trainable && trainable_;
    all.collections.emplace_back("model_variables");
    PartitionedVariable v = get_partitioned_variable(name, shape, all);
    for (const Variable& part : v.variables()) used_.push_back(part);
    return v;
  }
  std::vector<Variable> take_used() { return std::exchange(used_, {}); }

 private:
  bool trainable_;
  std::vector<Variable> used_;
};

// [batch, numbers].
Tensor reshape_rows(const Tensor& x, int64_t numbers) {
  return reshape(x, concat({shape(x)(Slice(0, 1)), cast(tensor({numbers}), kInt32)}, 0));
}

// Collects the columns' parts, and checks that all have the same number of examples.
class ColumnParts {
 public:
  void add(const std::string& column, Tensor part) {
    const PartialShape& shape = part.partial_shape();
    const int64_t batch = shape.known_rank() ? shape.dim(0) : kUnknownDim;
    if (batch >= 0 && batch_ >= 0 && batch != batch_) {
      invalid("batch: expected {} examples, as column '{}' has, got {} of '{}'", batch_, column_, batch, column);
    }
    if (batch >= 0 && batch_ < 0) {
      batch_ = batch;
      column_ = column;
    }
    parts_.push_back(std::move(part));
  }
  Tensor joined() const { return parts_.size() == 1 ? parts_[0] : concat(parts_, -1); }
  Tensor sum() const { return panto::add(parts_); }

 private:
  std::string column_;
  int64_t batch_ = -1;
  std::vector<Tensor> parts_;
};

// Calls `of_column()`; its errors name the column.
template <class F>
auto named_in_errors(const FeatureColumn& column, const F& of_column) {
  return with_context([&] { return fmt::format("column '{}'", column.name()); }, of_column);
}

template <class State, class AfterEach>
Tensor dense_input(const std::vector<DenseColumnPtr>& columns, LazyBuilder& builder, State& state,
                   const AfterEach& after_each) {
  ColumnParts parts;
  for (const DenseColumnPtr& column : columns) {
    const Tensor part = named_in_errors(
        *column, [&] { return reshape_rows(column->dense_tensor(builder, state), column->variable_shape().numel()); });
    parts.add(column->name(), part);
    after_each(column->name());
  }
  return parts.joined();
}

const GetVariableOptions kZeros = {.dtype = kFloat32, .initializer = constant_initializer(0)};

int64_t weights_of(const FeatureColumn& column) {
  if (const auto* categories = dynamic_cast<const CategoricalColumn*>(&column)) return categories->num_buckets();
  if (const auto* numbers = dynamic_cast<const DenseColumn*>(&column)) return numbers->variable_shape().numel();
  invalid("column '{}': expected a dense or a categorical one for a linear model, got another", column.name());
}

PartitionedVariable linear_weights(const FeatureColumn& column, int64_t units, StateManager& state) {
  return state.get_variable(scope_name(column.name()), "weights", {weights_of(column), units}, kZeros);
}

// The column's part of a linear model. A categorical column has one row of weights per category; a column that is both
// kinds counts as categorical.
Tensor weighted_sum(const FeatureColumn& column, int64_t units, Combiner combiner, LazyBuilder& builder,
                    StateManager& state) {
  const PartitionedVariable weights = linear_weights(column, units, state);
  const auto* categories = dynamic_cast<const CategoricalColumn*>(&column);
  if (categories == nullptr) {
    const auto& numbers = dynamic_cast<const DenseColumn&>(column);
    return matmul(reshape_rows(numbers.dense_tensor(builder, state), numbers.variable_shape().numel()),
                  weights.value());
  }
  const IdWeightPair pair = categories->id_weight_pair(builder);
  const Tensor dims = concat({pair.ids.dense_shape(Slice(0, 1)), tensor({int64_t{-1}})}, 0);
  return safe_embedding_lookup_sparse(
      weights, sparse_reshape(pair.ids, dims),
      {.combiner = combiner, .weights = pair.weights ? pair.weights->values : Tensor()});
}

template <class State, class AfterEach>
Tensor linear_sum(const std::vector<FeatureColumnPtr>& columns, int64_t units, Combiner combiner, LazyBuilder& builder,
                  State& state, const AfterEach& after_each) {
  ColumnParts parts;
  for (const FeatureColumnPtr& column : columns) {
    parts.add(column->name(),
              named_in_errors(*column, [&] { return weighted_sum(*column, units, combiner, builder, state); }));
    after_each(column->name());
  }
  const PartitionedVariable bias = state.get_variable("", "bias_weights", {units}, kZeros);
  after_each("bias");
  return parts.sum() + bias.value();
}

void expect_units(int64_t units) {
  if (units < 1) invalid("units: expected at least 1, got {}", units);
}

// The scope for the variables of a function that is called once in a graph.
VariableScopeOptions scope_options(const char* function, const std::string& scope) {
  if (!scope.empty()) return {.reuse = Reuse::kAuto};
  if (!in_graph_scope()) {
    failf(Code::kFailedPrecondition,
          "{0}: expected to be called in a GraphScope, or with the name of a scope, {{.scope = \"{0}\"}}, so that the "
          "next "
          "call finds its variables, got neither (a layer has its own: DenseFeatures, LinearFeatures)",
          function);
  }
  return {.unique = true};
}

// Records for each column the variables used since the last call.
auto notes(ScopeState& state, std::map<std::string, std::vector<Variable>>* cols_to_vars) {
  return [&state, cols_to_vars](const std::string& column) {
    std::vector<Variable> used = state.take_used();
    if (cols_to_vars != nullptr) (*cols_to_vars)[column] = std::move(used);
  };
}

constexpr auto kNoNotes = [](const std::string&) {};

}  // namespace

// ---- Parse specs ----------------------------------------------------------------------------------------------------

namespace {

template <class T>
constexpr bool kHasShape = requires(const T& form) { form.shape; };

bool same_form(const ExampleFeature& a, const ExampleFeature& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&]<class T>(const T& form) {
        const T& other = std::get<T>(b);
        if constexpr (kHasShape<T>) {
          if (!(form.shape == other.shape)) return false;
        }
        if constexpr (std::is_same_v<T, SparseFeature>) {
          if (form.index_keys != other.index_keys || form.value_key != other.value_key || form.size != other.size) {
            return false;
          }
        }
        return form.dtype == other.dtype;
      },
      a);
}

}  // namespace

ExampleSpec make_parse_example_spec(const std::vector<FeatureColumnPtr>& columns) {
  ExampleSpec spec;
  for (const FeatureColumnPtr& column : columns) {
    if (column == nullptr) invalid("columns: expected columns, got none");
    for (auto& [key, how] : column->parse_spec()) {
      const auto [at, fresh] = spec.try_emplace(key, how);
      if (fresh) continue;
      if (!same_form(how, at->second))
        invalid("feature '{}': expected one form for all columns, got another of '{}'", key, column->name());
    }
  }
  return spec;
}

// ---- Layers --------------------------------------------------------------------------------------------------------

struct DenseFeatures::Impl {
  std::vector<DenseColumnPtr> columns;
  OwnState state;
};

DenseFeatures::DenseFeatures(std::vector<DenseColumnPtr> columns, const std::string& name)
    : impl_(std::make_shared<Impl>(Impl{in_order(std::move(columns)), OwnState(name)})) {
  for (const DenseColumnPtr& column : impl_->columns) column->create_state(impl_->state);
}

Tensor DenseFeatures::operator()(const Features& features, std::source_location where) const {
  return from_caller(where, [&] {
    LazyBuilder builder(features);
    return dense_input(impl_->columns, builder, impl_->state, kNoNotes);
  });
}

int64_t DenseFeatures::size() const {
  int64_t size = 0;
  for (const DenseColumnPtr& column : impl_->columns) size += column->variable_shape().numel();
  return size;
}

std::vector<Variable> DenseFeatures::variables() const { return impl_->state.trained(); }
std::vector<Variable> DenseFeatures::state() const { return impl_->state.kept(); }

struct SequenceFeatures::Impl {
  std::vector<SequenceColumnPtr> columns;
  OwnState state;
};

SequenceFeatures::SequenceFeatures(std::vector<SequenceColumnPtr> columns, const std::string& name)
    : impl_(std::make_shared<Impl>(Impl{in_order(std::move(columns)), OwnState(name)})) {
  for (const SequenceColumnPtr& column : impl_->columns) column->create_sequence_state(impl_->state);
}

SequenceTensor SequenceFeatures::operator()(const Features& features, std::source_location where) const {
  return from_caller(where, [&]() -> SequenceTensor {
    LazyBuilder builder(features);
    ColumnParts parts;
    Tensor lengths;
    for (const SequenceColumnPtr& column : impl_->columns) {
      const SequenceTensor sequence =
          named_in_errors(*column, [&] { return column->sequence_tensor(builder, impl_->state); });
      const Tensor dims =
          concat({shape(sequence.values)(Slice(0, 2)), cast(tensor({column->step_shape().numel()}), kInt32)}, 0);
      parts.add(column->name(), reshape(sequence.values, dims));
      lengths = !lengths.defined() ? sequence.lengths
                                   : asserted(lengths, all(equal(lengths, sequence.lengths)),
                                              fmt::format("column '{}': expected the same numbers of steps as the "
                                                          "columns before, got others than ",
                                                          column->name()));
    }
    return {parts.joined(), lengths};
  });
}

std::vector<Variable> SequenceFeatures::variables() const { return impl_->state.trained(); }

struct LinearFeatures::Impl {
  std::vector<FeatureColumnPtr> columns;
  LinearModelOptions options;
  OwnState state;
};

LinearFeatures::LinearFeatures(std::vector<FeatureColumnPtr> columns, const LinearModelOptions& options,
                               const std::string& name)
    : impl_(std::make_shared<Impl>(Impl{in_order(std::move(columns)), options, OwnState(name)})) {
  expect_units(options.units);
  GetVariableOptions all = kZeros;
  all.trainable = options.trainable;
  for (const FeatureColumnPtr& column : impl_->columns) {
    if (const auto* numbers = dynamic_cast<const DenseColumn*>(column.get())) numbers->create_state(impl_->state);
    impl_->state.get_variable(scope_name(column->name()), "weights", {weights_of(*column), options.units}, all);
  }
  impl_->state.get_variable("", "bias_weights", {options.units}, all);
}

Tensor LinearFeatures::operator()(const Features& features, std::source_location where) const {
  return from_caller(where, [&] {
    LazyBuilder builder(features);
    return linear_sum(impl_->columns, impl_->options.units, impl_->options.sparse_combiner, builder, impl_->state,
                      kNoNotes);
  });
}

std::vector<Variable> LinearFeatures::variables() const { return impl_->state.trained(); }

// ---- Functions -----------------------------------------------------------------------------------------------------

Tensor input_layer(const Features& features, const std::vector<DenseColumnPtr>& columns,
                   const InputLayerOptions& options, std::source_location where) {
  return from_caller(where, [&] {
    const VariableScope scope(options.scope.empty() ? "input_layer" : options.scope,
                              scope_options("input_layer", options.scope));
    ScopeState state(options.trainable);
    LazyBuilder builder(features);
    return dense_input(in_order(columns), builder, state, notes(state, options.cols_to_vars));
  });
}

Tensor linear_model(const Features& features, const std::vector<FeatureColumnPtr>& columns,
                    const LinearLayerOptions& options, std::source_location where) {
  return from_caller(where, [&] {
    expect_units(options.units);
    const VariableScope scope(options.scope.empty() ? "linear_model" : options.scope,
                              scope_options("linear_model", options.scope));
    ScopeState state(options.trainable);
    LazyBuilder builder(features);
    return linear_sum(in_order(columns), options.units, options.sparse_combiner, builder, state,
                      notes(state, options.cols_to_vars));
  });
}

}  // namespace panto
