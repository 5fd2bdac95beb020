#include "panto/nn/layers/attention.h"

#include <cmath>
#include <limits>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
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

// x in a shape of which the first two dimensions are those of `like`, and the others known.
Tensor with_first_two(const Tensor& x, const Tensor& like, std::vector<int64_t> others) {
  std::vector<int64_t> dims = {like.partial_shape().dim(0), like.partial_shape().dim(1)};
  dims.insert(dims.end(), others.begin(), others.end());
  if (dims[0] >= 0 || dims[1] > 0) return reshape(x, dims);
  std::vector<int32_t> rest(others.begin(), others.end());
  return reshape(x, concat({shape(like)(Slice(0, 2)), tensor(rest)}, 0));
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(int64_t features) : MultiHeadAttention(features, MultiHeadAttentionOptions()) {}

MultiHeadAttention::MultiHeadAttention(int64_t features, MultiHeadAttentionOptions options)
    : features_(features),
      value_features_(options.value_features == 0 ? features : expect_size("value_features", options.value_features)),
      heads_(options.heads),
      key_dim_(size_of_head(features, options)),
      causal_(options.causal),
      dropout_(options.dropout),
      query_(projection(features, heads_ * key_dim_, "query", options)),
      key_(projection(value_features_, heads_ * key_dim_, "key", options)),
      value_(projection(value_features_, heads_ * key_dim_, "value", options)),
      output_(projection(heads_ * key_dim_, features, "output", options)) {}

void MultiHeadAttention::expect_sequence(const char* what, const Tensor& x, int64_t features) const {
  const PartialShape& got = x.partial_shape();
  if (got.known_rank() && PartialShape{-1, -1, features}.compatible_with(got)) return;
  invalid("{}: expected {} of shape [batch, steps, {}], got {}", kName, what, features, got.to_string());
}

// [batch, steps, heads * key_dim] -> [batch, heads, steps, key_dim].
Tensor MultiHeadAttention::in_heads(const Tensor& x) const {
  return transpose(with_first_two(x, x, {heads_, key_dim_}), {0, 2, 1, 3});
}

// The scores [batch, heads, steps, length] that count; others so low that their exponential is zero.
Tensor MultiHeadAttention::allowed(const Tensor& scores, const Tensor& mask) const {
  const double never = std::numeric_limits<float>::lowest();
  Tensor result = scores;
  if (mask.defined()) {
    const PartialShape& got = mask.partial_shape();
    if (mask.dtype() != kBool || !got.known_rank() || got.rank() > 4) {
      invalid("{}: expected a mask of bool[batch, steps, length], got {}{}", kName, dtype_name(mask.dtype()),
              got.to_string());
    }
    result = where(got.rank() == 3 ? expand_dims(mask, 1) : mask, result, never);
    if (!scores.partial_shape().compatible_with(result.partial_shape())) {
      invalid("{}: expected a mask that broadcasts to {}, got {}", kName, scores.partial_shape().to_string(),
              got.to_string());
    }
  }
  if (causal_) {
    const Tensor sizes = shape(scores);
    const Tensor step = expand_dims(range(0, sizes[2], 1), 1);
    result = where(step >= range(0, sizes[3], 1), result, never);
  }
  return result;
}

Tensor MultiHeadAttention::forward(const Tensor& x) const { return attend(x, x, {}, {}); }

Tensor MultiHeadAttention::operator()(const Tensor& query, const Tensor& value, const Tensor& key, const Tensor& mask,
                                      std::source_location where) const {
  return from_caller(where, [&] { return attend(query, value, key, mask); });
}

Tensor MultiHeadAttention::attend(const Tensor& query, const Tensor& value, const Tensor& key,
                                  const Tensor& mask) const {
  expect_sequence("queries", query, features_);
  expect_sequence("values", value, value_features_);
  if (key.defined()) {
    expect_sequence("keys", key, value_features_);
    if (!key.partial_shape().compatible_with(value.partial_shape())) {
      invalid("{}: expected keys of the values' shape {}, got {}", kName, value.partial_shape().to_string(),
              key.partial_shape().to_string());
    }
  }
  // Scaled before the product: fewer elements.
  const Tensor q = in_heads(query_(query) * (1 / std::sqrt(static_cast<double>(key_dim_))));
  const Tensor k = in_heads(key_(key.defined() ? key : value));
  const Tensor scores = batch_matmul(q, k, {.adj_y = true});
  const Tensor weights = dropout_(softmax(allowed(scores, mask)));
  const Tensor heads = transpose(batch_matmul(weights, in_heads(value_(value))), {0, 2, 1, 3});
  return output_(with_first_two(heads, query, {heads_ * key_dim_}));
}

Parts MultiHeadAttention::parts() const { return {query_, key_, value_, output_}; }

std::string MultiHeadAttention::to_string() const {
  return fmt::format("MultiHeadAttention({}, {} heads of {})", features_, heads_, key_dim_);
}

}  // namespace panto
