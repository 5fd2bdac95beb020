// Maps the pixels of a resized image to places in the original, with TensorFlow's float32 arithmetic.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "panto/device/math/rounded.h"
#include "panto/lib/core/call/call.h"

namespace panto::cpu {

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

  float place(int64_t i) const {
    const auto x = static_cast<float>(i);
    return half_pixel ? rounded((x + 0.5F) * scale) - 0.5F : x * scale;
  }
  int64_t inside(int64_t i) const { return std::clamp<int64_t>(i, 0, from - 1); }
};

// Two neighbours, and the fraction of the way from the lower to the upper one.
struct Between {
  int64_t lower, upper;
  float way;
};
inline std::vector<Between> bilinear_places(const ResizeAxis& a) {
  std::vector<Between> places;
  places.reserve(static_cast<size_t>(a.to));
  for (int64_t i = 0; i < a.to; ++i) {
    const float at = a.place(i), low = std::floor(at);
    places.push_back({a.inside(static_cast<int64_t>(low)), a.inside(static_cast<int64_t>(std::ceil(at))), at - low});
  }
  return places;
}

inline std::vector<int64_t> nearest_places(const ResizeAxis& a, bool align_corners) {
  std::vector<int64_t> places;
  places.reserve(static_cast<size_t>(a.to));
  for (int64_t i = 0; i < a.to; ++i) {
    const float at = (static_cast<float>(i) + (a.half_pixel ? 0.5F : 0.F)) * a.scale;
    places.push_back(a.inside(static_cast<int64_t>(align_corners ? std::round(at) : std::floor(at))));
  }
  return places;
}

// Four neighbours with their weights, from a table of 1024 steps.
struct Cubic {
  int64_t index[4];
  float weight[4];
};
std::vector<Cubic> bicubic_places(const ResizeAxis& a);

// The original pixels that one resized pixel covers, and how much of each.
struct Cover {
  std::vector<int64_t> index;
  std::vector<float> weight;
};
std::vector<Cover> area_places(const ResizeAxis& a);

// Sizes of a call: the original is [images, height.from, width.from, channels]; the resized image has `.to` instead.
struct Resize {
  int64_t images, channels;
  ResizeAxis height, width;

  Resize(const CallView& c, const Shape& original, const Shape& resized, bool has_centers = true)
      : images(original.dim(0)),
        channels(original.dim(3)),
        height(original.dim(1), resized.dim(1), c.flag("align_corners"), has_centers && c.flag("half_pixel_centers")),
        width(original.dim(2), resized.dim(2), c.flag("align_corners"), has_centers && c.flag("half_pixel_centers")) {}
  int64_t original(int64_t n, int64_t y, int64_t x) const {
    return ((n * height.from + y) * width.from + x) * channels;
  }
  int64_t resized(int64_t n, int64_t y, int64_t x) const { return ((n * height.to + y) * width.to + x) * channels; }
};

}  // namespace panto::cpu
