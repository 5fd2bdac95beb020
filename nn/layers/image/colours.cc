#include "panto/nn/layers/image/colours.h"

#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/random/random.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/layers/image/blur.h"
#include "panto/ops/array.h"
#include "panto/ops/image.h"
#include "panto/ops/math.h"

namespace panto {

using detail::checked_factor, detail::checked_values, detail::chosen_each, detail::clipped_to, detail::column,
    detail::drawn_each, detail::in_range;

namespace {

constexpr ValueRange kBytes = {0, 255};

std::string text(FactorRange range) { return fmt::format("[{}, {}]", range.low, range.high); }

// A range of one number as in Keras: [max(-f, 0), f].
FactorRange from_zero(FactorRange range) { return range.low < 0 ? FactorRange(0, range.high) : range; }

// Reshapes [batch] to broadcast with [batch, height, width].
Tensor plane(const Tensor& each, const Tensor& images) { return cast(reshape(each, {-1, 1, 1}), images.dtype()); }
Tensor factors_for(const Tensor& each, const Tensor& images) { return cast(column(each), images.dtype()); }

void expect_colours(std::string_view layer, const Tensor& images) {
  const int64_t channels = images.partial_shape().dim(3);
  if (channels >= 0 && channels != 3) invalid("{}: expected images of 3 channels, got {}", layer, channels);
}

// [..., 3] -> [..., 1].
Tensor greyed(std::string_view layer, const Tensor& images) {
  const int64_t channels = images.partial_shape().dim(3);
  if (channels == 1) return images;
  expect_colours(layer, images);
  return sum(images * cast(tensor({0.2989, 0.5870, 0.1140}), images.dtype()), {.axis = {3}, .keep_dims = true});
}

Tensor channel(const Tensor& images, int i) { return images(Ellipsis, i); }

}  // namespace

// ---- RandomBrightness -----------------------------------------------------------------------------------------------

RandomBrightness::RandomBrightness(FactorRange factor, ImageValueOptions options)
    : factor_(checked_factor("RandomBrightness", factor, -1, 1)),
      values_(checked_values("RandomBrightness", options.value_range)) {}
Tensor RandomBrightness::transform(const Tensor& images, const Tensor& shares) const {
  return clipped_to(images + factors_for(shares, images) * (values_.high - values_.low), values_);
}
Tensor RandomBrightness::changed(const Tensor& images) const {
  return transform(images, drawn_each(images, factor_.low, factor_.high));
}
std::string RandomBrightness::to_string() const { return "RandomBrightness(" + text(factor_) + ")"; }

// ---- RandomContrast -------------------------------------------------------------------------------------------------

RandomContrast::RandomContrast(double factor, ImageValueOptions options) : RandomContrast(factor, factor, options) {
  lower_ = 0;  // as in Keras: for a single number the range of factors begins at 1
}
RandomContrast::RandomContrast(double lower, double upper, ImageValueOptions options)
    : lower_(lower), upper_(upper), values_(checked_values("RandomContrast", options.value_range)) {
  checked_factor("RandomContrast", {lower, upper}, 0, 1);
}
Tensor RandomContrast::transform(const Tensor& images, const Tensor& factors) const {
  const Tensor middle = mean(mean(images, {.axis = {1}, .keep_dims = true}), {.axis = {2}, .keep_dims = true});
  return clipped_to((images - middle) * factors_for(factors, images) + middle, values_);
}
Tensor RandomContrast::changed(const Tensor& images) const {
  return transform(images, drawn_each(images, 1 - lower_, 1 + upper_));
}
std::string RandomContrast::to_string() const { return fmt::format("RandomContrast([{}, {}])", lower_, upper_); }

// ---- RandomSaturation -----------------------------------------------------------------------------------------------

RandomSaturation::RandomSaturation(FactorRange factor, ImageValueOptions options)
    : factor_(checked_factor("RandomSaturation", factor, -1, 1)),
      values_(checked_values("RandomSaturation", options.value_range)) {}
Tensor RandomSaturation::transform(const Tensor& images, const Tensor& factors) const {
  expect_colours("RandomSaturation", images);
  const Tensor hsv = rgb_to_hsv(images);
  const Tensor saturation = clipped_to(channel(hsv, 1) * plane(factors, images), values_);
  return hsv_to_rgb(stack({channel(hsv, 0), saturation, channel(hsv, 2)}, -1));
}
Tensor RandomSaturation::changed(const Tensor& images) const {
  const Tensor f = drawn_each(images, factor_.low, factor_.high);
  return transform(images, f / (1 - f + 1e-7));
}
std::string RandomSaturation::to_string() const { return "RandomSaturation(" + text(factor_) + ")"; }

// ---- RandomHue ------------------------------------------------------------------------------------------------------

RandomHue::RandomHue(FactorRange factor, ImageValueOptions options)
    : factor_(checked_factor("RandomHue", from_zero(factor), 0, 1)),
      values_(checked_values("RandomHue", options.value_range)) {}
Tensor RandomHue::transform(const Tensor& images, const Tensor& turns) const {
  expect_colours("RandomHue", images);
  const Tensor hsv = rgb_to_hsv(in_range(images, values_, {0, 1}));
  Tensor hue = channel(hsv, 0) + plane(turns, images);
  hue = where(hue > 1.0, hue - 1.0, hue);
  hue = where(hue < 0.0, hue + 1.0, hue);
  const Tensor turned = hsv_to_rgb(stack({hue, channel(hsv, 1), channel(hsv, 2)}, -1));
  return in_range(clip(turned, 0.0, 1.0), {0, 1}, values_);
}
Tensor RandomHue::changed(const Tensor& images) const {
  const Tensor half = drawn_each(images, 0, 1);
  const Tensor side = where(half > 0.5, -ones_like(half), ones_like(half));
  return transform(images, side * drawn_each(images, factor_.low, factor_.high) * 0.5);
}
std::string RandomHue::to_string() const { return "RandomHue(" + text(factor_) + ")"; }

// ---- RandomColorDegeneration ----------------------------------------------------------------------------------------

RandomColorDegeneration::RandomColorDegeneration(FactorRange factor, ImageValueOptions options)
    : factor_(checked_factor("RandomColorDegeneration", factor, -1, 1)),
      values_(checked_values("RandomColorDegeneration", options.value_range)) {}
Tensor RandomColorDegeneration::transform(const Tensor& images, const Tensor& factors) const {
  const Tensor grey = greyed("RandomColorDegeneration", images);
  return clipped_to(images + factors_for(factors, images) * (grey - images), values_);
}
Tensor RandomColorDegeneration::changed(const Tensor& images) const {
  return transform(images, drawn_each(images, factor_.low, factor_.high));
}
std::string RandomColorDegeneration::to_string() const { return "RandomColorDegeneration(" + text(factor_) + ")"; }

// ---- RandomColorJitter ----------------------------------------------------------------------------------------------

RandomColorJitter::RandomColorJitter(const RandomColorJitterOptions& options) {
  const ImageValueOptions values{options.value_range};
  if (options.brightness) layers_.push_back(std::make_shared<RandomBrightness>(*options.brightness, values));
  if (options.contrast) layers_.push_back(std::make_shared<RandomContrast>(*options.contrast, values));
  if (options.saturation) layers_.push_back(std::make_shared<RandomSaturation>(*options.saturation, values));
  if (options.hue) layers_.push_back(std::make_shared<RandomHue>(*options.hue, values));
}
Tensor RandomColorJitter::changed(const Tensor& images) const {
  Tensor all = images;
  for (const auto& layer : layers_) all = (*layer)(all);
  return all;
}

// ---- RandomGrayscale ------------------------------------------------------------------------------------------------

RandomGrayscale::RandomGrayscale(double share) : share_(share) {
  if (!(share >= 0 && share <= 1)) invalid("RandomGrayscale: expected a share in [0, 1], got {}", share);
}
Tensor RandomGrayscale::transform(const Tensor& images, const Tensor& chosen) const {
  return where(column(chosen), greyed("RandomGrayscale", images), images);
}
Tensor RandomGrayscale::changed(const Tensor& images) const {
  return transform(images, drawn_each(images, 0, 1) < share_);
}
std::string RandomGrayscale::to_string() const { return fmt::format("RandomGrayscale({})", share_); }

// ---- RandomInvert ---------------------------------------------------------------------------------------------------

RandomInvert::RandomInvert(FactorRange factor, ImageValueOptions options)
    : factor_(checked_factor("RandomInvert", from_zero(factor), 0, 1)),
      values_(checked_values("RandomInvert", options.value_range)) {}
Tensor RandomInvert::transform(const Tensor& images, const Tensor& chosen) const {
  return where(column(chosen), values_.high - images, images);
}
Tensor RandomInvert::changed(const Tensor& images) const { return transform(images, chosen_each(images, factor_)); }
std::string RandomInvert::to_string() const { return "RandomInvert(" + text(factor_) + ")"; }

// ---- RandomPosterization --------------------------------------------------------------------------------------------

RandomPosterization::RandomPosterization(int64_t bits, ImageValueOptions options)
    : RandomPosterization(bits, bits, options) {}
RandomPosterization::RandomPosterization(int64_t least, int64_t below, ImageValueOptions options)
    : least_(least), below_(below), values_(checked_values("RandomPosterization", options.value_range)) {
  if (least < 1 || below < least || below > 8) {
    invalid("RandomPosterization: expected numbers of bits from 1 to 8 that ascend, got {} and {}", least, below);
  }
}
Tensor RandomPosterization::transform(const Tensor& images, const Tensor& bits) const {
  const Tensor step = pow(tensor(2.0F), 8.0F - cast(bits, kFloat32));
  const Tensor steps = cast(column(step), images.dtype());
  const Tensor whole = floor(in_range(images, values_, kBytes));
  return in_range(floor(whole / steps) * steps, kBytes, values_);
}
Tensor RandomPosterization::changed(const Tensor& images) const {
  const Tensor batch = detail::shape_with_batch(images, {});
  return transform(images, least_ == below_ ? fill(batch, static_cast<int32_t>(least_))
                                            : cast(randint(least_, below_, batch), kInt32));
}
std::string RandomPosterization::to_string() const {
  return fmt::format("RandomPosterization({}, {})", least_, below_);
}

// ---- RandomSharpness ------------------------------------------------------------------------------------------------

RandomSharpness::RandomSharpness(FactorRange factor, ImageValueOptions options)
    : factor_(checked_factor("RandomSharpness", from_zero(factor), 0, 1)),
      values_(checked_values("RandomSharpness", options.value_range)) {}
Tensor RandomSharpness::transform(const Tensor& images, const Tensor& factors) const {
  constexpr double kSide = 1. / 13, kMiddle = 5. / 13;
  const Tensor kernel = tensor({{kSide, kSide, kSide}, {kSide, kMiddle, kSide}, {kSide, kSide, kSide}});
  const Tensor smooth = detail::filtered(images, kernel);
  return clipped_to(images + (1 - factors_for(factors, images) * 2) * (smooth - images), values_);
}
Tensor RandomSharpness::changed(const Tensor& images) const {
  return transform(images, drawn_each(images, factor_.low, factor_.high));
}
std::string RandomSharpness::to_string() const { return "RandomSharpness(" + text(factor_) + ")"; }

// ---- Solarization ---------------------------------------------------------------------------------------------------

Solarization::Solarization(FactorRange addition, FactorRange threshold, ImageValueOptions options)
    : addition_(checked_factor("Solarization", from_zero(addition), 0, 1)),
      threshold_(checked_factor("Solarization", from_zero(threshold), 0, 1)),
      values_(checked_values("Solarization", options.value_range)) {}
Tensor Solarization::transform(const Tensor& images, const Tensor& additions, const Tensor& thresholds) const {
  const Tensor bytes = clip(in_range(images, values_, kBytes) + factors_for(additions, images), 0.0, 255.0);
  return in_range(where(bytes < factors_for(thresholds, images), bytes, 255 - bytes), kBytes, values_);
}
Tensor Solarization::changed(const Tensor& images) const {
  const Tensor added = drawn_each(images, addition_.low, addition_.high * 255);
  return transform(images, added, drawn_each(images, threshold_.low, threshold_.high * 255));
}
std::string Solarization::to_string() const {
  return "Solarization(" + text(addition_) + ", " + text(threshold_) + ")";
}

// ---- RandomGaussianBlur ---------------------------------------------------------------------------------------------

RandomGaussianBlur::RandomGaussianBlur(FactorRange factor, RandomGaussianBlurOptions options)
    : factor_(checked_factor("RandomGaussianBlur", from_zero(factor), 0, 1)), options_(options) {
  options_.sigma = checked_factor("RandomGaussianBlur", from_zero(options.sigma), 0, 1);
  checked_values("RandomGaussianBlur", options.value_range);
  const Extent& size = options_.kernel_size;
  if (size[0] < 1 || size[1] < 1 || size[0] % 2 == 0 || size[1] % 2 == 0) {
    invalid("RandomGaussianBlur: expected an odd kernel_size, got {} and {}", size[0], size[1]);
  }
}
Tensor RandomGaussianBlur::transform(const Tensor& images, const Tensor& along_x, const Tensor& along_y,
                                     const Tensor& chosen) const {
  const Tensor soft =
      detail::blurred(images, options_.kernel_size, cast(along_x, images.dtype()), cast(along_y, images.dtype()));
  return clipped_to(where(column(chosen), soft, images), options_.value_range);
}
Tensor RandomGaussianBlur::changed(const Tensor& images) const {
  const FactorRange& s = options_.sigma;
  const auto deviation = [&] {
    return (s.low < s.high ? random_uniform({}, {.min = s.low, .max = s.high}) : tensor(static_cast<float>(s.low))) +
           1e-6F;
  };
  const Tensor chosen = chosen_each(images, factor_), along_x = deviation();
  return transform(images, along_x, deviation(), chosen);
}
std::string RandomGaussianBlur::to_string() const { return "RandomGaussianBlur(" + text(factor_) + ")"; }

}  // namespace panto
