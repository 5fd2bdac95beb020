// Layers that equalize pixel values by their histogram or range.
#include <utility>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/layers/image/colours.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {

using detail::checked_values, detail::in_range;

static constexpr ValueRange kBytes = {0, 255};

// ---- AutoContrast ---------------------------------------------------------------------------------------------------

AutoContrast::AutoContrast(ImageValueOptions options) : values_(checked_values("AutoContrast", options.value_range)) {}
Tensor AutoContrast::changed(const Tensor& images) const {
  const Tensor bytes = in_range(images, values_, kBytes);
  const Tensor low = min(bytes, {.axis = {1, 2}, .keep_dims = true}),
               high = max(bytes, {.axis = {1, 2}, .keep_dims = true});
  const Tensor scale = 255 / (high - low);
  const Tensor stretched = in_range(clip(bytes * scale - low * scale, 0.0, 255.0), kBytes, values_);
  return where(high > low, stretched, images);
}

// ---- Equalization ---------------------------------------------------------------------------------------------------

Equalization::Equalization(EqualizationOptions options) : options_(options) {
  checked_values("Equalization", options.value_range);
  if (options.bins < 2 || options.bins > INT32_MAX) {
    invalid("Equalization: expected at least 2 bins, got {}", options.bins);
  }
}

// Equalizes over all elements.
static Tensor equalized(const Tensor& bytes, int64_t bins) {
  const double last = static_cast<double>(bins - 1);
  const auto count = static_cast<int32_t>(bins);
  const Tensor places = clip(cast(bytes * last / 255, kInt32), 0, count - 1);
  const Tensor histogram = bincount(places, count, zeros({0}, kInt64));
  const Tensor below = cumsum(histogram, 0);
  const Tensor least = min(where(below > int64_t{0}, below, INT64_MAX));
  const Tensor all = below[-1] - least;
  const Tensor shares = cast((below - least) * int64_t{255}, kFloat32) / cast(maximum(all, int64_t{1}), kFloat32);
  const Tensor table = cast(clip(round(shares), 0.F, 255.F), bytes.dtype());
  const Tensor indices = cast(clip(bytes / 255 * last, 0.0, last), kInt32);
  return where(sum(cast(histogram > int64_t{0}, kInt32)) <= 1, bytes, gather(table, indices));
}

Tensor Equalization::changed(const Tensor& images) const {
  const int64_t channels = images.partial_shape().dim(3);
  if (channels < 0) failf(Code::kUnimplemented, "Equalization: expected a known number of channels, got another");
  const Tensor bytes = in_range(images, options_.value_range, kBytes);
  std::vector<Tensor> each;
  for (int64_t i = 0; i < channels; ++i) each.push_back(equalized(bytes(Ellipsis, i), options_.bins));
  return in_range(stack(each, -1), kBytes, options_.value_range);
}

// ---- CLAHE ----------------------------------------------------------------------------------------------------------

ContrastLimitedAdaptiveHistogramEqualization::ContrastLimitedAdaptiveHistogramEqualization(ClaheOptions options)
    : options_(options) {
  checked_values("ContrastLimitedAdaptiveHistogramEqualization", options.value_range);
  if (options.tile_grid_size[0] < 1 || options.tile_grid_size[1] < 1) {
    invalid("ContrastLimitedAdaptiveHistogramEqualization: expected a positive tile_grid_size, got {} and {}",
            options.tile_grid_size[0], options.tile_grid_size[1]);
  }
}

namespace {

// The lookup table of each tile and channel, from 256 values: [batch, rows, columns, channels, 256].
Tensor tables_of(const Tensor& bytes, int64_t rows, int64_t columns, int64_t tile_height, int64_t tile_width,
                 int64_t channels, double clip_limit) {
  const int64_t pixels = tile_height * tile_width;
  const Tensor tiles =
      transpose(reshape(bytes, {-1, rows, tile_height, columns, tile_width, channels}), {0, 1, 3, 5, 2, 4});
  const Tensor values = clip(cast(reshape(tiles, {-1, rows, columns, channels, pixels}), kInt32), 0, 255);
  Tensor histogram = sum(one_hot(values, 256), {.axis = {-2}});
  if (clip_limit > 0) {
    const Tensor cut = clip(histogram, 0.F, static_cast<float>(clip_limit * static_cast<double>(pixels) / 256));
    histogram = cut + sum(histogram - cut, {.axis = {-1}, .keep_dims = true}) / 256.F;
  }
  const Tensor below = cumsum(histogram, -1);
  const Tensor least = min(below, {.axis = {-1}, .keep_dims = true});
  const Tensor rest = static_cast<float>(pixels) - least;
  return clip((below - least) * 255.F / where(rest == 0.F, ones_like(rest), rest), 0.F, 255.F);
}

// The two tiles between which each position lies (tiles have one extra at either end), and the share of the second.
struct Between {
  Tensor first, second, share;
};
Between between(int64_t length, int64_t tile, int64_t tiles) {
  const auto size = static_cast<double>(tile);
  const Tensor place = cast((cast(arange(length), kFloat64) - size / 2) / size + 1.0, kFloat32);
  const Tensor lower = floor(place);
  const auto index = [&](const Tensor& t) { return cast(clip(t, 0.F, static_cast<float>(tiles + 1)), kInt32); };
  return {index(lower), index(lower + 1.F), place - lower};
}

}  // namespace

Tensor ContrastLimitedAdaptiveHistogramEqualization::changed(const Tensor& images) const {
  const auto [height, width] = detail::known_size("ContrastLimitedAdaptiveHistogramEqualization", images);
  const int64_t channels = images.partial_shape().dim(3), rows = options_.tile_grid_size[0],
                columns = options_.tile_grid_size[1];
  if (channels < 0) {
    failf(Code::kUnimplemented,
          "ContrastLimitedAdaptiveHistogramEqualization: expected a known number of channels, got another");
  }
  const int64_t tile_height = (height + rows - 1) / rows, tile_width = (width + columns - 1) / columns;
  const int64_t full_height = tile_height * rows, full_width = tile_width * columns;
  Tensor bytes = in_range(cast(images, kFloat32), options_.value_range, kBytes);
  if (full_height != height || full_width != width) {
    bytes = pad(bytes,
                tensor({{0, 0},
                        {0, static_cast<int32_t>(full_height - height)},
                        {0, static_cast<int32_t>(full_width - width)},
                        {0, 0}}),
                PadOptions{.mode = "symmetric"});
  }
  Tensor tables = tables_of(bytes, rows, columns, tile_height, tile_width, channels, options_.clip_limit);
  for (const int axis : {1, 2}) {
    const auto n = static_cast<int32_t>(axis == 1 ? rows : columns);
    tables = cat({gather(tables, tensor({0}), axis), tables, gather(tables, tensor({n - 1}), axis)}, axis);
  }
  const Between y = between(full_height, tile_height, rows), x = between(full_width, tile_width, columns);
  const Tensor flat = reshape(tables, {-1, (rows + 2) * (columns + 2) * channels * 256});
  const auto step = static_cast<int32_t>(channels * 256);
  const Tensor within = clip(cast(bytes, kInt32), 0, 255) + cast(arange(channels), kInt32) * 256;
  const auto at = [&, c = columns, h = full_height, w = full_width](const Tensor& row, const Tensor& column) {
    const Tensor tile = reshape(row, {h, 1, 1}) * static_cast<int32_t>(c + 2) + reshape(column, {w, 1});
    return gather(flat, within + tile * step, 1, {.batch_dims = 1});
  };
  const Tensor to_x = reshape(x.share, {full_width, 1}), to_y = reshape(y.share, {full_height, 1, 1});
  const Tensor top = at(y.first, x.first) * (1.F - to_x) + at(y.first, x.second) * to_x;
  const Tensor bottom = at(y.second, x.first) * (1.F - to_x) + at(y.second, x.second) * to_x;
  const Tensor whole = slice(top * (1.F - to_y) + bottom * to_y, {0, 0, 0, 0},
                             tensor({-1, static_cast<int32_t>(height), static_cast<int32_t>(width), -1}));
  return cast(in_range(whole, kBytes, options_.value_range), images.dtype());
}

}  // namespace panto
