#include "panto/nn/layers/image/mixing.h"

#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/random/random.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/layers/image/colours.h"
#include "panto/nn/layers/image/geometry.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/random.h"
#include "panto/trace/control/control_flow.h"

namespace panto {

using detail::checked_factor, detail::column, detail::drawn_each, detail::known_size;

namespace {

FactorRange from_zero(FactorRange range) { return range.low < 0 ? FactorRange(0, range.high) : range; }

// float32 numbers of the gamma distribution, from the process's generator.
Tensor gamma(const Tensor& shape, const Tensor& alpha) {
  const Tensor seed = randint(INT32_MAX, {2}, kInt64);
  return stateless_random_gamma(shape, seed, alpha);
}
Tensor beta(const Tensor& shape, const Tensor& alpha) {
  const Tensor a = gamma(shape, alpha), b = gamma(shape, alpha);
  // Small parameters give numbers near 0; sometimes both are 0.
  const Tensor all = a + b;
  return where(all > 0.F, a / where(all > 0.F, all, ones_like(all)), 0.5F);
}

Tensor shuffled_batch(const Tensor& images) {
  const Tensor batch = reshape(detail::shape_with_batch(images, {}), {});
  return argsort(random_uniform(reshape(batch, {1})));
}

// Reshapes [batch] to broadcast with a tensor of any rank.
Tensor beside(const Tensor& each, const Tensor& like) {
  std::vector<int64_t> dims(static_cast<size_t>(like.partial_shape().rank()), 1);
  dims[0] = -1;
  return cast(reshape(each, dims), like.dtype());
}

Tensor inside(const Tensor& images, const CutMix::Boxes& boxes, std::string_view layer) {
  const auto [height, width] = known_size(layer, images);
  const DType type = images.dtype();
  const Tensor x = reshape(cast(arange(width), type), {1, 1, width, 1});
  const Tensor y = reshape(cast(arange(height), type), {1, height, 1, 1});
  const auto bound = [&](const Tensor& t) { return cast(column(t), type); };
  return logical_and(logical_and(x >= bound(boxes.left), x < bound(boxes.right)),
                     logical_and(y >= bound(boxes.top), y < bound(boxes.bottom)));
}

// A random span of length `share * length`.
std::pair<Tensor, Tensor> span_of(const Tensor& images, const Tensor& share, int64_t length) {
  const Tensor part = share * static_cast<double>(length);
  const Tensor begin = drawn_each(images, 0, 1) * (static_cast<double>(length) - part);
  return {begin, begin + part};
}
CutMix::Boxes boxes_of(const Tensor& images, const Tensor& across, const Tensor& down, std::string_view layer) {
  const auto [height, width] = known_size(layer, images);
  const auto [left, right] = span_of(images, across, width);
  const auto [top, bottom] = span_of(images, down, height);
  return {left, right, top, bottom};
}

}  // namespace

// ---- MixUp ----------------------------------------------------------------------------------------------------------

MixUp::MixUp(double alpha) : alpha_(alpha) {
  if (!(alpha > 0)) invalid("MixUp: expected a positive alpha, got {}", alpha);
}
Tensor MixUp::transform(const Tensor& images, const Tensor& weights, const Tensor& others) const {
  const Tensor weight = beside(weights, images);
  return weight * images + (1 - weight) * gather(images, others);
}
std::pair<Tensor, Tensor> MixUp::pair(const Tensor& images, const Tensor& labels) const {
  if (!in_training()) return {images, labels};
  const Tensor pixels = dtypes::kFloating.contains(images.dtype()) ? images : cast(images, kFloat32);
  const Tensor truth = dtypes::kFloating.contains(labels.dtype()) ? labels : cast(labels, kFloat32);
  const Tensor weights = beta(detail::shape_with_batch(images, {}), tensor(static_cast<float>(alpha_)));
  const Tensor others = shuffled_batch(images);
  return {transform(pixels, weights, others), transform(truth, weights, others)};
}
Tensor MixUp::changed(const Tensor& images) const {
  const Tensor weights = beta(detail::shape_with_batch(images, {}), tensor(static_cast<float>(alpha_)));
  return transform(images, weights, shuffled_batch(images));
}
std::string MixUp::to_string() const { return fmt::format("MixUp({})", alpha_); }

// ---- CutMix ---------------------------------------------------------------------------------------------------------

CutMix::CutMix(FactorRange factor) : factor_(checked_factor("CutMix", from_zero(factor), 0, 1)) {}

struct CutMix::Cut {
  Boxes boxes;
  Tensor others;
  Tensor kept;  // the share of each image that is kept
};
CutMix::Cut CutMix::cut(const Tensor& images) const {
  const auto [height, width] = known_size("CutMix", images);
  const Tensor alpha = (factor_.low < factor_.high ? random_uniform({}, {.min = factor_.low, .max = factor_.high})
                                                   : tensor(static_cast<float>(factor_.low))) +
                       1e-6F;
  const Tensor weight = beta(detail::shape_with_batch(images, {}), alpha);
  const Tensor ratio = cast(sqrt(1.F - weight), images.dtype());
  Cut all{boxes_of(images, ratio, ratio, "CutMix"), shuffled_batch(images), {}};
  const double area = static_cast<double>(height) * static_cast<double>(width);
  all.kept = 1 - (all.boxes.right - all.boxes.left) * (all.boxes.bottom - all.boxes.top) / area;
  return all;
}
Tensor CutMix::transform(const Tensor& images, const Boxes& boxes, const Tensor& others) const {
  return where(inside(images, boxes, "CutMix"), gather(images, others), images);
}
std::pair<Tensor, Tensor> CutMix::pair(const Tensor& images, const Tensor& labels) const {
  if (!in_training()) return {images, labels};
  const Tensor pixels = dtypes::kFloating.contains(images.dtype()) ? images : cast(images, kFloat32);
  const Tensor truth = dtypes::kFloating.contains(labels.dtype()) ? labels : cast(labels, kFloat32);
  const Cut all = cut(pixels);
  const Tensor kept = beside(all.kept, truth);
  return {transform(pixels, all.boxes, all.others), kept * truth + (1 - kept) * gather(truth, all.others)};
}
Tensor CutMix::changed(const Tensor& images) const {
  const Cut all = cut(images);
  return transform(images, all.boxes, all.others);
}
std::string CutMix::to_string() const { return fmt::format("CutMix([{}, {}])", factor_.low, factor_.high); }

// ---- RandomErasing --------------------------------------------------------------------------------------------------

RandomErasing::RandomErasing(FactorRange factor, RandomErasingOptions options)
    : factor_(checked_factor("RandomErasing", from_zero(factor), 0, 1)), options_(options) {
  options_.scale = checked_factor("RandomErasing", from_zero(options.scale), 0, 1);
  detail::checked_values("RandomErasing", options.value_range);
}
Tensor RandomErasing::transform(const Tensor& images, const CutMix::Boxes& boxes, const Tensor& chosen,
                                const Tensor& filling) const {
  return where(logical_and(column(chosen), inside(images, boxes, "RandomErasing")),
               detail::clipped_to(filling, options_.value_range), images);
}
Tensor RandomErasing::changed(const Tensor& images) const {
  const auto share = [&] { return sqrt(drawn_each(images, options_.scale.low, options_.scale.high)); };
  const Tensor across = share();
  const CutMix::Boxes boxes = boxes_of(images, across, share(), "RandomErasing");
  const Tensor chosen = detail::chosen_each(images, factor_);
  if (options_.fill_value) return transform(images, boxes, chosen, zeros_like(images) + *options_.fill_value);
  const DType type = images.dtype() == kFloat64 ? kFloat64 : kFloat32;
  const Tensor noise = cast(random_normal(shape(images), {.dtype = type}), images.dtype());
  return transform(images, boxes, chosen, noise * options_.value_range.high);
}

// ---- Layers that combine others -------------------------------------------------------------------------------------

namespace {

std::vector<std::shared_ptr<const Layer>> layers_of(FactorRange f, ValueRange range, const std::string& interpolation,
                                                    bool colours) {
  const ImageValueOptions values{range};
  const ImageWarpOptions warp{.interpolation = interpolation};
  std::vector<std::shared_ptr<const Layer>> all = {
      std::make_shared<RandomShear>(f, f, warp),
      std::make_shared<RandomTranslation>(f, f, warp),
      std::make_shared<RandomRotation>(f, warp),
      std::make_shared<Solarization>(f, f, values),
      std::make_shared<RandomPosterization>(std::max(int64_t{1}, static_cast<int64_t>(8 * f.high)), values),
      std::make_shared<AutoContrast>(values),
      std::make_shared<Equalization>(EqualizationOptions{.value_range = range}),
  };
  if (!colours) return all;
  all.push_back(std::make_shared<RandomBrightness>(f, values));
  all.push_back(std::make_shared<RandomColorDegeneration>(f, values));
  all.push_back(std::make_shared<RandomContrast>(f.low, f.high, values));
  all.push_back(std::make_shared<RandomSharpness>(f, values));
  return all;
}

// Applies the layer of that number; returns the images for a number without a layer.
Tensor changed_by(const std::vector<std::shared_ptr<const Layer>>& layers, const Tensor& number, const Tensor& images) {
  std::vector<Callable<Tensor()>> branches;
  for (const auto& layer : layers) branches.emplace_back([layer, images] { return (*layer)(images); });
  branches.emplace_back([images] { return identity(images); });
  return switch_case(number, branches);
}

}  // namespace

RandAugment::RandAugment(const RandAugmentOptions& options)
    : num_ops_(options.num_ops),
      layers_(layers_of(checked_factor("RandAugment", from_zero(options.factor), 0, 1), options.value_range,
                        options.interpolation, true)) {
  if (num_ops_ < 1) invalid("RandAugment: expected a positive number of layers, got {}", num_ops_);
}
Tensor RandAugment::changed(const Tensor& images) const {
  Tensor all = images;
  for (int64_t i = 0; i < num_ops_; ++i) {
    all = changed_by(layers_, randint(0, std::ssize(layers_), {}, kInt32), all);
  }
  return all;
}

AugMix::AugMix(const AugMixOptions& options)
    : options_(options),
      layers_(layers_of(checked_factor("AugMix", from_zero(options.factor), 0, 1), options.value_range,
                        options.interpolation, options.all_ops)) {
  if (options.num_chains < 1 || options.chain_depth < 1 || !(options.alpha > 0)) {
    invalid("AugMix: expected positive num_chains, chain_depth and alpha, got {}, {} and {}", options.num_chains,
            options.chain_depth, options.alpha);
  }
}
Tensor AugMix::changed(const Tensor& images) const {
  const Tensor alpha = tensor(static_cast<float>(options_.alpha));
  const Tensor parts = gamma(tensor({static_cast<int32_t>(options_.num_chains)}), alpha);
  const Tensor weights = cast(parts / sum(parts), images.dtype());
  const Tensor weight = cast(reshape(beta(tensor({1}), alpha), {}), images.dtype());
  Tensor mixed = zeros_like(images);
  for (int64_t i = 0; i < options_.num_chains; ++i) {
    Tensor chain = images;
    for (int64_t k = 0; k < options_.chain_depth; ++k) {
      chain = changed_by(layers_, randint(0, std::ssize(layers_) + 1, {}, kInt32), chain);
    }
    mixed = mixed + chain * weights[i];
  }
  return detail::clipped_to(weight * images + (1 - weight) * mixed, options_.value_range);
}

}  // namespace panto
