// ExtractGlimpse on all devices: where glimpses begin, and the noise outside images.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "panto/device/math/random/philox_blocks.h"
#include "panto/device/math/vocabulary.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/random/random.h"

namespace panto {

// The sizes and attributes of a call of version 1 or 2.
struct Glimpses {
  struct Size {
    int64_t height, width, channels;
    PANTO_FN int64_t numel() const { return height * width * channels; }
  };
  enum class Noise : uint8_t { kUniform, kGaussian, kZero };

  int version;
  bool normalized, centered;
  Size from, to;  // an image, and a glimpse
  Noise noise;

  Glimpses(const KernelContext& c, int version)
      : version(version),
        normalized(c.flag("normalized")),
        centered(c.flag("centered")),
        from{c.shape(0).dim(1), c.shape(0).dim(2), c.shape(0).dim(3)},
        to{c.out_shape(0).dim(1), c.out_shape(0).dim(2), c.shape(0).dim(3)},
        noise(noise_named(c.text("noise"), c.flag("uniform_noise"))) {}

  // Returns the first pixel of a glimpse of `window` pixels along a side of an image, for an offset. NaN if the offset
  // is.
  PANTO_FN float place(float offset, int64_t side, int64_t window) const {
    const auto all = static_cast<float>(side), seen = static_cast<float>(window);
    float at = normalized ? offset * all : offset;
    if (version == 1) {
      if (centered) at = at / 2 + all / 2;
      at -= seen / 2;
    } else if (centered) {
      at = normalized ? at / 2 + all / 2 - seen / 2 : at + all / 2;
    }
    return at;
  }
  // Returns the pixel at a place, which is not NaN.
  PANTO_FN static int64_t pixel(float place) {
    constexpr float kFar = 0x1p62F;  // larger than any image
    return static_cast<int64_t>(std::min(std::max(place, -kFar), kFar));
  }

 private:
  static Noise noise_named(std::string_view name, bool uniform) {
    if (name == "zero") return Noise::kZero;
    return (name.empty() ? uniform : name == "uniform") ? Noise::kUniform : Noise::kGaussian;
  }
};

// Element i of a stream of uniform or of normal numbers.
PANTO_FN float uniform_at(const philox::Stream& stream, int64_t i) {
  return philox::uniform_float(stream.block(static_cast<uint64_t>(i) / 4).w[i % 4]);
}
PANTO_FN float normal_at(const philox::Stream& stream, int64_t i) {
  float block[4];
  philox::NormalBlock<float>{}(stream.block(static_cast<uint64_t>(i) / 4), block);
  return block[i % 4];
}

// Returns the stream for the noise of a call, which has as many numbers as the result.
inline philox::Stream noise_stream(const KernelContext& c) {
  const detail::RandomStart start = detail::take_random(c.step(), static_cast<uint64_t>(c.out_numel(0)));
  return {start.key, start.low, start.high};
}

}  // namespace panto
