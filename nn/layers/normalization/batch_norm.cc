#include "panto/nn/layers/normalization/batch_norm.h"

#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/layers/normalization/batch_statistics.h"
#include "panto/nn/layers/normalization/vectors.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

bool last_dimension_fits(const PartialShape& shape, int64_t size) {
  return shape.dim(shape.rank() - 1) < 0 || shape.dim(shape.rank() - 1) == size;
}

// Computes float64; the op supports float32 only.
detail::BatchNormalised normalise_float64(const Tensor& x, const Tensor& scale, const Tensor& offset,
                                          const Tensor& running_mean, const Tensor& running_variance, double momentum,
                                          double epsilon, bool training) {
  detail::BatchNormalised made;
  Tensor centre = running_mean, spread = running_variance;
  if (training) {
    ReduceOptions others;
    for (int k = 0; k + 1 < x.partial_shape().rank(); ++k) others.axis.push_back(k);
    centre = mean(x, others);
    spread = mean(square(x - centre), others);
    const Tensor count = cast(size(x), kFloat64) / cast(size(centre), kFloat64);
    const Tensor unbiased = spread * (count / maximum(count - 1.0, 1.0));
    made.mean = running_mean * momentum + stop_gradient(centre) * (1 - momentum);
    made.variance = running_variance * momentum + stop_gradient(unbiased) * (1 - momentum);
  }
  made.y = (x - centre) * rsqrt(spread + epsilon) * scale + offset;
  return made;
}

detail::BatchNormalised normalise_images(const Tensor& images, const Tensor& scale, const Tensor& offset,
                                         const Tensor& mean, const Tensor& variance, double momentum, double epsilon,
                                         bool training) {
  const auto small = static_cast<float>(epsilon);
  if (!training) {
    return {
        fused_batch_norm(images, scale, offset, mean, variance, {.epsilon = small, .is_training = false}).y, {}, {}};
  }
  auto made = fused_batch_norm(images, scale, offset, mean, variance,
                               {.epsilon = small, .exponential_avg_factor = static_cast<float>(1 - momentum)});
  return {std::move(made.y), std::move(made.batch_mean), std::move(made.batch_variance)};
}

}  // namespace

detail::BatchNormalised detail::normalise_batch(const Tensor& x, const Tensor& scale, const Tensor& offset,
                                                const Tensor& mean, const Tensor& variance, double momentum,
                                                double epsilon, bool training) {
  if (scale.dtype() == kFloat64) {
    return normalise_float64(x, scale, offset, mean, variance, momentum, epsilon, training);
  }
  const PartialShape& shape = x.partial_shape();
  const auto images = [&](const Tensor& t) {
    return normalise_images(t, scale, offset, mean, variance, momentum, epsilon, training);
  };
  if (shape.rank() == 4) return images(x);
  // The op takes images only; the arrangement within a channel makes no difference.
  const int64_t channels = scale.dim(0);
  if (shape.fully_known()) {
    BatchNormalised made = images(reshape(x, {shape.numel() / channels, 1, 1, channels}));
    made.y = reshape(made.y, Shape(shape));
    return made;
  }
  BatchNormalised made = images(reshape(x, {-1, 1, 1, channels}));
  made.y = reshape(made.y, panto::shape(x));
  return made;
}

BatchNorm::BatchNorm(int64_t channels) : BatchNorm(channels, BatchNormOptions()) {}

BatchNorm::BatchNorm(int64_t channels, BatchNormOptions options)
    : channels_(channels), momentum_(options.momentum), epsilon_(options.epsilon), dtype_(options.dtype) {
  if (channels < 1) invalid("BatchNorm: expected a positive number of channels, got {}", channels);
  if (!(momentum_ >= 0 && momentum_ <= 1)) invalid("BatchNorm: expected a momentum in [0, 1], got {}", momentum_);
  if (!(epsilon_ >= 0)) invalid("BatchNorm: expected an epsilon of at least 0, got {}", epsilon_);
  if (dtype_ != kFloat32 && dtype_ != kFloat64) {
    invalid("BatchNorm: expected variables of float32 or float64, got {}", dtype_name(dtype_));
  }
  if (options.scale) scale_ = detail::vector_of(1, channels, dtype_, options.name + "/scale");
  if (options.center) offset_ = detail::vector_of(0, channels, dtype_, options.name + "/offset");
  const VariableUseScope statistics(VariableUse::kKept);
  mean_ = detail::vector_of(0, channels, dtype_, options.name + "/running_mean");
  variance_ = detail::vector_of(1, channels, dtype_, options.name + "/running_variance");
}

Tensor BatchNorm::forward(const Tensor& x) const {
  const PartialShape& shape = x.partial_shape();
  if (!shape.known_rank() || shape.rank() < 2 || !last_dimension_fits(shape, channels_)) {
    invalid("BatchNorm: expected an input of shape [batch, ..., {}], got {}", channels_, shape.to_string());
  }
  const Tensor scale = scale_.defined() ? scale_.value() : ones({channels_}, dtype_);
  const Tensor offset = offset_.defined() ? offset_.value() : zeros({channels_}, dtype_);
  const bool training = in_training() && trainable();
  const detail::BatchNormalised made =
      detail::normalise_batch(x, scale, offset, mean_.value(), variance_.value(), momentum_, epsilon_, training);
  if (training) {
    mean_.assign(made.mean);
    variance_.assign(made.variance);
  }
  return made.y;
}

std::string BatchNorm::to_string() const { return fmt::format("BatchNorm({})", channels_); }

LayerNorm::LayerNorm(int64_t features) : LayerNorm(features, LayerNormOptions()) {}

LayerNorm::LayerNorm(int64_t features, LayerNormOptions options) : features_(features), epsilon_(options.epsilon) {
  if (features < 1) invalid("LayerNorm: expected a positive number of features, got {}", features);
  if (options.scale) scale_ = detail::vector_of(1, features, options.dtype, options.name + "/scale");
  if (options.center) offset_ = detail::vector_of(0, features, options.dtype, options.name + "/offset");
}

Tensor LayerNorm::forward(const Tensor& x) const {
  const PartialShape& shape = x.partial_shape();
  if (shape.known_rank() && (shape.rank() < 1 || !last_dimension_fits(shape, features_))) {
    invalid("LayerNorm: expected an input of shape [..., {}], got {}", features_, shape.to_string());
  }
  const Tensor scale = scale_.defined() ? scale_.value() : ones({features_}, x.dtype());
  const Tensor offset = offset_.defined() ? offset_.value() : zeros({features_}, x.dtype());
  return layer_norm(x, scale, offset, {.epsilon = static_cast<float>(epsilon_)});
}

std::string LayerNorm::to_string() const { return fmt::format("LayerNorm({})", features_); }

}  // namespace panto
