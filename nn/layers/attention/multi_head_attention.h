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
  int64_t key_dim = 0;         // of queries, keys and values of one head; 0: features / heads
  bool causal = false;         // no step attends to a later one
  double dropout = 0;          // share of the attention that is dropped in training
  int64_t value_features = 0;  // of values and keys; 0: those of queries
  // Of keys and values, that divide heads: each is shared by heads next to each other, as in Keras's
  // GroupQueryAttention (Ainslie et al. 2023). 0: as many as heads.
  int64_t key_value_heads = 0;
  bool use_bias = true;
  Initializer kernel_initializer = glorot_uniform();
  std::string name = "attention";  // of the variables: "attention/query/kernel", "attention/query/bias", ...
  DType dtype = kFloat32;
};

// Keys and values of the steps so far, in heads: [batch, key_value_heads, steps, key_dim]. Undefined: none yet.
struct AttentionCache {
  Tensor keys = {}, values = {};
};

// What attention gives, and the shares in it: [batch, steps, length], or with heads [batch, heads, steps, length].
struct AttentionOutput {
  Tensor output, scores;
};

// For each head, softmax(q . k^T / sqrt(key_dim)) . v, where q, k and v are projections of queries, keys and values;
// the heads side by side are projected to `features`. Kernels are matrices: [features, heads * key_dim] of queries,
// [value_features, key_value_heads * key_dim] of keys and values, [heads * key_dim, features] of the output, with the
// columns (of the output's, rows) of head after head, as in Keras, whose kernels have them in two dimensions. Biases
// start at zero.
class PANTO_EXPORT MultiHeadAttention final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless sizes are positive, 0 <= dropout < 1 and, without key_dim, heads divides features.
  MultiHeadAttention(int64_t features, MultiHeadAttentionOptions options);
  explicit MultiHeadAttention(int64_t features);
  // Of a sequence to itself: [batch, steps, features] -> the same shape.
  Tensor forward(const Tensor& x) const override;
  // Of [batch, steps, features] to values [batch, length, value_features]; without keys, values are the keys. A mask is
  // true where a step may attend: bool, broadcast to [batch, steps, length], or with heads to [batch, heads, steps,
  // length]. A step that may attend to nothing gets the mean of all values. Throws InvalidArgument for other shapes.
  Tensor operator()(const Tensor& query, const Tensor& value, const Tensor& key = {}, const Tensor& mask = {},
                    std::source_location where = std::source_location::current()) const;
  using Layer::operator();
  // The same, and the shares in it of each value, before dropout.
  AttentionOutput with_scores(const Tensor& query, const Tensor& value, const Tensor& key = {}, const Tensor& mask = {},
                              std::source_location where = std::source_location::current()) const;
  // Of new steps [batch, steps, features] to those in the cache and to each other, where `causal` to none that is
  // later; the cache then has the new ones too. In a trace it is made of values that go in and out.
  Tensor step(const Tensor& x, AttentionCache& cache,
              std::source_location where = std::source_location::current()) const;
  // Kernels and biases of queries, keys, values and the output.
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
