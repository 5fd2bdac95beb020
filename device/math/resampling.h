// ScaleAndTranslate on all devices: resampling kernels, and the weights of the original's pixels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string_view>

#include "panto/device/math/rounded.h"
#include "panto/device/math/vocabulary.h"

namespace panto {

// A resampling kernel, and the radius beyond which it is 0.
class Bell {
 public:
  explicit Bell(std::string_view name) {
    if (name == "lanczos1") {
      *this = {Kind::kLanczos, 1};
    } else if (name == "lanczos3") {
      *this = {Kind::kLanczos, 3};
    } else if (name == "lanczos5") {
      *this = {Kind::kLanczos, 5};
    } else if (name == "gaussian") {
      *this = {Kind::kGaussian, 1.5F};
    } else if (name == "box") {
      *this = {Kind::kBox, 0.5F};
    } else if (name == "triangle") {
      *this = {Kind::kTriangle, 1};
    } else {
      *this = {name == "keyscubic" ? Kind::kKeys : Kind::kMitchell, 2};
    }
  }
  PANTO_FN float radius() const { return radius_; }
  // Returns the value at distance x >= 0.
  PANTO_FN float at(float x) const {
    switch (kind_) {
      case Kind::kLanczos: return lanczos(x, radius_);
      case Kind::kGaussian: {
        const float sigma = radius_ / 3;
        return x >= radius_ ? 0 : std::exp(-x * x / (2 * sigma * sigma));
      }
      case Kind::kBox: return x < radius_ ? 1 : x == radius_ ? 0.5F : 0;
      case Kind::kTriangle: return x < 1 ? 1 - x : 0;
      case Kind::kKeys: return keys(x);
      case Kind::kMitchell: return mitchell(x);
    }
    return 0;
  }

 private:
  enum class Kind : uint8_t { kLanczos, kGaussian, kBox, kTriangle, kKeys, kMitchell };

  Bell(Kind kind, float radius) : kind_(kind), radius_(radius) {}

  PANTO_FN static float lanczos(float x, float radius) {
    constexpr float kPi = std::numbers::pi_v<float>, kAtOne = 1e-3F;
    if (x > radius) return 0;
    if (x <= kAtOne) return 1;
    return radius * std::sin(kPi * x) * std::sin(kPi * x / radius) / (kPi * kPi * x * x);
  }
  // Keys (1981).
  PANTO_FN static float keys(float x) {
    if (x >= 2) return 0;
    return x >= 1 ? ((-0.5F * x + 2.5F) * x - 4) * x + 2 : ((1.5F * x - 2.5F) * x) * x + 1;
  }
  // Mitchell and Netravali (1988).
  PANTO_FN static float mitchell(float x) {
    if (x >= 2) return 0;
    return x >= 1 ? (((-7.0F / 18) * x + 2) * x - 10.0F / 3) * x + 16.0F / 9
                  : (((7.0F / 6) * x - 2) * x) * x + 8.0F / 9;
  }

  Kind kind_;
  float radius_;
};

// Along the height or the width of an image of `from` pixels.
struct Resampling {
  Bell bell;
  int64_t from;
  float inverse, offset, width;

  PANTO_FN Resampling(const Bell& bell, int64_t from, float scale, float translation, bool antialias)
      : bell(bell),
        from(from),
        inverse(1 / scale),
        offset(-inverse * translation),
        width(antialias ? std::max(inverse, 1.0F) : 1.0F) {}

  // The pixels [first, last] of the original that a pixel of the result uses; none if it is outside.
  struct Span {
    int64_t first, last;
    float at, sum;  // the place; the sum of the weights before they are divided by it

    PANTO_FN int64_t count() const { return last - first + 1; }
  };
  PANTO_FN Span span(int64_t i) const {
    const float at = rounded((static_cast<float>(i) + 0.5F) * inverse) + offset;
    // NaN counts as outside.
    if (!(at >= 0 && at <= static_cast<float>(from))) return {0, -1, at, 0};
    const float reach = rounded(bell.radius() * width);
    Span s{inside(std::ceil(at - reach - 0.5F)), inside(std::floor(at + reach - 0.5F)), at, 0};
    for (int64_t k = s.first; k <= s.last; ++k) s.sum += raw(s, k);
    return s;
  }
  // Returns the weight of pixel k of the span.
  PANTO_FN float weight(const Span& s, int64_t k) const {
    return std::abs(s.sum) >= 1000 * std::numeric_limits<float>::min() ? raw(s, k) / s.sum : 0;
  }

 private:
  PANTO_FN float raw(const Span& s, int64_t k) const {
    return bell.at(std::abs((static_cast<float>(k) + 0.5F - s.at) / width));
  }
  // The last min is needed because float32 may round up by one.
  PANTO_FN int64_t inside(float place) const {
    const float kept = std::min(std::max(place, 0.0F), static_cast<float>(from - 1));
    return std::min(static_cast<int64_t>(kept), from - 1);
  }
};

}  // namespace panto
