#include "panto/nn/layers/normalization.h"

#include "panto/lib/base/text/format.h"
#include "panto/ops/array.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

Variable vector_of(double value, int64_t elements, DType dtype, const std::string& name) {
  return Variable(constant_initializer(value)({elements}, dtype), name);
}

bool last_dimension_fits(const PartialShape& shape, int64_t size) {
  return shape.dim(shape.rank() - 1) < 0 || shape.dim(shape.rank() - 1) == size;
}

}  // namespace

std::vector<Variable> BatchNorm::variables() const { return {scale_, offset_}; }
std::vector<Variable> BatchNorm::state() const { return {mean_, variance_}; }

BatchNorm::BatchNorm(int64_t channels) : BatchNorm(channels, BatchNormOptions()) {}

BatchNorm::BatchNorm(int64_t channels, BatchNormOptions options)
    : channels_(channels), momentum_(options.momentum), epsilon_(options.epsilon) {
  if (channels < 1) invalid("BatchNorm: expected a positive number of channels, got {}", channels);
  if (!(momentum_ >= 0 && momentum_ <= 1)) invalid("BatchNorm: expected a momentum in [0, 1], got {}", momentum_);
  if (!(epsilon_ >= 0)) invalid("BatchNorm: expected an epsilon of at least 0, got {}", epsilon_);
  scale_ = vector_of(1, channels, kFloat32, options.name + "/scale");
  offset_ = vector_of(0, channels, kFloat32, options.name + "/offset");
  const UntrainedVariables statistics;
  mean_ = vector_of(0, channels, kFloat32, options.name + "/running_mean");
  variance_ = vector_of(1, channels, kFloat32, options.name + "/running_variance");
}

Tensor BatchNorm::forward(const Tensor& x) const {
  const PartialShape& shape = x.partial_shape();
  if (!shape.known_rank() || shape.rank() < 2 || !last_dimension_fits(shape, channels_)) {
    invalid("BatchNorm: expected an input of shape [batch, ..., {}], got {}", channels_, shape.to_string());
  }
  if (shape.rank() == 4) return normalised(x);
  // The op knows images only; what lies in one channel makes no difference to it.
  if (shape.fully_known()) {
    const int64_t others = shape.numel() / channels_;
    return reshape(normalised(reshape(x, {others, 1, 1, channels_})), Shape(shape));
  }
  return reshape(normalised(reshape(x, {-1, 1, 1, channels_})), panto::shape(x));
}

Tensor BatchNorm::normalised(const Tensor& images) const {
  const auto epsilon = static_cast<float>(epsilon_);
  if (!in_training()) {
    return fused_batch_norm(images, scale_, offset_, mean_, variance_, {.epsilon = epsilon, .is_training = false}).y;
  }
  const auto made = fused_batch_norm(images, scale_, offset_, mean_, variance_,
                                     {.epsilon = epsilon, .exponential_avg_factor = static_cast<float>(1 - momentum_)});
  mean_.assign(made.batch_mean);
  variance_.assign(made.batch_variance);
  return made.y;
}

std::string BatchNorm::to_string() const { return fmt::format("BatchNorm({})", channels_); }

std::vector<Variable> LayerNorm::variables() const { return {scale_, offset_}; }

LayerNorm::LayerNorm(int64_t features) : LayerNorm(features, LayerNormOptions()) {}

LayerNorm::LayerNorm(int64_t features, LayerNormOptions options) : features_(features), epsilon_(options.epsilon) {
  if (features < 1) invalid("LayerNorm: expected a positive number of features, got {}", features);
  scale_ = vector_of(1, features, options.dtype, options.name + "/scale");
  offset_ = vector_of(0, features, options.dtype, options.name + "/offset");
}

Tensor LayerNorm::forward(const Tensor& x) const {
  const PartialShape& shape = x.partial_shape();
  if (shape.known_rank() && (shape.rank() < 1 || !last_dimension_fits(shape, features_))) {
    invalid("LayerNorm: expected an input of shape [..., {}], got {}", features_, shape.to_string());
  }
  return layer_norm(x, scale_, offset_, {.epsilon = static_cast<float>(epsilon_)});
}

std::string LayerNorm::to_string() const { return fmt::format("LayerNorm({})", features_); }

}  // namespace panto
