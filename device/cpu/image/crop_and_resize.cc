// Kernels of CropAndResize and its gradients.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/crops.h"
#include "panto/device/math/convert.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/image_types.h"

namespace panto {
namespace {

void expect_images(const Crops& crops) {
  for (int64_t b = 0; b < crops.boxes; ++b) {
    if (crops.numbers[b] < 0 || crops.numbers[b] >= crops.images) {
      failf(Code::kOutOfRange, "box_ind[{}]: expected at least 0 and less than the number of images {}, got {}", b,
            crops.images, crops.numbers[b]);
    }
  }
}

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
    expect_images(crops);
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
    over_boxes(crops, [&](int64_t b) {
      const CropAxis rows = crops.rows(b), columns = crops.columns(b);
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
            for (int64_t k = 0; k < crops.channels; ++k) to[k] = convert<float>(pixel[k]);
          } else {
            const CropCorners<T> corners(crops, from, around(rows, in_y), around(columns, in_x));
            for (int64_t k = 0; k < crops.channels; ++k) to[k] = corners.value(k);
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
    expect_images(crops);
    T* out = c.out_data<T>(0);
    std::fill_n(out, c.out_numel(0), T{});
    if (c.numel(0) == 0) return;
    const auto* dy = c.data<float>(0);
    const bool nearest = c.text("method") == "nearest";
    cpu::parallel_ranges(crops.channels, crops.work(), [&](int64_t begin, int64_t end) {
      for (int64_t b = 0; b < crops.boxes; ++b) {
        const CropAxis rows = crops.rows(b), columns = crops.columns(b);
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
            const Between row = around(rows, in_y), column = around(columns, in_x);
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
    expect_images(crops);
    const auto* dy = c.data<float>(0);
    const T* image = c.data<T>(1);
    float* out = c.out_data<float>(0);
    over_boxes(crops, [&](int64_t b) {
      const CropAxis rows = crops.rows(b), columns = crops.columns(b);
      const T* from = image + crops.image_at(b);
      float sums[4] = {};
      for (int64_t y = 0; y < crops.crop_height; ++y) {
        const float in_y = rows.place(y);
        if (!rows.has(in_y)) continue;
        for (int64_t x = 0; x < crops.crop_width; ++x) {
          const float in_x = columns.place(x);
          if (!columns.has(in_x)) continue;
          const CropCorners<T> corners(crops, from, around(rows, in_y), around(columns, in_x));
          const float* grads = dy + crops.crop_at(b, y, x);
          float by_y = 0, by_x = 0;
          for (int64_t k = 0; k < crops.channels; ++k) {
            by_y += grads[k] * corners.by_y(k);
            by_x += grads[k] * corners.by_x(k);
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
