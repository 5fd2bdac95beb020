#include "panto/nn/layers/image/geometry.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/random/random.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/layers/image/blur.h"
#include "panto/ops/array.h"
#include "panto/ops/image.h"
#include "panto/ops/linalg.h"
#include "panto/ops/math.h"

namespace panto {

using detail::chosen_each, detail::column, detail::drawn_each, detail::known_size;

namespace {

std::string upper(std::string_view text) {
  std::string all(text);
  std::ranges::transform(all, all.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return all;
}

void expect_interpolation(std::string_view layer, const std::string& name) {
  if (name != "bilinear" && name != "nearest") {
    invalid("{}: expected interpolation \"bilinear\" or \"nearest\", got \"{}\"", layer, printable(name));
  }
}

ImageWarpOptions checked_options(std::string_view layer, ImageWarpOptions options) {
  expect_interpolation(layer, options.interpolation);
  const std::string& mode = options.fill_mode;
  if (mode != "reflect" && mode != "wrap" && mode != "nearest" && mode != "constant") {
    invalid("{}: expected fill_mode \"reflect\", \"wrap\", \"nearest\" or \"constant\", got \"{}\"", layer,
            printable(mode));
  }
  return options;
}

// Samples the output's pixels from the images, by projective transforms: `rows` are the op's numbers a0, a1, a2, b0,
// b1, b2, c0, c1, [batch] each.
Tensor warped(const Tensor& images, const std::vector<Tensor>& rows, const ImageWarpOptions& options) {
  std::vector<Tensor> all;
  for (const Tensor& row : rows) all.push_back(cast(row, kFloat32));
  while (all.size() < 8) all.push_back(zeros_like(all[0]));
  const PartialShape& known = images.partial_shape();
  const Tensor size = known.dim(1) >= 0 && known.dim(2) >= 0
                          ? tensor({static_cast<int32_t>(known.dim(1)), static_cast<int32_t>(known.dim(2))})
                          : slice(shape(images), {1}, {2});
  return image_projective_transform(images, stack(all, 1), size, static_cast<float>(options.fill_value),
                                    upper(options.interpolation), {.fill_mode = upper(options.fill_mode)});
}

// Height - 1 and width - 1, as float32.
std::pair<Tensor, Tensor> last_places(const Tensor& images) {
  const Tensor sizes = cast(shape(images), kFloat32);
  return {sizes[1] - 1.0F, sizes[2] - 1.0F};
}

std::string text(FactorRange range) { return fmt::format("[{}, {}]", range.low, range.high); }

}  // namespace

// ---- RandomFlip -----------------------------------------------------------------------------------------------------

RandomFlip::RandomFlip(std::string mode) : mode_(std::move(mode)) {
  if (mode_ != "horizontal" && mode_ != "vertical" && mode_ != "horizontal_and_vertical") {
    invalid("RandomFlip: expected \"horizontal\", \"vertical\" or \"horizontal_and_vertical\", got \"{}\"",
            printable(mode_));
  }
}
Tensor RandomFlip::transform(const Tensor& images, const Tensor& flips) const {
  const std::vector<int64_t> axes = mode_ == "horizontal" ? std::vector<int64_t>{2}
                                    : mode_ == "vertical" ? std::vector<int64_t>{1}
                                                          : std::vector<int64_t>{1, 2};
  return where(column(flips), flip(images, axes), images);
}
Tensor RandomFlip::changed(const Tensor& images) const { return transform(images, drawn_each(images, 0, 1) <= 0.5); }
std::string RandomFlip::to_string() const { return fmt::format("RandomFlip({})", mode_); }

// ---- RandomRotation -------------------------------------------------------------------------------------------------

RandomRotation::RandomRotation(FactorRange factor, ImageWarpOptions options)
    : factor_(detail::checked_factor("RandomRotation", factor, -1, 1)),
      options_(checked_options("RandomRotation", std::move(options))) {}
Tensor RandomRotation::transform(const Tensor& images, const Tensor& turns) const {
  const Tensor angle = cast(turns, kFloat32) * (2 * std::numbers::pi);
  const Tensor c = cos(angle), s = sin(angle);
  const auto [height, width] = last_places(images);
  const Tensor x = width * 0.5F, y = height * 0.5F;
  return warped(images, {c, -s, x - x * c + y * s, s, c, y - x * s - y * c}, options_);
}
Tensor RandomRotation::changed(const Tensor& images) const {
  return transform(images, drawn_each(images, factor_.low, factor_.high));
}
std::string RandomRotation::to_string() const { return "RandomRotation(" + text(factor_) + ")"; }

// ---- RandomZoom -----------------------------------------------------------------------------------------------------

RandomZoom::RandomZoom(FactorRange factor, ImageWarpOptions options)
    : height_(detail::checked_factor("RandomZoom", factor, -1, 1)),
      options_(checked_options("RandomZoom", std::move(options))) {}
RandomZoom::RandomZoom(FactorRange height, FactorRange width, ImageWarpOptions options)
    : RandomZoom(height, std::move(options)) {
  width_ = detail::checked_factor("RandomZoom", width, -1, 1);
}
Tensor RandomZoom::transform(const Tensor& images, const Tensor& height, const Tensor& width) const {
  const Tensor h = cast(height, kFloat32), w = cast(width, kFloat32), none = zeros_like(h);
  const auto [last_row, last_column] = last_places(images);
  return warped(images, {w, none, last_column * 0.5F * (1.0F - w), none, h, last_row * 0.5F * (1.0F - h)}, options_);
}
Tensor RandomZoom::changed(const Tensor& images) const {
  const Tensor height = drawn_each(images, 1 + height_.low, 1 + height_.high);
  return transform(images, height, width_ ? drawn_each(images, 1 + width_->low, 1 + width_->high) : height);
}
std::string RandomZoom::to_string() const {
  return "RandomZoom(" + text(height_) + (width_ ? ", " + text(*width_) : "") + ")";
}

// ---- RandomTranslation ----------------------------------------------------------------------------------------------

RandomTranslation::RandomTranslation(FactorRange height, FactorRange width, ImageWarpOptions options)
    : height_(detail::checked_factor("RandomTranslation", height, -1, 1)),
      width_(detail::checked_factor("RandomTranslation", width, -1, 1)),
      options_(checked_options("RandomTranslation", std::move(options))) {}
Tensor RandomTranslation::transform(const Tensor& images, const Tensor& down, const Tensor& right) const {
  const Tensor d = cast(down, kFloat32), r = cast(right, kFloat32), one = ones_like(d), none = zeros_like(d);
  const auto [last_row, last_column] = last_places(images);
  return warped(images, {one, none, -r * (last_column + 1.0F), none, one, -d * (last_row + 1.0F)}, options_);
}
Tensor RandomTranslation::changed(const Tensor& images) const {
  const Tensor down = drawn_each(images, height_.low, height_.high);
  return transform(images, down, drawn_each(images, width_.low, width_.high));
}
std::string RandomTranslation::to_string() const {
  return "RandomTranslation(" + text(height_) + ", " + text(width_) + ")";
}

// ---- RandomShear ----------------------------------------------------------------------------------------------------

// In Keras these factors are never negative: 0.2 draws from [0, 0.2] to either side; {0.1, 0.2} is used as given.
static FactorRange one_sided(FactorRange range) { return range.low < 0 ? FactorRange(0, range.high) : range; }

RandomShear::RandomShear(FactorRange x, FactorRange y, ImageWarpOptions options)
    : x_(detail::checked_factor("RandomShear", one_sided(x), 0, 1)),
      y_(detail::checked_factor("RandomShear", one_sided(y), 0, 1)),
      options_(checked_options("RandomShear", std::move(options))) {}
Tensor RandomShear::transform(const Tensor& images, const Tensor& x, const Tensor& y) const {
  const Tensor to_x = cast(x, kFloat32), to_y = cast(y, kFloat32), one = ones_like(to_x), none = zeros_like(to_x);
  return warped(images, {one, to_x, none, to_y, one, none}, options_);
}
Tensor RandomShear::changed(const Tensor& images) const {
  const Tensor half = drawn_each(images, 0, 1);
  const Tensor side = where(half > 0.5, -ones_like(half), ones_like(half));
  const Tensor y = drawn_each(images, y_.low, y_.high);
  return transform(images, drawn_each(images, x_.low, x_.high) * side, y * side);
}
std::string RandomShear::to_string() const { return "RandomShear(" + text(x_) + ", " + text(y_) + ")"; }

// ---- RandomPerspective ----------------------------------------------------------------------------------------------

RandomPerspective::RandomPerspective(FactorRange factor, RandomPerspectiveOptions options)
    : factor_(detail::checked_factor("RandomPerspective", one_sided(factor), 0, 1)), options_(std::move(options)) {
  if (!(options_.scale >= 0 && options_.scale <= 1)) {
    invalid("RandomPerspective: expected a scale in [0, 1], got {}", options_.scale);
  }
  expect_interpolation("RandomPerspective", options_.interpolation);
}

// Solves eight linear equations for the eight numbers of the projection that maps four points to four others.
Tensor RandomPerspective::transform(const Tensor& images, const Tensor& moves) const {
  const auto [height, width] = last_places(images);
  const Tensor none = zeros_like(width);
  // x and y of the corners: [4, 2].
  const Tensor corners = reshape(stack({none, none, width, none, none, height, width, height}), {1, 4, 2});
  const Tensor ends = corners + corners * cast(moves, kFloat32);
  std::vector<Tensor> rows, wanted;
  for (int i = 0; i < 4; ++i) {
    const Tensor ex = ends(Slice(), i, 0), ey = ends(Slice(), i, 1);
    const Tensor one = ones_like(ex), zero = zeros_like(ex);
    const Tensor sx = corners(Slice(), i, 0) * one, sy = corners(Slice(), i, 1) * one;
    rows.push_back(stack({ex, ey, one, zero, zero, zero, -sx * ex, -sx * ey}, 1));
    rows.push_back(stack({zero, zero, zero, ex, ey, one, -sy * ex, -sy * ey}, 1));
    wanted.push_back(sx);
    wanted.push_back(sy);
  }
  const Tensor solved = squeeze(matrix_solve(stack(rows, 1), expand_dims(stack(wanted, 1), -1)), {.squeeze_dims = {2}});
  std::vector<Tensor> numbers;
  for (int i = 0; i < 8; ++i) numbers.push_back(solved(Slice(), i));
  return warped(images, numbers,
                {.fill_mode = "constant", .interpolation = options_.interpolation, .fill_value = options_.fill_value});
}
Tensor RandomPerspective::changed(const Tensor& images) const {
  const Tensor chosen = chosen_each(images, factor_);
  if (options_.scale == 0) return images;
  const Tensor moves = random_uniform(detail::shape_with_batch(images, {4, 2}),
                                      {.min = -0.5 * options_.scale, .max = 0.5 * options_.scale});
  return where(column(chosen), transform(images, moves), images);
}
std::string RandomPerspective::to_string() const { return "RandomPerspective(" + text(factor_) + ")"; }

// ---- RandomCrop -----------------------------------------------------------------------------------------------------

RandomCrop::RandomCrop(Extent size) : size_(size) {
  if (size[0] < 1 || size[1] < 1) {
    invalid("RandomCrop: expected a positive height and width, got {} and {}", size[0], size[1]);
  }
}
Tensor RandomCrop::transform(const Tensor& images, const Tensor& top, const Tensor& left) const {
  const auto [height, width] = known_size("RandomCrop", images);
  const int64_t rows = std::min(height, size_[0]), columns = std::min(width, size_[1]);
  const Tensor zero = tensor(0);
  Tensor cut = slice(images, stack({zero, cast(top, kInt32), cast(left, kInt32), zero}),
                     tensor({-1, static_cast<int32_t>(rows), static_cast<int32_t>(columns), -1}));
  if (rows == size_[0] && columns == size_[1]) return cut;
  const Tensor size = tensor({checked_cast<int32_t>(size_[0], "height"), checked_cast<int32_t>(size_[1], "width")});
  return cast(resize_bilinear(cut, size, {.half_pixel_centers = true}), images.dtype());
}
Tensor RandomCrop::changed(const Tensor& images) const {
  const auto [height, width] = known_size("RandomCrop", images);
  if (height > size_[0] && width > size_[1]) {
    const auto start = [](int64_t all, int64_t part) {
      return cast(random_uniform({}, {.max = static_cast<double>(all - part + 1)}), kInt32);
    };
    const Tensor top = start(height, size_[0]);
    return transform(images, top, start(width, size_[1]));
  }
  // The largest centred part with the result's aspect ratio.
  const auto fit = [](int64_t all, int64_t other, int64_t mine, int64_t others) {
    const auto part = static_cast<int64_t>(static_cast<double>(other * mine) / static_cast<double>(others));
    return (all - std::clamp(part, int64_t{1}, all)) / 2;
  };
  const int64_t top = fit(height, width, size_[0], size_[1]), left = fit(width, height, size_[1], size_[0]);
  // What reaches over the edge is cut off before the resizing, as in Keras.
  const Tensor rest = slice(images, {0, top, left, 0}, {-1, -1, -1, -1});
  return RandomCrop(size_).transform(rest, tensor(0), tensor(0));
}
std::string RandomCrop::to_string() const { return fmt::format("RandomCrop({}, {})", size_[0], size_[1]); }

// ---- RandomElasticTransform -----------------------------------------------------------------------------------------

RandomElasticTransform::RandomElasticTransform(FactorRange factor, RandomElasticTransformOptions options)
    : factor_(detail::checked_factor("RandomElasticTransform", one_sided(factor), 0, 1)), options_(std::move(options)) {
  options_.scale = detail::checked_factor("RandomElasticTransform", one_sided(options_.scale), 0, 1);
  options_.value_range = detail::checked_values("RandomElasticTransform", options_.value_range);
  expect_interpolation("RandomElasticTransform", options_.interpolation);
}

// Reflects positions outside of the image; the edge pixel is repeated.
static Tensor reflected(const Tensor& index, int64_t size) {
  const auto n = static_cast<int32_t>(size);
  const Tensor place = floor_mod(abs(index), 2 * n);
  return where(place < n, place, 2 * n - 1 - place);
}

Tensor RandomElasticTransform::transform(const Tensor& images, const Tensor& right, const Tensor& down) const {
  const auto [height, width] = known_size("RandomElasticTransform", images);
  const DType type = images.dtype();
  const Tensor xs = cast(arange(width), type), ys = reshape(cast(arange(height), type), {height, 1});
  const Tensor x = cast(right, type) + xs, y = cast(down, type) + ys;
  const auto at = [&, h = height, w = width](const Tensor& row, const Tensor& col) {
    const Tensor flat = reflected(cast(row, kInt32), h) * static_cast<int32_t>(w) + reflected(cast(col, kInt32), w);
    const Tensor pixels =
        reshape(images, stack({shape(images)[0], tensor(static_cast<int32_t>(h * w)), shape(images)[3]}));
    return gather(pixels, flat, 1, {.batch_dims = 1});
  };
  if (options_.interpolation == "nearest") return at(round(y), round(x));
  const Tensor x0 = floor(x), y0 = floor(y);
  const Tensor to_x = expand_dims(x - x0, -1), to_y = expand_dims(y - y0, -1);
  return at(y0, x0) * (1 - to_y) * (1 - to_x) + at(y0, x0 + 1) * (1 - to_y) * to_x +
         at(y0 + 1, x0) * to_y * (1 - to_x) + at(y0 + 1, x0 + 1) * to_y * to_x;
}

Tensor RandomElasticTransform::changed(const Tensor& images) const {
  if (options_.scale.high == 0 || factor_.high == 0) return images;
  const auto [height, width] = known_size("RandomElasticTransform", images);
  const Tensor chosen = chosen_each(images, factor_);
  const FactorRange& s = options_.scale;
  const Tensor scale =
      s.low < s.high ? random_uniform({}, {.min = s.low, .max = s.high}) : tensor(static_cast<float>(s.low));
  const double longer = static_cast<double>(std::max(height, width)),
               shorter = static_cast<double>(std::min(height, width));
  const Tensor alpha = scale * (0.1 * longer), sigma = scale * (0.05 * shorter);
  // Wide enough for the largest sigma.
  const int64_t window = 6 * static_cast<int64_t>(0.05 * shorter * s.high) + 1;
  const auto field = [&, h = height, w = width] {
    const Tensor noise = random_normal(detail::shape_with_batch(images, {h, w, 1})) * sigma;
    return cast(
        squeeze(detail::blurred(noise, {window, window}, sigma + 1e-6, sigma + 1e-6), {.squeeze_dims = {3}}) * alpha,
        images.dtype());
  };
  const Tensor right = field();
  return detail::clipped_to(where(column(chosen), transform(images, right, field()), images), options_.value_range);
}
std::string RandomElasticTransform::to_string() const { return "RandomElasticTransform(" + text(factor_) + ")"; }

}  // namespace panto
