#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/nn/columns/columns.h"
#include "panto/ops/math.h"
#include "panto/ops/sparse.h"

namespace panto {
namespace {

class CrossedColumn final : public CategoricalColumn {
 public:
  CrossedColumn(std::vector<CrossKey> keys, int64_t buckets, int64_t hash_key)
      : keys_(std::move(keys)), buckets_(buckets), hash_key_(hash_key) {}

  std::string name() const override {
    std::vector<std::string> names;
    for (const CrossKey& key : leaves()) {
      names.push_back(std::holds_alternative<std::string>(key) ? std::get<std::string>(key)
                                                               : std::get<CategoricalColumnPtr>(key)->name());
    }
    std::ranges::sort(names);
    std::string joined;
    for (const std::string& name : names) joined += (joined.empty() ? "" : "_X_") + name;
    return joined;
  }
  ExampleSpec parse_spec() const override {
    ExampleSpec spec;
    for (const CrossKey& key : keys_) {
      if (const auto* name = std::get_if<std::string>(&key)) {
        spec.insert_or_assign(*name, VarLenFeature{kString});
      } else {
        for (auto& [feature, how] : std::get<CategoricalColumnPtr>(key)->parse_spec()) {
          spec.insert_or_assign(feature, how);
        }
      }
    }
    return spec;
  }
  int64_t num_buckets() const override { return buckets_; }
  IdWeightPair id_weight_pair(LazyBuilder& builder) const override { return {builder.get(*this).sparse()}; }

  Feature transform(LazyBuilder& builder) const override {
    std::vector<Tensor> indices, values, shapes, dense;
    for (const CrossKey& key : leaves()) {
      const Feature feature = crossed(key, builder);
      if (!feature.is_sparse()) {
        dense.push_back(of_crossed_type(feature.dense()));
        continue;
      }
      indices.push_back(feature.sparse().indices);
      values.push_back(of_crossed_type(feature.sparse().values));
      shapes.push_back(feature.sparse().dense_shape);
    }
    const SparseCrossOutputs cross =
        sparse_cross_v1(indices, values, shapes, dense, true, buckets_, hash_key_, kInt64, kInt64);
    return SparseTensor{cross.output_indices, cross.output_values, cross.output_shape};
  }

 private:
  // The keys, with inner crossed columns replaced by their keys.
  std::vector<CrossKey> leaves() const {
    std::vector<CrossKey> all;
    for (const CrossKey& key : keys_) {
      const auto* column = std::get_if<CategoricalColumnPtr>(&key);
      const auto* inner = column != nullptr ? dynamic_cast<const CrossedColumn*>(column->get()) : nullptr;
      if (inner == nullptr) {
        all.push_back(key);
      } else {
        for (CrossKey& leaf : inner->leaves()) all.push_back(std::move(leaf));
      }
    }
    return all;
  }

  static Feature crossed(const CrossKey& key, LazyBuilder& builder) {
    if (const auto* name = std::get_if<std::string>(&key)) return builder.get(*name);
    const CategoricalColumn& column = *std::get<CategoricalColumnPtr>(key);
    const IdWeightPair pair = column.id_weight_pair(builder);
    if (pair.weights)
      invalid("column '{}': expected one without weights to cross, got one that has some", column.name());
    return pair.ids;
  }

  static Tensor of_crossed_type(const Tensor& values) {
    if (values.dtype() == kString) return values;
    if (!dtypes::kInteger.contains(values.dtype())) {
      invalid("crossed feature: expected strings or integers, got {}", dtype_name(values.dtype()));
    }
    return cast(values, kInt64);
  }

  std::vector<CrossKey> keys_;
  int64_t buckets_, hash_key_;
};

}  // namespace

CategoricalColumnPtr crossed_column(const std::vector<CrossKey>& keys, int64_t hash_bucket_size,
                                    const CrossedColumnOptions& options) {
  if (keys.size() < 2) invalid("keys: expected at least 2 to cross, got {}", keys.size());
  if (hash_bucket_size < 2) invalid("hash_bucket_size: expected at least 2, got {}", hash_bucket_size);
  for (const CrossKey& key : keys) {
    const auto* column = std::get_if<CategoricalColumnPtr>(&key);
    if (column != nullptr && *column == nullptr) invalid("keys: expected names and categorical columns, got none");
  }
  constexpr int64_t kTensorFlows = 0xDECAFCAFFE;
  return std::make_shared<CrossedColumn>(keys, hash_bucket_size, options.hash_key.value_or(kTensorFlows));
}

}  // namespace panto
