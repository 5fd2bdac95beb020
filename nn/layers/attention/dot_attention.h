// Attention without projections, on the sequences as they are.
//
//   Attention attend;
//   Tensor y = attend(query, value);                  // keys are the values
//   Tensor z = attend(query, value, key, mask);
#pragma once

#include <string>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/attention/multi_head_attention.h"
#include "panto/nn/layers/layer.h"

namespace panto {

// How a query scores a key: the dot product (Luong et al. 2015), or the sum over features of tanh(query + key).
enum class AttentionScore : uint8_t { kDot, kConcat };

struct AttentionOptions {
  AttentionScore score = AttentionScore::kDot;
  bool use_scale = false;          // multiply scores by a learned number that starts at 1; with kConcat inside the tanh
  bool causal = false;             // a step does not attend to later steps
  double dropout = 0;              // share of the attention weights that is dropped in training
  std::string name = "attention";  // of the variables: "attention/scale", "attention/concat_score_weight"
  DType dtype = kFloat32;
};

// softmax(scores) . values, as Keras's Attention: queries [batch, steps, features], keys [batch, length, features],
// values [batch, length, value features].
class PANTO_EXPORT Attention final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless 0 <= dropout < 1.
  explicit Attention(AttentionOptions options = {});
  // Self-attention.
  Tensor forward(const Tensor& x) const override;
  // Without keys, the values are the keys. The mask is true where a step may attend: bool, broadcast to [batch, steps,
  // length]. A step that may attend to nothing gets the mean of all values. Throws InvalidArgument for other shapes.
  Tensor operator()(const Tensor& query, const Tensor& value, const Tensor& key = {}, const Tensor& mask = {},
                    std::source_location where = std::source_location::current()) const;
  using Layer::operator();
  // Also returns the attention weights of the values, after dropout, as Keras does.
  AttentionOutput with_scores(const Tensor& query, const Tensor& value, const Tensor& key = {}, const Tensor& mask = {},
                              std::source_location where = std::source_location::current()) const;
  Parts parts() const override { return {scale_, weight_}; }
  std::string to_string() const override { return "Attention()"; }

 private:
  Tensor scores(const Tensor& query, const Tensor& key) const;

  AttentionScore score_;
  bool causal_;
  Dropout dropout_;
  Variable scale_, weight_;
};

struct AdditiveAttentionOptions {
  bool use_scale = true;  // multiply by a learned vector, one number per feature
  bool causal = false;
  double dropout = 0;
  Initializer scale_initializer = glorot_uniform();
  std::string name = "additive_attention";  // of the variable: "additive_attention/scale"
  DType dtype = kFloat32;
};

// As Attention, with scores sum(scale * tanh(query + key)) over features (Bahdanau et al. 2015).
class PANTO_EXPORT AdditiveAttention final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless features is positive and 0 <= dropout < 1.
  AdditiveAttention(int64_t features, AdditiveAttentionOptions options);
  explicit AdditiveAttention(int64_t features);
  // As Attention.
  Tensor forward(const Tensor& x) const override;
  Tensor operator()(const Tensor& query, const Tensor& value, const Tensor& key = {}, const Tensor& mask = {},
                    std::source_location where = std::source_location::current()) const;
  using Layer::operator();
  // Also returns the attention weights of the values, after dropout, as Keras does.
  AttentionOutput with_scores(const Tensor& query, const Tensor& value, const Tensor& key = {}, const Tensor& mask = {},
                              std::source_location where = std::source_location::current()) const;
  Parts parts() const override { return {scale_}; }
  std::string to_string() const override;
  const Variable& scale() const { return scale_; }  // undefined without use_scale

 private:
  Tensor scores(const Tensor& query, const Tensor& key) const;

  int64_t features_;
  bool causal_;
  Dropout dropout_;
  Variable scale_;
};

}  // namespace panto
