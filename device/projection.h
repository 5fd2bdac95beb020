// Projective transforms of images on all devices: what is computed for one pixel.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "panto/device/math/convert.h"
#include "panto/device/math/rounded.h"
#include "panto/device/math/vocabulary.h"
#include "panto/lib/core/call/call.h"

namespace panto {

enum class Outside : uint8_t { kConstant, kReflect, kWrap, kNearest };

// Places beyond this are not mapped but clamped: such floats have no fraction and may not fit into an integer.
inline constexpr float kFarthestPlace = 1e9F;

// Brings a place along a dimension of `size` pixels inside. NaN stays outside; kConstant changes nothing.
PANTO_FN float place_inside(float at, int64_t size, Outside outside) {
  if (outside == Outside::kConstant || !(std::abs(at) <= kFarthestPlace)) {
    return outside == Outside::kConstant || std::isnan(at) ? at : std::clamp(at, 0.0F, static_cast<float>(size - 1));
  }
  const auto length = static_cast<float>(size), last = static_cast<float>(size - 1);
  if (outside == Outside::kReflect) {
    const float period = 2 * length;
    if (at < 0) {
      at += rounded(period * std::trunc(-at / period));
      at = at < -length ? at + period : -at - 1;
    } else if (at > last) {
      at -= rounded(period * std::trunc(at / period));
      if (at >= length) at = period - at - 1;
    }
    if (size <= 1) at = 0;
  } else if (outside == Outside::kWrap) {
    if (size <= 1) {
      at = 0;
    } else if (at < 0) {
      at += rounded(length * (std::trunc(-at / last) + 1));
    } else if (at > last) {
      at -= rounded(length * std::trunc(at / last));
    }
  }
  return std::clamp(at, 0.0F, last);
}

// A call of ImageProjectiveTransform, for images of type T. The fill value, if it is given, is read with the pixels.
template <class T>
struct Projection {
  int64_t height, width, channels, rows, columns;  // of the images, and of the result
  bool nearest, one;                               // one transform for all images
  Outside outside;
  const T* images;
  const float *transforms, *fill;  // `fill` may be null

  explicit Projection(const KernelContext& c)
      : height(c.shape(0).dim(1)),
        width(c.shape(0).dim(2)),
        channels(c.shape(0).dim(3)),
        rows(c.out_shape(0).dim(1)),
        columns(c.out_shape(0).dim(2)),
        nearest(c.text("interpolation") == "NEAREST"),
        one(c.shape(1).dim(0) == 1),
        outside(outside_of(c.text("fill_mode"))),
        images(c.data<T>(0)),
        transforms(c.data<float>(1)),
        fill(c.num_inputs() == 4 ? c.data<float>(3) : nullptr) {}

  // The place in the image from which a pixel of the result comes.
  struct Place {
    float y, x;
    bool exists;
  };
  PANTO_FN Place place(int64_t image, int64_t row, int64_t column) const {
    const float* t = transforms + (one ? 0 : 8 * image);
    const auto y = static_cast<float>(row), x = static_cast<float>(column);
    const float way = rounded(t[6] * x) + rounded(t[7] * y) + 1;
    if (way == 0) return {0, 0, false};
    return {place_inside((rounded(t[3] * x) + rounded(t[4] * y) + t[5]) / way, height, outside),
            place_inside((rounded(t[0] * x) + rounded(t[1] * y) + t[2]) / way, width, outside), true};
  }
  PANTO_FN T filling() const { return convert<T>(fill == nullptr ? 0.0F : *fill); }

  // Returns channel k at a place.
  PANTO_FN T value(int64_t image, const Place& p, int64_t k) const {
    if (!p.exists) return filling();
    if (nearest) return at(image, std::round(p.y), std::round(p.x), k);
    const float top = std::floor(p.y), left = std::floor(p.x), bottom = top + 1, right = left + 1;
    const auto number = [&](float y, float x) { return convert<float>(at(image, y, x, k)); };
    const float above = (right - p.x) * number(top, left) + (p.x - left) * number(top, right);
    const float below = (right - p.x) * number(bottom, left) + (p.x - left) * number(bottom, right);
    const float mixed = (bottom - p.y) * above + (p.y - top) * below;
    return std::isnan(mixed) && std::is_integral_v<T> ? filling() : convert<T>(mixed);
  }

 private:
  static Outside outside_of(std::string_view mode) {
    return mode == "REFLECT"   ? Outside::kReflect
           : mode == "WRAP"    ? Outside::kWrap
           : mode == "NEAREST" ? Outside::kNearest
                               : Outside::kConstant;
  }
  // Returns channel k of the pixel at (y, x), which are whole numbers or NaN; the fill value outside.
  PANTO_FN T at(int64_t image, float y, float x, int64_t k) const {
    const bool there = y >= 0 && x >= 0 && y < static_cast<float>(height) && x < static_cast<float>(width);
    if (!there) return filling();
    const int64_t pixel = (image * height + static_cast<int64_t>(y)) * width + static_cast<int64_t>(x);
    return images[pixel * channels + k];
  }
};

}  // namespace panto
