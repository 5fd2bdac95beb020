// Attention over sequences (Vaswani et al. 2017).
//
//   MultiHeadAttention attend(64, {.heads = 8, .causal = true});
//   Tensor y = attend(x);                     // of each step to all before it: [batch, steps, 64]
//   Tensor z = attend(y, memory);             // to another sequence; with a mask: attend(y, memory, {}, mask)
//
//   AttentionCache cache;                     // step after step, each to all before it
//   for (...) y = attend.step(next, cache);   // [batch, 1, 64]
//
// Thread-safety: calls may run in several threads at once.
#pragma once

#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/layer.h"

namespace panto {

struct MultiHeadAttentionOptions {
  int64_t heads = 8;
  int64_t key_dim = 0;         // of one head's queries, keys and values; 0: features / heads
  bool causal = false;         // a step does not attend to later steps
  double dropout = 0;          // share of the attention weights that is dropped in training
  int64_t value_features = 0;  // of values and keys; 0: as queries
  // The number of key and value heads; it divides `heads`. Neighbouring query heads share one, as in Keras's
  // GroupQueryAttention (Ainslie et al. 2023). 0: as many as heads.
  int64_t key_value_heads = 0;
  bool use_bias = true;
  Initializer kernel_initializer = glorot_uniform();
  std::string name = "attention";  // of the variables: "attention/query/kernel", "attention/query/bias", ...
  DType dtype = kFloat32;
};

// Keys and values of all steps so far, by head: [batch, key_value_heads, steps, key_dim]. Undefined: no step yet.
struct AttentionCache {
  Tensor keys = {}, values = {};
};

// The output of attention, and the attention weights: [batch, steps, length], or with heads [batch, heads, steps,
// length].
struct AttentionOutput {
  Tensor output, scores;
};

// For each head, softmax(q . k^T / sqrt(key_dim)) . v, where q, k and v are projections of queries, keys and values;
// the concatenated heads are projected to `features`. Kernels are matrices: queries [features, heads * key_dim], keys
// and values [value_features, key_value_heads * key_dim], output [heads * key_dim, features]. Heads lie one after the
// other along the columns (for the output kernel, rows), as in Keras, whose kernels have separate dimensions for them.
// Biases start at zero.
class PANTO_EXPORT MultiHeadAttention final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless sizes are positive, 0 <= dropout < 1 and, without key_dim, heads divides features.
  MultiHeadAttention(int64_t features, MultiHeadAttentionOptions options);
  explicit MultiHeadAttention(int64_t features);
  // Self-attention: [batch, steps, features] -> the same shape.
  Tensor forward(const Tensor& x) const override;
  // Queries [batch, steps, features], values [batch, length, value_features]; without keys, the values are the keys.
  // The mask is true where a step may attend: bool, broadcast to [batch, steps, length], or with heads to [batch,
  // heads, steps, length]. A step that may attend to nothing gets the mean of all values. Throws InvalidArgument for
  // other shapes.
  Tensor operator()(const Tensor& query, const Tensor& value, const Tensor& key = {}, const Tensor& mask = {},
                    std::source_location where = std::source_location::current()) const;
  using Layer::operator();
  // Also returns the attention weights of the values, before dropout.
  AttentionOutput with_scores(const Tensor& query, const Tensor& value, const Tensor& key = {}, const Tensor& mask = {},
                              std::source_location where = std::source_location::current()) const;
  // New steps [batch, steps, features] attend to the steps in the cache and to each other (with `causal`, not to later
  // ones); the cache then also has the new steps. In a trace the cache is made of values that go in and out.
  Tensor step(const Tensor& x, AttentionCache& cache,
              std::source_location where = std::source_location::current()) const;
  // The kernels and biases of queries, keys, values and output.
  Parts parts() const override;
  std::string to_string() const override;
  const Dense& query() const { return query_; }
  const Dense& key() const { return key_; }
  const Dense& value() const { return value_; }
  const Dense& output() const { return output_; }

 private:
  AttentionOutput attend(const Tensor& query, const Tensor& value, const Tensor& key, const Tensor& mask) const;
  AttentionOutput over(const Tensor& query, const Tensor& keys, const Tensor& values, const Tensor& mask,
                       bool to_the_end) const;
  Tensor in_heads(const Tensor& x, int64_t heads) const;

  int64_t features_, value_features_, heads_, key_value_heads_, key_dim_;
  bool causal_;
  Dropout dropout_;
  Dense query_, key_, value_, output_;
};

}  // namespace panto
