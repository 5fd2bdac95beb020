#include "panto/nn/layers/image/image_layer.h"

#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/random/random.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {

Tensor ImageLayer::forward(const Tensor& x) const {
  const PartialShape& shape = x.partial_shape();
  if (!shape.known_rank() || (shape.rank() != 3 && shape.rank() != 4)) {
    invalid("{}: expected images [batch, height, width, channels] or one of them, got {}", to_string(),
            shape.to_string());
  }
  Tensor images = dtypes::kFloating.contains(x.dtype()) ? x : cast(x, kFloat32);
  if (!in_training() && !always()) return images;
  if (shape.rank() == 4) return changed(images);
  return squeeze(changed(expand_dims(images, 0)), {.squeeze_dims = {0}});
}

namespace detail {

FactorRange checked_factor(std::string_view layer, FactorRange range, double least, double most) {
  if (!(range.low >= least && range.high <= most)) {
    invalid("{}: expected a factor in [{}, {}], got [{}, {}]", layer, least, most, range.low, range.high);
  }
  return range;
}

ValueRange checked_values(std::string_view layer, ValueRange range) {
  if (!(range.low < range.high)) {
    invalid("{}: expected a value_range that ascends, got [{}, {}]", layer, range.low, range.high);
  }
  return range;
}

Tensor shape_with_batch(const Tensor& images, const std::vector<int64_t>& rest) {
  const int64_t batch = images.partial_shape().dim(0);
  std::vector<int32_t> dims = {static_cast<int32_t>(batch)};
  for (const int64_t d : rest) dims.push_back(static_cast<int32_t>(d));
  if (batch >= 0) return tensor(dims);
  dims.erase(dims.begin());
  const Tensor first = reshape(shape(images)[0], {1});
  return dims.empty() ? first : cat({first, tensor(dims)});
}

Tensor drawn_each(const Tensor& images, double low, double high) {
  const Tensor each = shape_with_batch(images, {});
  if (!(low < high)) return cast(fill(each, static_cast<float>(low)), images.dtype());
  // 16-bit floats have too few values for random numbers.
  const DType type = images.dtype() == kFloat64 ? kFloat64 : kFloat32;
  return cast(random_uniform(each, {.dtype = type, .min = low, .max = high}), images.dtype());
}

Tensor chosen_each(const Tensor& images, FactorRange share) {
  return drawn_each(images, 0, 1) < drawn_each(images, share.low, share.high);
}

Tensor column(const Tensor& each) { return reshape(each, {-1, 1, 1, 1}); }

std::pair<int64_t, int64_t> known_size(std::string_view layer, const Tensor& images) {
  const PartialShape& shape = images.partial_shape();
  if (shape.dim(1) < 0 || shape.dim(2) < 0) {
    failf(Code::kUnimplemented, "{}: expected images of known height and width, got {}", layer, shape.to_string());
  }
  return {shape.dim(1), shape.dim(2)};
}

Tensor in_range(const Tensor& images, ValueRange from, ValueRange to) {
  if (from.low == to.low && from.high == to.high) return images;
  return (images - from.low) / (from.high - from.low) * (to.high - to.low) + to.low;
}

Tensor clipped_to(const Tensor& images, ValueRange range) { return clip(images, range.low, range.high); }

}  // namespace detail
}  // namespace panto
