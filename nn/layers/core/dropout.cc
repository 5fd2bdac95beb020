#include "panto/nn/layers/core/dropout.h"

#include <cmath>
#include <utility>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/random/random.h"
#include "panto/nn/layers/core/drops.h"
#include "panto/nn/layers/core/shapes.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace detail {
namespace {

// Calls draw(shape) with x's shape, in which the dimensions in `alike` are 1.
template <class Draw>
Tensor drawn_for(const Tensor& x, std::span<const int> alike, const Draw& draw) {
  const PartialShape& known = x.partial_shape();
  if (known.fully_known()) {
    std::vector<int64_t> dims(known.dims().begin(), known.dims().end());
    for (const int k : alike) dims[static_cast<size_t>(k)] = 1;
    return draw(Shape(dims));
  }
  if (alike.empty()) return draw(shape(x));
  std::vector<Tensor> each = unpack(shape(x), known.rank());
  for (const int k : alike) each[static_cast<size_t>(k)] = tensor(1);
  return draw(pack(each));
}

}  // namespace

double dropout_rate(std::string_view layer, double rate) {
  if (!(rate >= 0 && rate < 1)) invalid("{}: expected a rate in [0, 1), got {}", layer, rate);
  return rate;
}

Tensor kept_at_random(const Tensor& x, double rate, std::span<const int> alike) {
  const RandomUniformOptions options{.dtype = x.dtype()};
  return drawn_for(x, alike, [&](const auto& shape) { return greater_equal(random_uniform(shape, options), rate); });
}

Tensor dropout_factors(const Tensor& x, double rate, std::span<const int> alike) {
  return cast(kept_at_random(x, rate, alike), x.dtype()) * (1 / (1 - rate));
}

}  // namespace detail

namespace {

template <int Rank>
std::string spatial_name() {
  return fmt::format("SpatialDropout{}D", Rank);
}

Tensor normal_like(const Tensor& x, double mean, double stddev) {
  const RandomNormalOptions options{.dtype = x.dtype(), .mean = mean, .stddev = stddev};
  return detail::drawn_for(x, {}, [&](const auto& shape) { return random_normal(shape, options); });
}

}  // namespace

Dropout::Dropout(double rate) : rate_(detail::dropout_rate("Dropout", rate)) {}

Tensor Dropout::forward(const Tensor& x) const {
  if (!in_training() || rate_ == 0) return x;
  return select(detail::kept_at_random(x, rate_), x * (1 / (1 - rate_)), zeros_like(x));
}

std::string Dropout::to_string() const { return fmt::format("Dropout({})", rate_); }

template <int Rank>
SpatialDropout<Rank>::SpatialDropout(double rate) : rate_(detail::dropout_rate(spatial_name<Rank>(), rate)) {}

template <int Rank>
Tensor SpatialDropout<Rank>::forward(const Tensor& x) const {
  if (x.partial_shape().rank() != Rank + 2) {
    invalid("{}: expected an input of rank {}, got {}", spatial_name<Rank>(), Rank + 2, x.partial_shape().to_string());
  }
  if (!in_training() || rate_ == 0) return x;
  std::vector<int> alike;
  for (int k = 1; k <= Rank; ++k) alike.push_back(k);
  return where(detail::kept_at_random(x, rate_, alike), x * (1 / (1 - rate_)), zeros_like(x));
}

template <int Rank>
std::string SpatialDropout<Rank>::to_string() const {
  return fmt::format("SpatialDropout{}D({})", Rank, rate_);
}

template class SpatialDropout<1>;
template class SpatialDropout<2>;
template class SpatialDropout<3>;

GaussianDropout::GaussianDropout(double rate) : rate_(detail::dropout_rate("GaussianDropout", rate)) {}
Tensor GaussianDropout::forward(const Tensor& x) const {
  if (!in_training() || rate_ == 0) return x;
  return x * normal_like(x, 1, std::sqrt(rate_ / (1 - rate_)));
}
std::string GaussianDropout::to_string() const { return fmt::format("GaussianDropout({})", rate_); }

GaussianNoise::GaussianNoise(double stddev) : stddev_(stddev) {
  if (!(stddev >= 0)) invalid("GaussianNoise: expected a stddev of at least 0, got {}", stddev);
}
Tensor GaussianNoise::forward(const Tensor& x) const {
  if (!in_training() || stddev_ == 0) return x;
  return x + normal_like(x, 0, stddev_);
}
std::string GaussianNoise::to_string() const { return fmt::format("GaussianNoise({})", stddev_); }

AlphaDropout::AlphaDropout(double rate) : rate_(detail::dropout_rate("AlphaDropout", rate)) {}
Tensor AlphaDropout::forward(const Tensor& x) const {
  if (!in_training() || rate_ == 0) return x;
  constexpr double kAlpha = 1.6732632423543772848170429916717, kScale = 1.0507009873554804934193349852946;
  constexpr double kLimit = -kAlpha * kScale;
  const double a = 1 / std::sqrt((1 - rate_) * (1 + rate_ * kLimit * kLimit)), b = -a * kLimit * rate_;
  return where(detail::kept_at_random(x, rate_), x, kLimit) * a + b;
}
std::string AlphaDropout::to_string() const { return fmt::format("AlphaDropout({})", rate_); }

}  // namespace panto
