// Kernels of CropAndResize and its gradients.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/rounded.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/image_types.h"

namespace panto {
namespace {

// Maps pixels of a crop to places along one dimension of an image.
struct Along {
  int64_t from;  // the image's rows or columns
  int64_t to;    // of the crop
  float begin, end;

  float last() const { return static_cast<float>(from - 1); }
  float ratio() const { return to > 1 ? last() / static_cast<float>(to - 1) : 0; }
  float place(int64_t i) const {
    if (to <= 1) return 0.5F * (begin + end) * last();
    const float scale = (end - begin) * last() / static_cast<float>(to - 1);
    return rounded(begin * last()) + rounded(static_cast<float>(i) * scale);
  }
  // NaN counts as outside.
  bool has(float place) const { return place >= 0 && place <= last(); }
  // The clamp is needed because float32 may round up by one.
  int64_t inside(float whole) const { return std::min(static_cast<int64_t>(whole), from - 1); }
  // Derivatives of place(i) with respect to `begin` and `end`.
  float by_begin(int64_t i) const { return to > 1 ? last() - static_cast<float>(i) * ratio() : 0.5F * last(); }
  float by_end(int64_t i) const { return to > 1 ? static_cast<float>(i) * ratio() : 0.5F * last(); }
};

// The two rows or columns around a place, and the fraction from the lower to the upper one.
struct Between {
  int64_t lower, upper;
  float way;
  Between(const Along& a, float place)
      : lower(a.inside(std::floor(place))), upper(a.inside(std::ceil(place))), way(place - std::floor(place)) {}
};

struct Crops {
  int64_t images, height, width, channels, boxes, crop_height, crop_width;
  const float* corners;
  const int32_t* numbers;

  // `image` and `crops`: shapes; `first`: the input with the boxes.
  Crops(const KernelContext& c, const Shape& image, const Shape& crops, int first)
      : images(image.dim(0)),
        height(image.dim(1)),
        width(image.dim(2)),
        channels(image.dim(3)),
        boxes(crops.dim(0)),
        crop_height(crops.dim(1)),
        crop_width(crops.dim(2)),
        corners(c.data<float>(first)),
        numbers(c.data<int32_t>(first + 1)) {
    for (int64_t b = 0; b < boxes; ++b) {
      if (numbers[b] < 0 || numbers[b] >= images) {
        failf(Code::kOutOfRange, "box_ind[{}]: expected at least 0 and less than the number of images {}, got {}", b,
              images, numbers[b]);
      }
    }
  }

  Along rows(int64_t box) const { return along(height, crop_height, box, 0); }
  Along columns(int64_t box) const { return along(width, crop_width, box, 1); }
  int64_t image_at(int64_t box) const { return numbers[box] * height * width * channels; }
  int64_t pixel(int64_t y, int64_t x) const { return (y * width + x) * channels; }
  int64_t crop_at(int64_t box, int64_t y, int64_t x) const {
    return ((box * crop_height + y) * crop_width + x) * channels;
  }
  int64_t work() const { return boxes * crop_height * crop_width * channels * 32; }

 private:
  Along along(int64_t size, int64_t to, int64_t box, int first) const {
    return {size, to, corners[4 * box + first], corners[4 * box + first + 2]};
  }
};

template <class Body>
void over_boxes(const Crops& crops, const Body& body) {
  cpu::parallel_ranges(
      crops.boxes, crops.work(),
      [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) body(b);
      },
      1);
}

struct CropKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Crops crops(c, c.shape(0), c.out_shape(0), 1);
    for (int64_t i = 0; i < 4 * crops.boxes; ++i) {
      if (!std::isfinite(crops.corners[i])) {
        invalid("boxes[{}, {}]: expected a finite number, got {}", i / 4, i % 4, crops.corners[i]);
      }
    }
    if (c.out_numel(0) == 0) return;
    const T* image = c.data<T>(0);
    float* out = c.out_data<float>(0);
    const float outside = c.real("extrapolation_value");
    const bool nearest = c.text("method") == "nearest";
    const auto at = [](const T* pixel, int64_t k) { return convert<float>(pixel[k]); };
    over_boxes(crops, [&](int64_t b) {
      const Along rows = crops.rows(b), columns = crops.columns(b);
      const T* from = image + crops.image_at(b);
      for (int64_t y = 0; y < crops.crop_height; ++y) {
        const float in_y = rows.place(y);
        for (int64_t x = 0; x < crops.crop_width; ++x) {
          float* to = out + crops.crop_at(b, y, x);
          const float in_x = columns.place(x);
          if (!rows.has(in_y) || !columns.has(in_x)) {
            std::fill_n(to, crops.channels, outside);
          } else if (nearest) {
            const T* pixel = from + crops.pixel(rows.inside(std::round(in_y)), columns.inside(std::round(in_x)));
            for (int64_t k = 0; k < crops.channels; ++k) to[k] = at(pixel, k);
          } else {
            const Between row(rows, in_y), column(columns, in_x);
            const T *top_left = from + crops.pixel(row.lower, column.lower),
                    *top_right = from + crops.pixel(row.lower, column.upper),
                    *bottom_left = from + crops.pixel(row.upper, column.lower),
                    *bottom_right = from + crops.pixel(row.upper, column.upper);
            for (int64_t k = 0; k < crops.channels; ++k) {
              const float above = at(top_left, k) + (at(top_right, k) - at(top_left, k)) * column.way;
              const float below = at(bottom_left, k) + (at(bottom_right, k) - at(bottom_left, k)) * column.way;
              to[k] = above + (below - above) * row.way;
            }
          }
        }
      }
    });
  }
};

// Several boxes may add to one image, so threads share out the channels and each handles the boxes in order.
struct GradImageKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Crops crops(c, c.out_shape(0), c.shape(0), 1);
    T* out = c.out_data<T>(0);
    std::fill_n(out, c.out_numel(0), T{});
    if (c.numel(0) == 0) return;
    const auto* dy = c.data<float>(0);
    const bool nearest = c.text("method") == "nearest";
    cpu::parallel_ranges(crops.channels, crops.work(), [&](int64_t begin, int64_t end) {
      for (int64_t b = 0; b < crops.boxes; ++b) {
        const Along rows = crops.rows(b), columns = crops.columns(b);
        T* image = out + crops.image_at(b);
        for (int64_t y = 0; y < crops.crop_height; ++y) {
          const float in_y = rows.place(y);
          if (!rows.has(in_y)) continue;
          for (int64_t x = 0; x < crops.crop_width; ++x) {
            const float in_x = columns.place(x);
            if (!columns.has(in_x)) continue;
            const float* from = dy + crops.crop_at(b, y, x);
            const auto add = [&](int64_t row, int64_t column, float weight) {
              T* to = image + crops.pixel(row, column);
              for (int64_t k = begin; k < end; ++k) to[k] += static_cast<T>(from[k] * weight);
            };
            if (nearest) {
              add(rows.inside(std::round(in_y)), columns.inside(std::round(in_x)), 1);
              continue;
            }
            const Between row(rows, in_y), column(columns, in_x);
            add(row.lower, column.lower, (1 - row.way) * (1 - column.way));
            add(row.lower, column.upper, (1 - row.way) * column.way);
            add(row.upper, column.lower, row.way * (1 - column.way));
            add(row.upper, column.upper, row.way * column.way);
          }
        }
      }
    });
  }
};

struct GradBoxesKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Crops crops(c, c.shape(1), c.shape(0), 2);
    const auto* dy = c.data<float>(0);
    const T* image = c.data<T>(1);
    float* out = c.out_data<float>(0);
    const auto at = [](const T* pixel, int64_t k) { return convert<float>(pixel[k]); };
    over_boxes(crops, [&](int64_t b) {
      const Along rows = crops.rows(b), columns = crops.columns(b);
      const T* from = image + crops.image_at(b);
      float sums[4] = {};
      for (int64_t y = 0; y < crops.crop_height; ++y) {
        const float in_y = rows.place(y);
        if (!rows.has(in_y)) continue;
        for (int64_t x = 0; x < crops.crop_width; ++x) {
          const float in_x = columns.place(x);
          if (!columns.has(in_x)) continue;
          const Between row(rows, in_y), column(columns, in_x);
          const T *top_left = from + crops.pixel(row.lower, column.lower),
                  *top_right = from + crops.pixel(row.lower, column.upper),
                  *bottom_left = from + crops.pixel(row.upper, column.lower),
                  *bottom_right = from + crops.pixel(row.upper, column.upper);
          const float* grads = dy + crops.crop_at(b, y, x);
          float by_y = 0, by_x = 0;
          for (int64_t k = 0; k < crops.channels; ++k) {
            by_y += grads[k] * ((1 - column.way) * (at(bottom_left, k) - at(top_left, k)) +
                                column.way * (at(bottom_right, k) - at(top_right, k)));
            by_x += grads[k] * ((1 - row.way) * (at(top_right, k) - at(top_left, k)) +
                                row.way * (at(bottom_right, k) - at(bottom_left, k)));
          }
          sums[0] += by_y * rows.by_begin(y);
          sums[1] += by_x * columns.by_begin(x);
          sums[2] += by_y * rows.by_end(y);
          sums[3] += by_x * columns.by_end(x);
        }
      }
      std::copy_n(sums, 4, out + 4 * b);
    });
  }
};

const CpuKernel crop_kernel("CropAndResize", types::of<"CropAndResize">{}, CropKernel{});
const CpuKernel grad_image_kernel("CropAndResizeGradImage", types::of<"CropAndResizeGradImage">{},
                                  InWider<GradImageKernel>{});
const CpuKernel grad_boxes_kernel("CropAndResizeGradBoxes", types::of<"CropAndResizeGradBoxes">{}, GradBoxesKernel{});

}  // namespace
}  // namespace panto
