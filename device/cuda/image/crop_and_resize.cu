// Kernels of CropAndResize and its gradients.
#include "panto/device/crops.h"
#include "panto/device/cuda/array/index_list.cuh"
#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/elementwise/in_wider.cuh"
#include "panto/device/cuda/image/images.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/reduce/reduce.cuh"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/image_types.h"

namespace panto {
namespace {

using cuda::ImagePlace;

__device__ bool has_image(const Crops& crops, int64_t box) {
  return crops.numbers[box] >= 0 && crops.numbers[box] < crops.images;
}

struct CheckBox {
  Crops crops;
  bool expects_finite;
  Fault* fault;
  __device__ void operator()(int64_t b) const {
    if (!has_image(crops, b)) cuda::note(fault, Fault::kBoxOfNoImage);
    for (int k = 0; expects_finite && k < 4; ++k) {
      if (!std::isfinite(crops.corners[4 * b + k])) cuda::note(fault, Fault::kBoxNotFinite);
    }
  }
};
void check_boxes(KernelContext& c, const Crops& crops, bool expects_finite) {
  cuda::CudaDevice& device = cuda::device_of(c);
  cuda::for_each_index(device, crops.boxes, CheckBox{crops, expects_finite, device.fault()});
}

template <class T>
struct Crop {
  Crops crops;
  float outside;
  bool nearest;
  const T* images;
  float* out;
  __device__ void operator()(int64_t i) const {
    const ImagePlace p(i, crops.crop_height, crops.crop_width, crops.channels);
    const CropAxis rows = crops.rows(p.image), columns = crops.columns(p.image);
    const float y = rows.place(p.y), x = columns.place(p.x);
    if (!has_image(crops, p.image) || !rows.has(y) || !columns.has(x)) {
      out[i] = outside;
      return;
    }
    const T* from = images + crops.image_at(p.image);
    out[i] =
        nearest
            ? convert<float>(from[crops.pixel(rows.inside(std::round(y)), columns.inside(std::round(x))) + p.channel])
            : CropCorners<T>(crops, from, around(rows, y), around(columns, x)).value(p.channel);
  }
};

struct CropKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Crops crops(c, c.shape(0), c.out_shape(0), 1);
    check_boxes(c, crops, true);
    const bool nearest = c.text("method") == "nearest";
    cuda::for_each_index(cuda::device_of(c), c.out_numel(0),
                         Crop<T>{crops, c.real("extrapolation_value"), nearest, c.data<T>(0), c.out_data<float>(0)});
  }
};

// Each thread computes an element of the images: it looks at all pixels of all boxes, in order, for those that read it.
template <class T>
struct GradImage {
  Crops crops;
  bool nearest;
  const float* dy;
  T* out;

  // Places along a dimension that the pixel of a crop reads; the same one twice if it is the nearest one.
  __device__ Between reads(const CropAxis& a, float place) const {
    if (!nearest) return around(a, place);
    const int64_t at = a.inside(std::round(place));
    return {at, at, 0};
  }
  __device__ void operator()(int64_t i) const {
    const ImagePlace p(i, crops.height, crops.width, crops.channels);
    T sum{0};
    for (int64_t b = 0; b < crops.boxes; ++b) {
      if (crops.numbers[b] != p.image) continue;
      const CropAxis rows = crops.rows(b), columns = crops.columns(b);
      for (int64_t y = 0; y < crops.crop_height; ++y) {
        const float in_y = rows.place(y);
        if (!rows.has(in_y)) continue;
        const Between row = reads(rows, in_y);
        if (row.lower != p.y && row.upper != p.y) continue;
        for (int64_t x = 0; x < crops.crop_width; ++x) {
          const float in_x = columns.place(x);
          if (!columns.has(in_x)) continue;
          const Between column = reads(columns, in_x);
          const bool left = column.lower == p.x, right = column.upper == p.x;
          if (!left && !right) continue;
          const float from = dy[crops.crop_at(b, y, x) + p.channel];
          const auto add = [&](float weight) { sum += static_cast<T>(from * weight); };
          if (nearest) {
            add(1);
            continue;
          }
          if (row.lower == p.y && left) add((1 - row.way) * (1 - column.way));
          if (row.lower == p.y && right) add((1 - row.way) * column.way);
          if (row.upper == p.y && left) add(row.way * (1 - column.way));
          if (row.upper == p.y && right) add(row.way * column.way);
        }
      }
    }
    out[i] = sum;
  }
};

struct GradImageKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Crops crops(c, c.out_shape(0), c.shape(0), 1);
    check_boxes(c, crops, false);
    cuda::for_each_index(cuda::device_of(c), c.out_numel(0),
                         GradImage<T>{crops, c.text("method") == "nearest", c.data<float>(0), c.out_data<T>(0)});
  }
};

// The terms of the gradients of boxes: term (box, corner, y, x), in this order.
template <class T>
struct BoxTerms {
  Crops crops;
  const float* dy;
  const T* images;
  __device__ float operator()(int64_t i) const {
    const int64_t x = i % crops.crop_width;
    i /= crops.crop_width;
    const int64_t y = i % crops.crop_height, box = i / crops.crop_height / 4;
    const int corner = static_cast<int>(i / crops.crop_height % 4);
    const CropAxis rows = crops.rows(box), columns = crops.columns(box);
    const float in_y = rows.place(y), in_x = columns.place(x);
    if (!has_image(crops, box) || !rows.has(in_y) || !columns.has(in_x)) return 0;
    const CropCorners<T> corners(crops, images + crops.image_at(box), around(rows, in_y), around(columns, in_x));
    const float* grads = dy + crops.crop_at(box, y, x);
    const bool of_y = corner % 2 == 0;
    float sum = 0;
    for (int64_t k = 0; k < crops.channels; ++k) sum += grads[k] * (of_y ? corners.by_y(k) : corners.by_x(k));
    const CropAxis& axis = of_y ? rows : columns;
    return sum * (corner < 2 ? axis.by_begin(of_y ? y : x) : axis.by_end(of_y ? y : x));
  }
};

struct GradBoxesKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Crops crops(c, c.shape(1), c.shape(0), 2);
    check_boxes(c, crops, false);
    if (c.out_numel(0) == 0) return;
    AxisFlags inner;
    inner.set(1);
    cuda::reduce<SumOf<float>>(cuda::device_of(c),
                               ReduceShape(Shape{c.out_numel(0), crops.crop_height * crops.crop_width}, inner),
                               cuda::Computed<BoxTerms<T>>{{crops, c.data<float>(0), c.data<T>(1)}},
                               cuda::Store<SumOf<float>, float>{c.out_data<float>(0)});
  }
};

const CudaKernel crop_kernel("CropAndResize", types::of<"CropAndResize">{}, CropKernel{});
const CudaKernel grad_image_kernel("CropAndResizeGradImage", types::of<"CropAndResizeGradImage">{},
                                   CudaInWider<GradImageKernel>{});
const CudaKernel grad_boxes_kernel("CropAndResizeGradBoxes", types::of<"CropAndResizeGradBoxes">{}, GradBoxesKernel{});

}  // namespace
}  // namespace panto
