// Kernels of glimpses (tensorflow/core/kernels/image/attention_ops.cc, tsl/framework/convolution/eigen_attention.h).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/philox_blocks.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/random/random.h"

namespace panto {
namespace {

using philox::Stream;

struct Images {
  int64_t height, width, channels;
  int64_t numel() const { return height * width * channels; }
};

// Returns the window's first pixel for an offset along a side of an image.
template <int kVersion>
int64_t first_pixel(const KernelContext& c, float offset, int64_t side, int64_t window) {
  const bool normalized = c.flag("normalized"), centered = c.flag("centered");
  const auto all = static_cast<float>(side), seen = static_cast<float>(window);
  float at = normalized ? offset * all : offset;
  if constexpr (kVersion == 1) {
    if (centered) at = at / 2 + all / 2;
    at -= seen / 2;
  } else if (centered) {
    at = normalized ? at / 2 + all / 2 - seen / 2 : at + all / 2;
  }
  if (std::isnan(at)) invalid("offsets: expected numbers, got NaN");
  constexpr float kFar = 0x1p62F;  // larger than any image
  return static_cast<int64_t>(std::clamp(at, -kFar, kFar));
}

// Element i of a stream of uniform or of normal numbers.
float uniform_at(const Stream& stream, int64_t i) {
  return philox::uniform_float(stream.block(static_cast<uint64_t>(i) / 4).w[i % 4]);
}
float normal_at(const Stream& stream, int64_t i) {
  float block[4];
  philox::NormalBlock<float>{}(stream.block(static_cast<uint64_t>(i) / 4), block);
  return block[i % 4];
}

void fill_uniform(const float* image, int64_t pixels, const Stream& stream, int64_t first, float* out, int64_t count) {
  const auto [least, most] = std::minmax_element(image, image + pixels);
  for (int64_t i = 0; i < count; ++i) out[i] = *least + uniform_at(stream, first + i) * (*most - *least);
}

void fill_gaussian(const float* image, const Images& size, const Stream& stream, int64_t first, float* out,
                   int64_t count) {
  const int64_t pixels = size.height * size.width;
  for (int64_t k = 0; k < size.channels; ++k) {
    double sum = 0, squares = 0;
    float least = image[k], most = image[k];
    for (int64_t i = k; i < pixels * size.channels; i += size.channels) {
      sum += image[i];
      least = std::min(least, image[i]);
      most = std::max(most, image[i]);
    }
    const double mean = sum / static_cast<double>(pixels);
    for (int64_t i = k; i < pixels * size.channels; i += size.channels)
      squares += (image[i] - mean) * (image[i] - mean);
    const auto middle = static_cast<float>(mean),
               deviation = static_cast<float>(std::sqrt(squares / static_cast<double>(pixels)));
    for (int64_t i = k; i < count; i += size.channels) {
      out[i] = std::max(std::min(middle + normal_at(stream, first + i) * deviation, most), least);
    }
  }
}

template <int kVersion>
void extract(KernelContext& c) {
  if (c.out_numel(0) == 0) return;
  const Shape &in = c.shape(0), &window = c.out_shape(0);
  const Images from{in.dim(1), in.dim(2), in.dim(3)}, to{window.dim(1), window.dim(2), in.dim(3)};
  const std::string_view noise = c.text("noise");
  const bool uniform = noise.empty() ? c.flag("uniform_noise") : noise == "uniform", zero = noise == "zero";
  const auto *images = c.data<float>(0), *offsets = c.data<float>(2);
  float* out = c.out_data<float>(0);
  Stream stream;
  if (!zero) {
    const detail::RandomStart start = detail::take_random(c.step(), static_cast<uint64_t>(c.out_numel(0)));
    stream = {start.key, start.low, start.high};
  }
  cpu::parallel_ranges(
      in.dim(0), c.out_numel(0) * 32,
      [&](int64_t begin, int64_t end) {
        for (int64_t n = begin; n < end; ++n) {
          const int64_t top = first_pixel<kVersion>(c, offsets[2 * n], from.height, to.height),
                        left = first_pixel<kVersion>(c, offsets[2 * n + 1], from.width, to.width);
          const float* image = images + n * from.numel();
          float* glimpse = out + n * to.numel();
          if (top < 0 || left < 0 || top > from.height - to.height || left > from.width - to.width) {
            if (zero) {
              std::fill_n(glimpse, to.numel(), 0.F);
            } else if (uniform) {
              fill_uniform(image, from.numel(), stream, n * to.numel(), glimpse, to.numel());
            } else {
              fill_gaussian(image, from, stream, n * to.numel(), glimpse, to.numel());
            }
          }
          const int64_t skipped = std::max<int64_t>(0, -left), last = std::min(to.width, from.width - left);
          if (skipped >= last) continue;
          for (int64_t y = std::max<int64_t>(0, -top); y < to.height && top + y < from.height; ++y) {
            const float* row = image + ((top + y) * from.width + left + skipped) * from.channels;
            std::copy_n(row, (last - skipped) * from.channels, glimpse + (y * to.width + skipped) * from.channels);
          }
        }
      },
      1);
}

const CpuKernel v1_kernel("ExtractGlimpse", extract<1>);
const CpuKernel v2_kernel("ExtractGlimpseV2", extract<2>);

}  // namespace
}  // namespace panto
