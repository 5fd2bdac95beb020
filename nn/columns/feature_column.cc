#include "panto/nn/columns/feature_column.h"

#include <algorithm>
#include <cctype>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {

FeatureColumn::~FeatureColumn() = default;
StateManager::~StateManager() = default;
void DenseColumn::create_state(StateManager&) const {}
void SequenceDenseColumn::create_sequence_state(StateManager&) const {}

const Tensor& Feature::dense() const {
  if (const Tensor* t = std::get_if<Tensor>(&value_)) return *t;
  invalid("feature: expected a tensor, got a {} one", is_sparse() ? "sparse" : "ragged");
}

const SparseTensor& Feature::sparse() const {
  if (const SparseTensor* t = std::get_if<SparseTensor>(&value_)) return *t;
  invalid("feature: expected a sparse tensor, got a {} one", is_ragged() ? "ragged" : "dense");
}

const RaggedTensor& Feature::ragged() const {
  if (const RaggedTensor* t = std::get_if<RaggedTensor>(&value_)) return *t;
  invalid("feature: expected a ragged tensor, got a {} one", is_sparse() ? "sparse" : "dense");
}

Feature LazyBuilder::get(std::string_view key) {
  if (const auto known = raw_.find(key); known != raw_.end()) return known->second;
  const auto given = features_.find(key);
  if (given == features_.end()) {
    std::string names;
    for (const auto& [name, unused] : features_) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", name);
    failf(Code::kNotFound, "feature '{}': expected one of those given, {}, got another name", key,
          names.empty() ? "none" : names);
  }
  Feature feature = given->second;
  if (feature.is_ragged()) feature = to_sparse(feature.ragged());
  if (!feature.is_sparse()) {
    const Tensor& t = feature.dense();
    if (!t.defined()) invalid("feature '{}': expected a value, got a default-constructed tensor", key);
    const PartialShape& shape = t.partial_shape();
    if (!shape.known_rank() || shape.rank() == 0) {
      invalid("feature '{}': expected a batch of known rank, got shape {}", key, shape.to_string());
    }
    if (shape.rank() == 1) feature = expand_dims(t, -1);
  }
  return raw_.emplace(std::string(key), std::move(feature)).first->second;
}

Feature LazyBuilder::get(const FeatureColumn& column) {
  if (const auto known = transformed_.find(&column); known != transformed_.end()) return known->second;
  Feature made =
      with_context([&] { return fmt::format("column '{}'", column.name()); }, [&] { return column.transform(*this); });
  return transformed_.emplace(&column, std::move(made)).first->second;
}

SparseTensor to_sparse_input(const Feature& feature) {
  if (feature.is_sparse()) return feature.sparse();
  if (feature.is_ragged()) return to_sparse(feature.ragged());
  const Tensor& x = feature.dense();
  const bool text = x.dtype() == kString;
  if (!text && !dtypes::kInteger.contains(x.dtype())) {
    invalid("ids: expected strings or integers, got {}", dtype_name(x.dtype()));
  }
  const Tensor missing = text ? tensor("") : cast(tensor(-1), x.dtype());
  const Tensor indices = where(not_equal(x, missing));
  return {indices, gather_nd(x, indices), shape(x, {.out_type = kInt64})};
}

std::string scope_name(const std::string& name) {
  std::string clean = name;
  for (char& c : clean) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.' && c != '-') c = '_';
  }
  // A scope's name may not begin with the other characters.
  if (!clean.empty() && std::isalnum(static_cast<unsigned char>(clean[0])) == 0) clean[0] = 'x';
  return clean;
}

}  // namespace panto
