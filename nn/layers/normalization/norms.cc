#include "panto/nn/layers/normalization/norms.h"

#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/layers/core/shapes.h"
#include "panto/nn/layers/normalization/vectors.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

// Squares of 16-bit numbers may overflow.
Tensor at_least_float32(const Tensor& x) {
  return x.dtype() == kFloat16 || x.dtype() == kBFloat16 ? cast(x, kFloat32) : x;
}

double expect_epsilon(const char* layer, double epsilon) {
  if (!(epsilon >= 0)) invalid("{}: expected an epsilon of at least 0, got {}", layer, epsilon);
  return epsilon;
}

// Whether the last dimension is `size`, as far as known.
bool ends_with(const PartialShape& shape, int64_t size) {
  if (!shape.known_rank()) return true;
  return shape.rank() > 0 && (shape.dim(shape.rank() - 1) < 0 || shape.dim(shape.rank() - 1) == size);
}

}  // namespace

// ---- GroupNorm ------------------------------------------------------------------------------------------------------

GroupNorm::GroupNorm(int64_t channels) : GroupNorm(channels, GroupNormOptions()) {}

GroupNorm::GroupNorm(int64_t channels, GroupNormOptions options)
    : channels_(channels),
      groups_(options.groups == -1 ? channels : options.groups),
      epsilon_(expect_epsilon("GroupNorm", options.epsilon)) {
  if (channels < 1) invalid("GroupNorm: expected a positive number of channels, got {}", channels);
  if (groups_ < 1 || channels % groups_ != 0) {
    invalid("GroupNorm: expected a number of groups that divides {} channels, got {}", channels, options.groups);
  }
  if (options.scale) scale_ = detail::vector_of(1, channels, options.dtype, options.name + "/scale");
  if (options.center) offset_ = detail::vector_of(0, channels, options.dtype, options.name + "/offset");
}

Tensor GroupNorm::forward(const Tensor& x) const {
  const PartialShape& shape = x.partial_shape();
  if (!shape.known_rank() || shape.rank() < 2 || !ends_with(shape, channels_)) {
    invalid("GroupNorm: expected an input of shape [batch, ..., {}], got {}", channels_, shape.to_string());
  }
  const int rank = shape.rank();
  std::vector<int64_t> in_groups;
  ReduceOptions others{.keep_dims = true};
  for (int k = 0; k + 1 < rank; ++k) {
    in_groups.push_back(~int64_t{k});
    if (k > 0) others.axis.push_back(k);
  }
  in_groups.push_back(groups_);
  in_groups.push_back(channels_ / groups_);
  others.axis.push_back(rank);
  const Tensor grouped = detail::reshape_as(at_least_float32(x), x, in_groups);
  const Tensor centred = grouped - mean(grouped, others);
  const Tensor normal = centred * rsqrt(mean(square(centred), others) + epsilon_);
  in_groups.pop_back();
  in_groups.back() = channels_;
  Tensor y = detail::reshape_as(normal, x, in_groups);
  if (scale_.defined()) y = std::move(y) * cast(scale_, normal.dtype());
  if (offset_.defined()) y = std::move(y) + cast(offset_, normal.dtype());
  return cast(y, x.dtype());
}

std::string GroupNorm::to_string() const { return fmt::format("GroupNorm({}, {} groups)", channels_, groups_); }

// ---- RMSNorm --------------------------------------------------------------------------------------------------------

RMSNorm::RMSNorm(int64_t features) : RMSNorm(features, RMSNormOptions()) {}

RMSNorm::RMSNorm(int64_t features, RMSNormOptions options)
    : features_(features), epsilon_(expect_epsilon("RMSNorm", options.epsilon)) {
  if (features < 1) invalid("RMSNorm: expected a positive number of features, got {}", features);
  if (options.scale) scale_ = detail::vector_of(1, features, options.dtype, options.name + "/scale");
}

Tensor RMSNorm::forward(const Tensor& x) const {
  if (!ends_with(x.partial_shape(), features_)) {
    invalid("RMSNorm: expected an input of shape [..., {}], got {}", features_, x.partial_shape().to_string());
  }
  const Tensor wide = at_least_float32(x);
  Tensor y = wide * rsqrt(panto::mean(square(wide), -1, true) + epsilon_);
  if (scale_.defined()) y = std::move(y) * cast(scale_, wide.dtype());
  return cast(y, x.dtype());
}

std::string RMSNorm::to_string() const { return fmt::format("RMSNorm({})", features_); }

// ---- UnitNormalization ----------------------------------------------------------------------------------------------

UnitNormalization::UnitNormalization(UnitNormalizationOptions options) : axis_(std::move(options.axis)) {
  if (axis_.empty()) invalid("UnitNormalization: expected at least one axis, got none");
}

Tensor UnitNormalization::forward(const Tensor& x) const {
  const Tensor wide = at_least_float32(x);
  const Tensor squares = sum(square(wide), ReduceOptions{.axis = axis_, .keep_dims = true});
  return cast(wide * rsqrt(maximum(squares, 1e-24)), x.dtype());
}

// ---- Normalization --------------------------------------------------------------------------------------------------

Normalization::Normalization(int64_t features) : Normalization(features, NormalizationOptions()) {}

Normalization::Normalization(int64_t features, NormalizationOptions options)
    : features_(features), invert_(options.invert) {
  if (features < 1) invalid("Normalization: expected a positive number of features, got {}", features);
  const VariableUseScope statistics(VariableUse::kKept);
  mean_ = detail::vector_of(0, features, options.dtype, options.name + "/mean");
  variance_ = detail::vector_of(1, features, options.dtype, options.name + "/variance");
}

Normalization::Normalization(const Tensor& mean, const Tensor& variance, NormalizationOptions options)
    : features_(mean.partial_shape().fully_known() && mean.partial_shape().rank() == 1 ? mean.dim(0) : -1),
      invert_(options.invert) {
  if (features_ < 1 || !(variance.partial_shape() == mean.partial_shape())) {
    invalid("Normalization: expected vectors of one length, got {} and {}", mean.partial_shape().to_string(),
            variance.partial_shape().to_string());
  }
  const VariableUseScope statistics(VariableUse::kKept);
  mean_ = Variable(cast(mean, options.dtype), options.name + "/mean");
  variance_ = Variable(cast(variance, options.dtype), options.name + "/variance");
}

void Normalization::expect_features(const Tensor& x) const {
  if (ends_with(x.partial_shape(), features_)) return;
  invalid("Normalization: expected an input of shape [..., {}], got {}", features_, x.partial_shape().to_string());
}

void Normalization::adapt(const Tensor& data) const {
  expect_features(data);
  if (data.partial_shape().numel() == 0) {
    invalid("Normalization: expected data with elements, got {}", data.partial_shape().to_string());
  }
  const Tensor rows = reshape(cast(data, kFloat64), {-1, features_});
  const Tensor centre = panto::mean(rows, 0);
  const DType type = mean_.dtype();
  mean_.assign(cast(centre, type));
  variance_.assign(cast(panto::mean(square(rows - centre), 0), type));
}

Tensor Normalization::forward(const Tensor& x) const {
  expect_features(x);
  const Tensor wide = cast(x, mean_.dtype());
  const Tensor deviation = maximum(sqrt(variance_), 1e-7);
  return invert_ ? mean_ + wide * deviation : (wide - mean_) / deviation;
}

std::string Normalization::to_string() const { return fmt::format("Normalization({})", features_); }

}  // namespace panto
