#include "panto/nn/layers/attention/multi_head_attention.h"

#include <cmath>
#include <utility>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/operators.h"
#include "panto/nn/layers/attention/scores.h"
#include "panto/nn/layers/core/shapes.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {

namespace {

constexpr const char* kName = "MultiHeadAttention";

int64_t expect_size(const char* what, int64_t size) {
  if (size < 1) invalid("{}: expected positive {}, got {}", kName, what, size);
  return size;
}

int64_t size_of_head(int64_t features, const MultiHeadAttentionOptions& options) {
  expect_size("features", features);
  expect_size("heads", options.heads);
  if (options.key_dim != 0) return expect_size("key_dim", options.key_dim);
  if (features % options.heads != 0) {
    invalid("{}: expected a key_dim, or heads that divide {} features, got {}", kName, features, options.heads);
  }
  return features / options.heads;
}

Dense projection(int64_t inputs, int64_t units, const char* name, const MultiHeadAttentionOptions& options) {
  return Dense(inputs, units,
               {.use_bias = options.use_bias,
                .kernel_initializer = options.kernel_initializer,
                .name = fmt::format("{}/{}", options.name, name),
                .dtype = options.dtype});
}

int64_t shared_heads(const MultiHeadAttentionOptions& options) {
  if (options.key_value_heads == 0) return options.heads;
  expect_size("key_value_heads", options.key_value_heads);
  if (options.heads % options.key_value_heads != 0) {
    invalid("{}: expected key_value_heads that divide {} heads, got {}", kName, options.heads, options.key_value_heads);
  }
  return options.key_value_heads;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(int64_t features) : MultiHeadAttention(features, MultiHeadAttentionOptions()) {}

MultiHeadAttention::MultiHeadAttention(int64_t features, MultiHeadAttentionOptions options)
    : features_(features),
      value_features_(options.value_features == 0 ? features : expect_size("value_features", options.value_features)),
      heads_(options.heads),
      key_value_heads_(shared_heads(options)),
      key_dim_(size_of_head(features, options)),
      causal_(options.causal),
      dropout_(options.dropout),
      query_(projection(features, checked_mul(heads_, key_dim_), "query", options)),
      key_(projection(value_features_, checked_mul(key_value_heads_, key_dim_), "key", options)),
      value_(projection(value_features_, checked_mul(key_value_heads_, key_dim_), "value", options)),
      output_(projection(checked_mul(heads_, key_dim_), features, "output", options)) {}

// [batch, steps, heads * key_dim] -> [batch, heads, steps, key_dim].
Tensor MultiHeadAttention::in_heads(const Tensor& x, int64_t heads) const {
  return transpose(detail::reshape_as(x, x, {~0, ~1, heads, key_dim_}), {0, 2, 1, 3});
}

Tensor MultiHeadAttention::forward(const Tensor& x) const { return attend(x, x, {}, {}).output; }

Tensor MultiHeadAttention::operator()(const Tensor& query, const Tensor& value, const Tensor& key, const Tensor& mask,
                                      std::source_location where) const {
  return from_caller(where, [&] { return attend(query, value, key, mask).output; });
}

AttentionOutput MultiHeadAttention::with_scores(const Tensor& query, const Tensor& value, const Tensor& key,
                                                const Tensor& mask, std::source_location where) const {
  return from_caller(where, [&] { return attend(query, value, key, mask); });
}

AttentionOutput MultiHeadAttention::attend(const Tensor& query, const Tensor& value, const Tensor& key,
                                           const Tensor& mask) const {
  detail::expect_sequence(kName, "queries", query, features_);
  detail::expect_sequence(kName, "values", value, value_features_);
  if (key.defined()) {
    detail::expect_sequence(kName, "keys", key, value_features_);
    if (!key.partial_shape().compatible_with(value.partial_shape())) {
      invalid("{}: expected keys of the values' shape {}, got {}", kName, value.partial_shape().to_string(),
              key.partial_shape().to_string());
    }
  }
  const Tensor keys = in_heads(key_(key.defined() ? key : value), key_value_heads_);
  return over(query, keys, in_heads(value_(value), key_value_heads_), mask, false);
}

Tensor MultiHeadAttention::step(const Tensor& x, AttentionCache& cache, std::source_location where) const {
  return from_caller(where, [&] {
    detail::expect_sequence(kName, "steps", x, features_);
    detail::expect_sequence(kName, "steps", x, value_features_);
    Tensor keys = in_heads(key_(x), key_value_heads_), values = in_heads(value_(x), key_value_heads_);
    if (cache.keys.defined() != cache.values.defined()) {
      invalid("{}: expected a cache of keys and values, got one without the other", kName);
    }
    if (cache.keys.defined()) {
      for (const Tensor* t : {&cache.keys, &cache.values}) {
        const PartialShape expected{x.partial_shape().dim(0), key_value_heads_, -1, key_dim_};
        if (expected.compatible_with(t->partial_shape())) continue;
        invalid("{}: expected a cache of shape {}, got {}", kName, expected.to_string(),
                t->partial_shape().to_string());
      }
      keys = concat({cache.keys, keys}, 2);
      values = concat({cache.values, values}, 2);
    }
    Tensor y = over(x, keys, values, {}, true).output;
    cache = {std::move(keys), std::move(values)};
    return y;
  });
}

AttentionOutput MultiHeadAttention::over(const Tensor& query, const Tensor& keys, const Tensor& values,
                                         const Tensor& mask, bool to_the_end) const {
  // Queries are scaled rather than scores, since they have fewer elements.
  Tensor q = in_heads(query_(query) * (1 / std::sqrt(static_cast<double>(key_dim_))), heads_);
  Tensor k = keys, v = values, scores;
  const bool shared = heads_ != key_value_heads_;
  if (shared) {
    // [batch, key_value_heads, query heads per key head, steps, ...].
    q = detail::reshape_as(q, q, {~0, key_value_heads_, heads_ / key_value_heads_, ~2, key_dim_});
    k = expand_dims(k, 2);
    v = expand_dims(v, 2);
  }
  scores = batch_matmul(q, k, {.adj_y = true});
  if (shared) scores = detail::reshape_as(scores, scores, {~0, heads_, ~3, ~4});
  const Tensor shares = softmax(detail::allowed_scores(kName, scores, mask, causal_, to_the_end));
  Tensor weights = dropout_(shares);
  if (shared) {
    weights = detail::reshape_as(weights, weights, {~0, key_value_heads_, heads_ / key_value_heads_, ~2, ~3});
  }
  Tensor heads = batch_matmul(weights, v);
  if (shared) heads = detail::reshape_as(heads, heads, {~0, heads_, ~3, key_dim_});
  const Tensor side_by_side = detail::reshape_as(transpose(heads, {0, 2, 1, 3}), query, {~0, ~1, heads_ * key_dim_});
  return {output_(side_by_side), shares};
}

Parts MultiHeadAttention::parts() const { return {query_, key_, value_, output_}; }

std::string MultiHeadAttention::to_string() const {
  const std::string shared = heads_ == key_value_heads_ ? "" : fmt::format(", {} of keys", key_value_heads_);
  return fmt::format("MultiHeadAttention({}, {} heads of {}{})", features_, heads_, key_dim_, whole(shared));
}

}  // namespace panto
