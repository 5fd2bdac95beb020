// Kernels of ScaleAndTranslate and of its gradient: first the rows are mixed, then the columns, as on the CPU. Scales
// and translations are in the GPU's memory; bad ones are faults.
#include "panto/device/cuda/array/index_list.cuh"
#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/image/images.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/resampling.h"
#include "panto/device/op_kernels.h"
#include "panto/device/scratch.h"
#include "panto/lib/ops/image_types.h"

namespace panto {
namespace {

using cuda::ImagePlace;
using Span = Resampling::Span;

// The height or the width, with the span of each of its `to` pixels in the result.
struct Along {
  Bell bell;
  int64_t from, to;
  bool antialias;
  const float* scale;
  const float* translation;
  Span* spans;

  __device__ Resampling resampling() const { return {bell, from, *scale, *translation, antialias}; }
};

struct FindSpan {
  Along a;
  Fault* fault;
  __device__ void operator()(int64_t i) const {
    if (i == 0 && (!(*a.scale > 0) || !std::isfinite(*a.scale))) cuda::note(fault, Fault::kScaleOutOfRange);
    if (i == 0 && !std::isfinite(*a.translation)) cuda::note(fault, Fault::kTranslationNotFinite);
    if (i < a.to) a.spans[i] = a.resampling().span(i);
  }
};

// For images of shape `from`, scaled to `to`.
struct Both {
  Scratch<Span> row_spans, column_spans;
  Along rows, columns;

  Both(const KernelContext& c, const Shape& from, const Shape& to)
      : row_spans(c.device(), to.dim(1)),
        column_spans(c.device(), to.dim(2)),
        rows(along(c, from, to, 0, row_spans.data())),
        columns(along(c, from, to, 1, column_spans.data())) {
    cuda::CudaDevice& device = cuda::device_of(c);
    for (const Along& a : {rows, columns}) {
      cuda::for_each_index(device, std::max<int64_t>(1, a.to), FindSpan{a, device.fault()});
    }
  }

 private:
  static Along along(const KernelContext& c, const Shape& from, const Shape& to, int k, Span* spans) {
    return {Bell(c.text("kernel_type")), from.dim(1 + k),      to.dim(1 + k), c.flag("antialias"),
            c.data<float>(2) + k,        c.data<float>(3) + k, spans};
  }
};

// Scales images [images, y, x, channels] to [images, rows, x, channels].
template <class T>
struct MixRows {
  Along rows;
  int64_t line;  // elements of a row
  const T* images;
  float* out;
  __device__ void operator()(int64_t i) const {
    const int64_t column = i % line, row = i / line;
    const Resampling resampling = rows.resampling();
    const Span span = rows.spans[row % rows.to];
    const T* from = images + row / rows.to * rows.from * line + column;
    float sum = 0;
    for (int64_t k = span.first; k <= span.last; ++k) {
      sum += resampling.weight(span, k) * convert<float>(from[k * line]);
    }
    out[i] = sum;
  }
};

// Scales rows of x pixels to rows of `columns`.
struct MixColumns {
  Along columns;
  int64_t channels;
  const float* mixed;
  float* out;
  __device__ void operator()(int64_t i) const {
    const int64_t channel = i % channels, pixel = i / channels;
    const Resampling resampling = columns.resampling();
    const Span span = columns.spans[pixel % columns.to];
    const float* from = mixed + pixel / columns.to * columns.from * channels + channel;
    float sum = 0;
    for (int64_t k = span.first; k <= span.last; ++k) sum += resampling.weight(span, k) * from[k * channels];
    out[i] = sum;
  }
};

struct ScaleKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Shape &from = c.shape(0), &to = c.out_shape(0);
    const Both spans(c, from, to);
    if (c.out_numel(0) == 0) return;
    cuda::CudaDevice& device = cuda::device_of(c);
    const int64_t line = from.dim(2) * from.dim(3), mixed = to.dim(0) * to.dim(1) * line;
    const Scratch<float> rows(device, mixed);
    cuda::for_each_index(device, mixed, MixRows<T>{spans.rows, line, c.data<T>(0), rows.data()});
    cuda::for_each_index(device, c.out_numel(0),
                         MixColumns{spans.columns, from.dim(3), rows.data(), c.out_data<float>(0)});
  }
};

// The gradient of MixColumns or MixRows: each element of the original adds what comes from the pixels of the result
// that use it, in order. `inner`: elements of a pixel, or of a row.
struct Unmix {
  Along a;
  int64_t inner;
  const float* grads;
  float* out;

  // What pixel i of the result uses; pixels outside use what lies before or after the image.
  __device__ int64_t lowest(int64_t i) const {
    const Span s = a.spans[i];
    return s.count() > 0 ? s.first : s.at > 0 ? a.from : -1;
  }
  __device__ int64_t highest(int64_t i) const {
    const Span s = a.spans[i];
    return s.count() > 0 ? s.last : s.at > 0 ? a.from : -1;
  }
  __device__ void operator()(int64_t i) const {
    const int64_t column = i % inner, place = i / inner, at = place % a.from;
    const Resampling resampling = a.resampling();
    const float* from = grads + place / a.from * a.to * inner + column;
    const cuda::Readers readers(a.to, at, [&](int64_t k) { return lowest(k); }, [&](int64_t k) { return highest(k); });
    float sum = 0;
    for (int64_t k = readers.begin; k < readers.end; ++k) {
      sum += resampling.weight(a.spans[k], at) * from[k * inner];
    }
    out[i] = sum;
  }
};

void run_gradient(KernelContext& c) {
  const Shape &to = c.shape(0), &from = c.out_shape(0);
  const Both spans(c, from, to);
  if (c.out_numel(0) == 0) return;
  cuda::CudaDevice& device = cuda::device_of(c);
  const int64_t channels = from.dim(3), line = from.dim(2) * channels, mixed = to.dim(0) * to.dim(1) * line;
  const Scratch<float> rows(device, mixed);
  cuda::for_each_index(device, mixed, Unmix{spans.columns, channels, c.data<float>(0), rows.data()});
  cuda::for_each_index(device, c.out_numel(0), Unmix{spans.rows, line, rows.data(), c.out_data<float>(0)});
}

const CudaKernel scale_kernel("ScaleAndTranslate", types::of<"ScaleAndTranslate">{}, ScaleKernel{});
const CudaKernel gradient_kernel("ScaleAndTranslateGrad", DTypeSet{kFloat32}, run_gradient);

}  // namespace
}  // namespace panto
