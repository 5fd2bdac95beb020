// Kernels of resized images and their gradients. Each thread computes one element. A gradient's element adds what comes
// from each resized pixel that reads it, in memory order.
#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/elementwise/in_wider.cuh"
#include "panto/device/cuda/image/images.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/storage.cuh"
#include "panto/device/math/convert.h"
#include "panto/device/math/resize.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/image_types.h"

namespace panto {
namespace {

using Place = cuda::ImagePlace;
__device__ Place resized_place(const Resize& r, int64_t i) { return {i, r.height.to, r.width.to, r.channels}; }
__device__ Place original_place(const Resize& r, int64_t i) { return {i, r.height.from, r.width.from, r.channels}; }

using cuda::Readers;

template <class T>
struct Bilinear {
  Resize r;
  bool same;  // sizes: then copies, which is exact for infinities too
  const T* in;
  float* out;
  __device__ void operator()(int64_t i) const {
    if (same) {
      out[i] = convert<float>(in[i]);
      return;
    }
    const Place p = resized_place(r, i);
    const Between row = bilinear_place(r.height, p.y), column = bilinear_place(r.width, p.x);
    const auto at = [&](int64_t y, int64_t x) { return convert<float>(in[r.original(p.image, y, x) + p.channel]); };
    const float top_left = at(row.lower, column.lower), bottom_left = at(row.upper, column.lower);
    const float above = top_left + (at(row.lower, column.upper) - top_left) * column.way;
    const float below = bottom_left + (at(row.upper, column.upper) - bottom_left) * column.way;
    out[i] = above + (below - above) * row.way;
  }
};

struct BilinearKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Resize r(c, c.shape(0), c.out_shape(0));
    const bool same = r.height.from == r.height.to && r.width.from == r.width.to;
    cuda::for_each_index(cuda::device_of(c), c.out_numel(0), Bilinear<T>{r, same, c.data<T>(0), c.out_data<float>(0)});
  }
};

template <class T>
struct BilinearGrad {
  Resize r;
  const float* dy;
  T* out;
  __device__ static Readers readers(const ResizeAxis& a, int64_t at) {
    return {a.to, at, [&](int64_t i) { return bilinear_place(a, i).lower; },
            [&](int64_t i) { return bilinear_place(a, i).upper; }};
  }
  __device__ void operator()(int64_t i) const {
    const Place p = original_place(r, i);
    const Readers rows = readers(r.height, p.y), columns = readers(r.width, p.x);
    T sum{0};
    for (int64_t y = rows.begin; y < rows.end; ++y) {
      const Between row = bilinear_place(r.height, y);
      const float above = 1 - row.way;
      for (int64_t x = columns.begin; x < columns.end; ++x) {
        const Between column = bilinear_place(r.width, x);
        const float from = dy[r.resized(p.image, y, x) + p.channel], before = 1 - column.way;
        const bool left = column.lower == p.x, right = column.upper == p.x;
        if (row.lower == p.y && left) sum += static_cast<T>(from * above * before);
        if (row.lower == p.y && right) sum += static_cast<T>(from * above * column.way);
        if (row.upper == p.y && left) sum += static_cast<T>(from * row.way * before);
        if (row.upper == p.y && right) sum += static_cast<T>(from * row.way * column.way);
      }
    }
    out[i] = sum;
  }
};

// A kernel of a gradient, with the functor Body<T>.
template <template <class> class Body>
struct GradKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Resize r(c, c.out_shape(0), c.shape(0));
    cuda::for_each_index(cuda::device_of(c), c.out_numel(0), Body<T>{r, c.data<float>(0), c.out_data<T>(0)});
  }
};

template <class V>
struct Nearest {
  Resize r;
  bool align_corners;
  const V* in;
  V* out;
  __device__ void operator()(int64_t i) const {
    const Place p = resized_place(r, i);
    const int64_t y = nearest_place(r.height, align_corners, p.y), x = nearest_place(r.width, align_corners, p.x);
    out[i] = in[r.original(p.image, y, x) + p.channel];
  }
};

void nearest(KernelContext& c) {
  const int64_t n = c.out_numel(0);
  if (n == 0) return;
  const Resize r(c, c.shape(0), c.out_shape(0));
  cuda::with_storage(c.out(0).nbytes() / static_cast<size_t>(n), [&]<class V>() {
    cuda::for_each_index(cuda::device_of(c), n, Nearest<V>{r, c.flag("align_corners"), c.data<V>(0), c.out_data<V>(0)});
  });
}

template <class T>
struct NearestGrad {
  Resize r;
  bool align_corners;
  const T* dy;
  T* out;
  __device__ Readers readers(const ResizeAxis& a, int64_t at) const {
    const auto place = [&](int64_t i) { return nearest_place(a, align_corners, i); };
    return {a.to, at, place, place};
  }
  __device__ void operator()(int64_t i) const {
    const Place p = original_place(r, i);
    const Readers rows = readers(r.height, p.y), columns = readers(r.width, p.x);
    T sum{0};
    for (int64_t y = rows.begin; y < rows.end; ++y) {
      for (int64_t x = columns.begin; x < columns.end; ++x) {
        sum = k::add(sum, dy[r.resized(p.image, y, x) + p.channel]);
      }
    }
    out[i] = sum;
  }
};

struct NearestGradKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Resize r(c, c.out_shape(0), c.shape(0));
    cuda::for_each_index(cuda::device_of(c), c.out_numel(0),
                         NearestGrad<T>{r, c.flag("align_corners"), c.data<T>(0), c.out_data<T>(0)});
  }
};

template <class T>
struct Bicubic {
  Resize r;
  const T* in;
  float* out;
  __device__ void operator()(int64_t i) const {
    const Place p = resized_place(r, i);
    const Cubic row = bicubic_place(r.height, p.y), column = bicubic_place(r.width, p.x);
    float sum = 0;
    for (int b = 0; b < 4; ++b) {
      float in_column = 0;
      for (int a = 0; a < 4; ++a) {
        in_column += convert<float>(in[r.original(p.image, row.index[a], column.index[b]) + p.channel]) * row.weight[a];
      }
      sum += in_column * column.weight[b];
    }
    out[i] = sum;
  }
};

struct BicubicKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Resize r(c, c.shape(0), c.out_shape(0));
    cuda::for_each_index(cuda::device_of(c), c.out_numel(0), Bicubic<T>{r, c.data<T>(0), c.out_data<float>(0)});
  }
};

template <class T>
struct BicubicGrad {
  Resize r;
  const float* dy;
  T* out;
  __device__ static Readers readers(const ResizeAxis& a, int64_t at) {
    return {a.to, at, [&](int64_t i) { return bicubic_place(a, i).index[0]; },
            [&](int64_t i) { return bicubic_place(a, i).index[3]; }};
  }
  __device__ void operator()(int64_t i) const {
    const Place p = original_place(r, i);
    const Readers rows = readers(r.height, p.y), columns = readers(r.width, p.x);
    T sum{0};
    for (int64_t y = rows.begin; y < rows.end; ++y) {
      const Cubic row = bicubic_place(r.height, y);
      for (int64_t x = columns.begin; x < columns.end; ++x) {
        const Cubic column = bicubic_place(r.width, x);
        const float from = dy[r.resized(p.image, y, x) + p.channel];
        for (int a = 0; a < 4; ++a) {
          if (row.index[a] != p.y) continue;
          for (int b = 0; b < 4; ++b) {
            if (column.index[b] == p.x) sum += static_cast<T>(from * (row.weight[a] * column.weight[b]));
          }
        }
      }
    }
    out[i] = sum;
  }
};

template <class T>
struct Area {
  Resize r;
  float whole;
  const T* in;
  float* out;
  __device__ void operator()(int64_t i) const {
    const Place p = resized_place(r, i);
    const AreaSpan rows = area_span(r.height, p.y), columns = area_span(r.width, p.x);
    float sum = 0;
    for (int64_t y = rows.first; y < rows.last; ++y) {
      float of_row = 0;
      for (int64_t x = columns.first; x < columns.last; ++x) {
        const int64_t at = r.original(p.image, r.height.inside(y), r.width.inside(x)) + p.channel;
        of_row += convert<float>(in[at]) * columns.share(x);
      }
      sum += of_row * rows.share(y);
    }
    out[i] = sum * whole;
  }
};

struct AreaKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Resize r(c, c.shape(0), c.out_shape(0), false);
    cuda::for_each_index(cuda::device_of(c), c.out_numel(0),
                         Area<T>{r, 1 / (r.height.scale * r.width.scale), c.data<T>(0), c.out_data<float>(0)});
  }
};

const CudaKernel bilinear_kernel("ResizeBilinear", types::of<"ResizeBilinear">{}, BilinearKernel{});
const CudaKernel bilinear_grad_kernel("ResizeBilinearGrad", types::of<"ResizeBilinearGrad">{},
                                      CudaInWider<GradKernel<BilinearGrad>>{});
const CudaKernel nearest_kernel("ResizeNearestNeighbor", dtypes::kReal - DTypeSet{kUint32, kUint64}, nearest);
const CudaKernel nearest_grad_kernel("ResizeNearestNeighborGrad", types::of<"ResizeNearestNeighborGrad">{},
                                     CudaInWider<NearestGradKernel>{});
const CudaKernel bicubic_kernel("ResizeBicubic", types::of<"ResizeBicubic">{}, BicubicKernel{});
const CudaKernel bicubic_grad_kernel("ResizeBicubicGrad", types::of<"ResizeBicubicGrad">{}, GradKernel<BicubicGrad>{});
const CudaKernel area_kernel("ResizeArea", types::of<"ResizeArea">{}, AreaKernel{});

}  // namespace
}  // namespace panto
