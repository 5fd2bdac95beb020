#include "panto/nn/layers/attention/dot_attention.h"

#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/layers/attention/scores.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

// softmax(score(query, key)) . value.
template <class Score>
AttentionOutput attended(const char* layer, int64_t features, const Tensor& query, const Tensor& value,
                         const Tensor& given_key, const Tensor& mask, bool causal, const Dropout& dropout,
                         const Score& score) {
  detail::expect_sequence(layer, "queries", query, features);
  const Tensor& key = given_key.defined() ? given_key : value;
  detail::expect_sequence(layer, "keys", key, features >= 0 ? features : query.partial_shape().dim(2));
  const PartialShape& keys = key.partial_shape();
  if (!PartialShape{keys.dim(0), keys.dim(1), -1}.compatible_with(value.partial_shape())) {
    invalid("{}: expected values for the keys {}, got {}", layer, keys.to_string(), value.partial_shape().to_string());
  }
  Tensor shares = dropout(softmax(detail::allowed_scores(layer, score(query, key), mask, causal, false)));
  return {batch_matmul(shares, value), shares};
}

// Adds each query to each key: [batch, steps, length, features].
Tensor sums(const Tensor& query, const Tensor& key) { return expand_dims(query, 2) + expand_dims(key, 1); }

}  // namespace

Attention::Attention(AttentionOptions options)
    : score_(options.score), causal_(options.causal), dropout_(options.dropout) {
  const auto one = [&](const char* name) {
    return Variable(constant_initializer(1)(Shape{}, options.dtype), options.name + name);
  };
  if (options.use_scale) scale_ = one("/scale");
  if (score_ == AttentionScore::kConcat) weight_ = one("/concat_score_weight");
}

Tensor Attention::scores(const Tensor& query, const Tensor& key) const {
  if (score_ == AttentionScore::kDot) {
    Tensor products = batch_matmul(query, key, {.adj_y = true});
    return scale_.defined() ? std::move(products) * scale_ : products;
  }
  Tensor both = sums(query, key);
  if (scale_.defined()) both = std::move(both) * scale_;
  return sum(tanh(both), -1, false) * weight_;
}

Tensor Attention::forward(const Tensor& x) const { return with_scores(x, x).output; }

Tensor Attention::operator()(const Tensor& query, const Tensor& value, const Tensor& key, const Tensor& mask,
                             std::source_location where) const {
  return with_scores(query, value, key, mask, where).output;
}

AttentionOutput Attention::with_scores(const Tensor& query, const Tensor& value, const Tensor& key, const Tensor& mask,
                                       std::source_location where) const {
  return from_caller(where, [&] {
    return attended("Attention", -1, query, value, key, mask, causal_, dropout_,
                    [&](const Tensor& q, const Tensor& k) { return scores(q, k); });
  });
}

AdditiveAttention::AdditiveAttention(int64_t features) : AdditiveAttention(features, AdditiveAttentionOptions()) {}

AdditiveAttention::AdditiveAttention(int64_t features, AdditiveAttentionOptions options)
    : features_(features), causal_(options.causal), dropout_(options.dropout) {
  if (features < 1) invalid("AdditiveAttention: expected positive features, got {}", features);
  if (options.use_scale) {
    scale_ = Variable(options.scale_initializer({features}, options.dtype), options.name + "/scale");
  }
}

Tensor AdditiveAttention::scores(const Tensor& query, const Tensor& key) const {
  Tensor each = tanh(sums(query, key));
  if (scale_.defined()) each = std::move(each) * scale_;
  return sum(each, -1, false);
}

Tensor AdditiveAttention::forward(const Tensor& x) const { return with_scores(x, x).output; }

Tensor AdditiveAttention::operator()(const Tensor& query, const Tensor& value, const Tensor& key, const Tensor& mask,
                                     std::source_location where) const {
  return with_scores(query, value, key, mask, where).output;
}

AttentionOutput AdditiveAttention::with_scores(const Tensor& query, const Tensor& value, const Tensor& key,
                                               const Tensor& mask, std::source_location where) const {
  return from_caller(where, [&] {
    return attended("AdditiveAttention", features_, query, value, key, mask, causal_, dropout_,
                    [&](const Tensor& q, const Tensor& k) { return scores(q, k); });
  });
}

std::string AdditiveAttention::to_string() const { return fmt::format("AdditiveAttention({})", features_); }

}  // namespace panto
