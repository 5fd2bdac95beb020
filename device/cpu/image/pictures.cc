// Kernels that draw boxes on images, and of projective transforms of images.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/rounded.h"
#include "panto/device/op_kernels.h"
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

enum class Outside { kConstant, kReflect, kWrap, kNearest };

// Places beyond this are not mapped but clamped: such floats have no fraction and may not fit into an integer.
constexpr float kFarthest = 1e9F;

// Brings a place along a dimension of `size` pixels inside. NaN stays outside; kConstant changes nothing.
float inside(float at, int64_t size, Outside outside) {
  if (outside == Outside::kConstant || !(std::abs(at) <= kFarthest)) {
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

struct TransformKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Shape &from = c.shape(0), &to = c.out_shape(0);
    const int64_t height = from.dim(1), width = from.dim(2), channels = from.dim(3), rows = to.dim(1),
                  columns = to.dim(2);
    if (c.out_numel(0) == 0) return;
    const bool nearest = c.text("interpolation") == "NEAREST";
    const std::string_view mode = c.text("fill_mode");
    const Outside outside = mode == "REFLECT"   ? Outside::kReflect
                            : mode == "WRAP"    ? Outside::kWrap
                            : mode == "NEAREST" ? Outside::kNearest
                                                : Outside::kConstant;
    const T fill = convert<T>(c.num_inputs() == 4 ? *c.data<float>(3) : 0.0F);
    const auto* transforms = c.data<float>(1);
    const bool one = c.shape(1).dim(0) == 1;
    const T* images = c.data<T>(0);
    T* out = c.out_data<T>(0);
    cpu::parallel_ranges(
        to.dim(0) * rows, c.out_numel(0) * 32,
        [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            const int64_t image = row / rows;
            const auto y = static_cast<float>(row % rows);
            const float* t = transforms + (one ? 0 : 8 * image);
            const T* pixels = images + image * height * width * channels;
            T* pixel = out + row * columns * channels;
            // Returns channel k of the pixel at a place, or `fill` outside.
            const auto at = [&](float py, float px, int64_t k) {
              const bool there =
                  py >= 0 && px >= 0 && py < static_cast<float>(height) && px < static_cast<float>(width);
              if (!there) return fill;
              return pixels[(static_cast<int64_t>(py) * width + static_cast<int64_t>(px)) * channels + k];
            };
            for (int64_t column = 0; column < columns; ++column, pixel += channels) {
              const auto x = static_cast<float>(column);
              const float way = rounded(t[6] * x) + rounded(t[7] * y) + 1;
              if (way == 0) {
                std::fill_n(pixel, channels, fill);
                continue;
              }
              const float px = inside((rounded(t[0] * x) + rounded(t[1] * y) + t[2]) / way, width, outside);
              const float py = inside((rounded(t[3] * x) + rounded(t[4] * y) + t[5]) / way, height, outside);
              if (nearest) {
                const float near_y = std::round(py), near_x = std::round(px);
                for (int64_t k = 0; k < channels; ++k) pixel[k] = at(near_y, near_x, k);
                continue;
              }
              const float top = std::floor(py), left = std::floor(px), bottom = top + 1, right = left + 1;
              const auto number = [&](float qy, float qx, int64_t k) { return convert<float>(at(qy, qx, k)); };
              for (int64_t k = 0; k < channels; ++k) {
                const float above = (right - px) * number(top, left, k) + (px - left) * number(top, right, k);
                const float below = (right - px) * number(bottom, left, k) + (px - left) * number(bottom, right, k);
                const float value = (bottom - py) * above + (py - top) * below;
                pixel[k] = std::isnan(value) && std::is_integral_v<T> ? fill : convert<T>(value);
              }
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
