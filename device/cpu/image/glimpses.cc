// Kernels of glimpses (tensorflow/core/kernels/image/attention_ops.cc, tsl/framework/convolution/eigen_attention.h).
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/glimpses.h"
#include "panto/lib/base/text/format.h"

namespace panto {
namespace {

using philox::Stream;

void fill_uniform(const float* image, int64_t pixels, const Stream& stream, int64_t first, float* out, int64_t count) {
  const auto [least, most] = std::minmax_element(image, image + pixels);
  for (int64_t i = 0; i < count; ++i) out[i] = *least + uniform_at(stream, first + i) * (*most - *least);
}

void fill_gaussian(const float* image, const Glimpses::Size& size, const Stream& stream, int64_t first, float* out,
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

int64_t first_pixel(const Glimpses& g, float offset, int64_t side, int64_t window) {
  const float place = g.place(offset, side, window);
  if (std::isnan(place)) invalid("offsets: expected numbers, got NaN");
  return Glimpses::pixel(place);
}

template <int kVersion>
void extract(KernelContext& c) {
  if (c.out_numel(0) == 0) return;
  const Glimpses g(c, kVersion);
  const auto &from = g.from, &to = g.to;
  const auto *images = c.data<float>(0), *offsets = c.data<float>(2);
  float* out = c.out_data<float>(0);
  const Stream stream = g.noise == Glimpses::Noise::kZero ? Stream() : noise_stream(c);
  cpu::parallel_ranges(
      c.shape(0).dim(0), c.out_numel(0) * 32,
      [&](int64_t begin, int64_t end) {
        for (int64_t n = begin; n < end; ++n) {
          const int64_t top = first_pixel(g, offsets[2 * n], from.height, to.height),
                        left = first_pixel(g, offsets[2 * n + 1], from.width, to.width);
          const float* image = images + n * from.numel();
          float* glimpse = out + n * to.numel();
          if (top < 0 || left < 0 || top > from.height - to.height || left > from.width - to.width) {
            if (g.noise == Glimpses::Noise::kZero) {
              std::fill_n(glimpse, to.numel(), 0.F);
            } else if (g.noise == Glimpses::Noise::kUniform) {
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
