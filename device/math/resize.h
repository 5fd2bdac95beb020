// Which pixels of an image make a pixel of the resized image, with TensorFlow's float32 arithmetic, on all devices.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "panto/device/math/rounded.h"
#include "panto/device/math/vocabulary.h"
#include "panto/lib/core/call/call.h"

namespace panto {

// Along height or width: `from` pixels of the original, `to` of the resized image.
struct ResizeAxis {
  int64_t from, to;
  float scale;
  bool half_pixel;

  ResizeAxis(int64_t from, int64_t to, bool align_corners, bool half_pixel)
      : from(from),
        to(to),
        // With a single pixel the corners cannot be aligned.
        scale(align_corners && to > 1 && from > 1 ? static_cast<float>(from - 1) / static_cast<float>(to - 1)
                                                  : static_cast<float>(from) / static_cast<float>(to)),
        half_pixel(half_pixel) {}

  PANTO_FN float place(int64_t i) const {
    const auto x = static_cast<float>(i);
    return half_pixel ? rounded((x + 0.5F) * scale) - 0.5F : x * scale;
  }
  PANTO_FN int64_t inside(int64_t i) const { return std::clamp<int64_t>(i, 0, from - 1); }
};

// Two neighbours, and the fraction of the way from the lower to the upper one.
struct Between {
  int64_t lower, upper;
  float way;
};
PANTO_FN Between bilinear_place(const ResizeAxis& a, int64_t i) {
  const float at = a.place(i), low = std::floor(at);
  return {a.inside(static_cast<int64_t>(low)), a.inside(static_cast<int64_t>(std::ceil(at))), at - low};
}

PANTO_FN int64_t nearest_place(const ResizeAxis& a, bool align_corners, int64_t i) {
  const float at = (static_cast<float>(i) + (a.half_pixel ? 0.5F : 0.F)) * a.scale;
  return a.inside(static_cast<int64_t>(align_corners ? std::round(at) : std::floor(at)));
}

// Four neighbours with their weights: Keys' kernel, at distances that are multiples of 1 / 1024.
struct Cubic {
  int64_t index[4];
  float weight[4];
};
// The kernel at distances step / 1024 and 1 + step / 1024. Computed in double and rounded, as in TensorFlow's table.
inline constexpr int64_t kCubicSteps = 1024;
PANTO_FN float cubic_near(double a, int64_t step) {
  const auto x = static_cast<double>(static_cast<float>(static_cast<double>(step) / kCubicSteps));
  return static_cast<float>(((a + 2) * x - (a + 3)) * x * x + 1);
}
PANTO_FN float cubic_far(double a, int64_t step) {
  const auto x = static_cast<double>(static_cast<float>(static_cast<double>(step) / kCubicSteps) + 1.F);
  return static_cast<float>(((a * x - 5 * a) * x + 8 * a) * x - 4 * a);
}
PANTO_FN Cubic bicubic_place(const ResizeAxis& axis, int64_t i) {
  const double a = axis.half_pixel ? -0.5 : -0.75;
  const float at = axis.place(i);
  const auto low = static_cast<int64_t>(std::floor(at));
  const auto step = static_cast<int64_t>(std::rint((at - static_cast<float>(low)) * static_cast<float>(kCubicSteps)));
  Cubic c{
      {},
      {cubic_far(a, step), cubic_near(a, step), cubic_near(a, kCubicSteps - step), cubic_far(a, kCubicSteps - step)}};
  float sum = 0;
  for (int64_t k = 0; k < 4; ++k) {
    c.index[k] = axis.inside(low - 1 + k);
    if (axis.half_pixel && c.index[k] != low - 1 + k) c.weight[k] = 0;
    sum += c.weight[k];
  }
  if (axis.half_pixel && std::abs(sum) >= 1000 * std::numeric_limits<float>::min()) {
    const float factor = 1 / sum;
    for (float& w : c.weight) w *= factor;
  }
  return c;
}

// The original pixels [first, last) that a resized pixel covers, some of which may be outside the image.
struct AreaSpan {
  int64_t first, last;
  float begin, end, scale;
  // How much of pixel k is covered.
  PANTO_FN float share(int64_t k) const {
    const auto at = static_cast<float>(k);
    return at < begin ? (at + 1 > end ? scale : at + 1 - begin) : (at + 1 > end ? end - at : 1.F);
  }
};
PANTO_FN AreaSpan area_span(const ResizeAxis& a, int64_t i) {
  const float begin = static_cast<float>(i) * a.scale, end = static_cast<float>(i + 1) * a.scale;
  return {static_cast<int64_t>(std::floor(begin)), static_cast<int64_t>(std::ceil(end)), begin, end, a.scale};
}

// Sizes of a call: the original is [images, height.from, width.from, channels]; the resized image has `.to` instead.
struct Resize {
  int64_t images, channels;
  ResizeAxis height, width;

  Resize(const CallView& c, const Shape& original, const Shape& resized, bool has_centers = true)
      : images(original.dim(0)),
        channels(original.dim(3)),
        height(original.dim(1), resized.dim(1), c.flag("align_corners"), has_centers && c.flag("half_pixel_centers")),
        width(original.dim(2), resized.dim(2), c.flag("align_corners"), has_centers && c.flag("half_pixel_centers")) {}
  PANTO_FN int64_t original(int64_t n, int64_t y, int64_t x) const {
    return ((n * height.from + y) * width.from + x) * channels;
  }
  PANTO_FN int64_t resized(int64_t n, int64_t y, int64_t x) const {
    return ((n * height.to + y) * width.to + x) * channels;
  }
};

}  // namespace panto
