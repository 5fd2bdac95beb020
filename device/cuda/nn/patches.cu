// Kernels of ops over windows of images: patches, and morphology.
#include "panto/device/cuda/array/array_index.h"
#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/elementwise/in_wider.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/storage.cuh"
#include "panto/device/dilation.h"
#include "panto/device/op_kernels.h"
#include "panto/device/scratch.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {
namespace {

using cuda::CudaDevice;

// Copies elements as bytes. Padding is zero, which is all zero bytes in every type.
template <class V>
struct CopyPatches {
  WindowAxis depth, height, width;
  int64_t channels;
  const V* from;
  V* to;
  __device__ void operator()(int64_t i) const {
    const int64_t channel = i % channels;
    int64_t rest = i / channels;
    const int64_t tap_x = rest % width.size;
    rest /= width.size;
    const int64_t tap_y = rest % height.size;
    rest /= height.size;
    const int64_t tap_z = rest % depth.size;
    rest /= depth.size;
    const int64_t x = width.place(rest % width.output, tap_x);
    rest /= width.output;
    const int64_t y = height.place(rest % height.output, tap_y);
    rest /= height.output;
    const int64_t z = depth.place(rest % depth.output, tap_z);
    const int64_t image = rest / depth.output;
    const bool inside = x >= 0 && y >= 0 && z >= 0;
    const int64_t at = ((image * depth.input + z) * height.input + y) * width.input + x;
    to[i] = inside ? from[at * channels + channel] : V{};
  }
};

void copy_patches(KernelContext& c, const WindowAxis& depth, const WindowAxis& height, const WindowAxis& width) {
  const int64_t n = c.out_numel(0);
  if (n == 0) return;
  cuda::with_storage(c.out(0).nbytes() / static_cast<size_t>(n), [&]<class V>() {
    cuda::for_each_index(cuda::device_of(c), n,
                         CopyPatches<V>{depth, height, width, c.shape(0)[-1], c.data<V>(0), c.out_data<V>(0)});
  });
}

const CudaKernel image_patches("ExtractImagePatches", dtypes::kPlain, [](KernelContext& c) {
  const Windows w = image_patches_of(c, c.shape(0));
  copy_patches(c, {.input = 1, .output = 1}, w.height, w.width);
});
const CudaKernel volume_patches("ExtractVolumePatches", dtypes::kReal, [](KernelContext& c) {
  const VolumeWindows w = volume_patches_of(c, c.shape(0));
  copy_patches(c, w.depth, w.height, w.width);
});

// ---- Morphology -----------------------------------------------------------------------------------------------------

// Calls body(i, largest) for each element i of the result.
template <class T, class Body>
struct OverLargest {
  Dilation<T> d;
  Body body;
  __device__ void operator()(int64_t i) const {
    const int64_t channel = i % d.channels, pixel = i / d.channels;
    const int64_t row = pixel / d.width.output, image = row / d.height.output;
    body(i, image, d.largest(image, row % d.height.output, pixel % d.width.output, channel));
  }
};

template <class T>
struct WriteSum {
  T* out;
  __device__ void operator()(int64_t i, int64_t /*image*/, const typename Dilation<T>::Largest& largest) const {
    out[i] = convert<T>(largest.sum);
  }
};

struct DilationKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const WriteSum<T> body{c.out_data<T>(0)};
    cuda::for_each_index(cuda::device_of(c), c.out_numel(0), OverLargest<T, WriteSum<T>>{Dilation<T>(c), body});
  }
};

// Writes the element of the filter, or of the whole input, that has the largest sum.
template <class T, bool kOfFilter>
struct WritePlace {
  int64_t image_size;
  int64_t* places;
  __device__ void operator()(int64_t i, int64_t image, const typename Dilation<T>::Largest& largest) const {
    places[i] = kOfFilter ? largest.tap : image * image_size + largest.in;
  }
};

// Sums the incoming gradients by the places to which they go.
template <bool kOfFilter>
struct DilationBackpropKernel {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t size = c.out_numel(0), n = c.numel(2);
    if (size == 0) return;
    CudaDevice& device = cuda::device_of(c);
    const Scratch<int64_t> places(device, n);
    if (n > 0) {
      using Body = WritePlace<T, kOfFilter>;
      const Dilation<T> d(c);
      cuda::for_each_index(device, n, OverLargest<T, Body>{d, Body{d.inputs(), places.data()}});
    }
    const auto sum = [&](KernelContext& wide) {
      using W = Compute<T>;
      cuda::sum_segments(device, wide.data<W>(2), {places.data(), kInt64, n}, size, wide.out_data<W>(0), size);
    };
    if constexpr (is_half_type<T>) {
      cuda::run_in_floats(c, TypeList<T>{}, sum);
    } else {
      sum(c);
    }
  }
};

const CudaKernel dilation_kernel("Dilation2D", types::of<"Dilation2D">{}, DilationKernel{});
const CudaKernel dilation_by_input("Dilation2DBackpropInput", types::of<"Dilation2DBackpropInput">{},
                                   DilationBackpropKernel<false>{});
const CudaKernel dilation_by_filter("Dilation2DBackpropFilter", types::of<"Dilation2DBackpropFilter">{},
                                    DilationBackpropKernel<true>{});

}  // namespace
}  // namespace panto
