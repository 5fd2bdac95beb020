// Kernels that draw boxes on images, and of projective transforms of images.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/convert.h"
#include "panto/device/op_kernels.h"
#include "panto/device/projection.h"
#include "panto/lib/ops/image_types.h"

namespace panto {
namespace {

// ---- Boxes ----------------------------------------------------------------------------------------------------------

using Colour = std::array<float, 4>;

// Yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia.
const std::vector<Colour> kColours = {{1, 1, 0, 1},       {0, 0, 1, 1},       {1, 0, 0, 1},    {0, 1, 0, 1},
                                      {0.5F, 0, 0.5F, 1}, {0.5F, 0.5F, 0, 1}, {0.5F, 0, 0, 1}, {0, 0, 0.5F, 1},
                                      {0, 1, 1, 1},       {1, 0, 1, 1}};

std::vector<Colour> colours_of(const KernelContext& c, int64_t channels) {
  std::vector<Colour> colours = kColours;
  const bool given = c.num_inputs() == 3 && c.numel(2) > 0;
  if (given) {
    const int64_t numbers = c.shape(2).dim(1);
    colours.assign(static_cast<size_t>(c.shape(2).dim(0)), Colour{});
    const auto* from = c.data<float>(2);
    for (Colour& colour : colours) {
      std::copy_n(from, std::min<int64_t>(numbers, 4), colour.begin());
      from += numbers;
    }
  }
  if (channels == 1 && !given) {
    for (Colour& colour : colours) colour[0] = 1;
  }
  return colours;
}

// Returns the row or column of a box's edge; it may be outside the image.
int64_t line_at(float place, int64_t size) {
  const float at = place * static_cast<float>(size - 1);
  constexpr float kFar = 1e15F;
  return static_cast<int64_t>(std::isnan(at) ? -kFar : std::clamp(at, -kFar, kFar));
}

struct DrawKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Shape& shape = c.shape(0);
    const int64_t height = shape.dim(1), width = shape.dim(2), channels = shape.dim(3), boxes = c.shape(1).dim(1);
    T* out = c.out_data<T>(0);
    if (c.numel(0) == 0) return;
    std::copy_n(c.data<T>(0), c.numel(0), out);
    const std::vector<Colour> colours = colours_of(c, channels);
    const auto* box = c.data<float>(1);
    for (int64_t image = 0; image < shape.dim(0); ++image, out += height * width * channels) {
      for (int64_t b = 0; b < boxes; ++b, box += 4) {
        const Colour& colour = colours[static_cast<size_t>(b) % colours.size()];
        const int64_t top = line_at(box[0], height), left = line_at(box[1], width), bottom = line_at(box[2], height),
                      right = line_at(box[3], width);
        if (top > bottom || left > right || top >= height || bottom < 0 || left >= width || right < 0) continue;
        const auto draw = [&](int64_t y, int64_t x) {
          T* to = out + (y * width + x) * channels;
          for (int64_t k = 0; k < channels; ++k) to[k] = convert<T>(colour[static_cast<size_t>(k)]);
        };
        for (int64_t x = std::max<int64_t>(left, 0); x <= std::min(right, width - 1); ++x) {
          if (top >= 0) draw(top, x);
          if (bottom < height) draw(bottom, x);
        }
        for (int64_t y = std::max<int64_t>(top, 0); y <= std::min(bottom, height - 1); ++y) {
          if (left >= 0) draw(y, left);
          if (right < width) draw(y, right);
        }
      }
    }
  }
};

// ---- Projective transforms ------------------------------------------------------------------------------------------

struct TransformKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Projection<T> p(c);
    T* out = c.out_data<T>(0);
    cpu::parallel_ranges(
        c.out_shape(0).dim(0) * p.rows, c.out_numel(0) * 32,
        [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            const int64_t image = row / p.rows;
            T* pixel = out + row * p.columns * p.channels;
            for (int64_t column = 0; column < p.columns; ++column, pixel += p.channels) {
              const auto place = p.place(image, row % p.rows, column);
              for (int64_t k = 0; k < p.channels; ++k) pixel[k] = p.value(image, place, k);
            }
          }
        },
        1);
  }
};

const CpuKernel draw_v1_kernel("DrawBoundingBoxes", types::of<"DrawBoundingBoxes">{}, DrawKernel{});
const CpuKernel draw_kernel("DrawBoundingBoxesV2", types::of<"DrawBoundingBoxesV2">{}, DrawKernel{});
const CpuKernel transform_v2_kernel("ImageProjectiveTransformV2", types::of<"ImageProjectiveTransformV2">{},
                                    TransformKernel{});
const CpuKernel transform_kernel("ImageProjectiveTransformV3", types::of<"ImageProjectiveTransformV3">{},
                                 TransformKernel{});

}  // namespace
}  // namespace panto
