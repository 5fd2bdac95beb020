// Kernels of Conv3D and its gradients. Each thread computes one element of the result, or a part of one of the filter's
// gradient; sums are in a fixed order.
#include <algorithm>
#include <cstdint>

#include "panto/device/cuda/conv/window_side.cuh"
#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/elementwise/in_wider.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/reduce/reduce.cuh"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {
namespace {

// Sizes and order of the elements of volumes.
struct Grid {
  struct Place {
    int64_t volume;
    int z, y, x;
    int64_t channel;
  };
  bool channels_first;
  int64_t depth, height, width, channels;

  __device__ Place place(int64_t i) const {
    Place p{};
    if (!channels_first) p.channel = take(i, channels);
    p.x = static_cast<int>(take(i, width));
    p.y = static_cast<int>(take(i, height));
    p.z = static_cast<int>(take(i, depth));
    if (channels_first) p.channel = take(i, channels);
    p.volume = i;
    return p;
  }
  __device__ int64_t at(int64_t volume, int z, int y, int x, int64_t channel) const {
    if (channels_first) return (((volume * channels + channel) * depth + z) * height + y) * width + x;
    return (((volume * depth + z) * height + y) * width + x) * channels + channel;
  }
  // Between channels of one place.
  __device__ int64_t channel_step() const { return channels_first ? depth * height * width : 1; }

 private:
  // Returns the remainder; sets i to the quotient.
  __device__ static int64_t take(int64_t& i, int64_t size) {
    const int64_t quotient = i / size;
    const int64_t rest = i - quotient * size;
    i = quotient;
    return rest;
  }
};

struct Volumes {
  cuda::WindowSide depth, height, width;
  Grid in, out;

  explicit Volumes(const VolumeConvolution& c)
      : depth(c.depth),
        height(c.height),
        width(c.width),
        in{c.channels_first(), c.depth.input, c.height.input, c.width.input, c.in_channels},
        out{c.channels_first(), c.depth.output, c.height.output, c.width.output, c.out_channels} {}
  // The place in the filter of the first weight of an element of the windows, for input channel 0.
  __device__ int64_t weights_at(int a, int b, int d) const {
    return ((int64_t{a} * height.size + b) * width.size + d) * in.channels * out.channels;
  }
};

template <class T>
struct Forward {
  Volumes v;
  const T* input;
  const T* filter;
  T* output;
  __device__ void operator()(int64_t i) const {
    const Grid::Place p = v.out.place(i);
    T sum{0};
    for (int a = 0; a < v.depth.size; ++a) {
      const int z = v.depth.at(p.z, a);
      if (!v.depth.inside(z)) continue;
      for (int b = 0; b < v.height.size; ++b) {
        const int y = v.height.at(p.y, b);
        if (!v.height.inside(y)) continue;
        for (int d = 0; d < v.width.size; ++d) {
          const int x = v.width.at(p.x, d);
          if (!v.width.inside(x)) continue;
          const T* from = input + v.in.at(p.volume, z, y, x, 0);
          const T* weights = filter + v.weights_at(a, b, d) + p.channel;
          for (int64_t k = 0; k < v.in.channels; ++k) {
            sum += from[k * v.in.channel_step()] * weights[k * v.out.channels];
          }
        }
      }
    }
    output[i] = sum;
  }
};

template <class T>
struct ByInput {
  Volumes v;
  T* input;
  const T* filter;
  const T* output;
  __device__ void operator()(int64_t i) const {
    const Grid::Place p = v.in.place(i);
    T sum{0};
    for (int a = 0; a < v.depth.size; ++a) {
      const int z = v.depth.window(p.z, a, 0, v.depth.output);
      if (z < 0) continue;
      for (int b = 0; b < v.height.size; ++b) {
        const int y = v.height.window(p.y, b, 0, v.height.output);
        if (y < 0) continue;
        for (int d = 0; d < v.width.size; ++d) {
          const int x = v.width.window(p.x, d, 0, v.width.output);
          if (x < 0) continue;
          const T* from = output + v.out.at(p.volume, z, y, x, 0);
          const T* weights = filter + v.weights_at(a, b, d) + p.channel * v.out.channels;
          for (int64_t k = 0; k < v.out.channels; ++k) sum += from[k * v.out.channel_step()] * weights[k];
        }
      }
    }
    input[i] = sum;
  }
};

// The terms of the sums of the filter's gradient: term (element of the filter, window of all volumes), in this order.
template <class T>
struct FilterTerms {
  Volumes v;
  int64_t windows;
  const T* input;
  const T* output;
  __device__ T operator()(int64_t i) const {
    int64_t weight = i / windows;
    const int64_t out_channel = weight % v.out.channels;
    weight /= v.out.channels;
    const int64_t in_channel = weight % v.in.channels;
    const int tap = static_cast<int>(weight / v.in.channels);
    Grid positions = v.out;
    positions.channels = 1;
    const Grid::Place p = positions.place(i % windows);
    const int z = v.depth.at(p.z, tap / (v.height.size * v.width.size));
    const int y = v.height.at(p.y, tap / v.width.size % v.height.size);
    const int x = v.width.at(p.x, tap % v.width.size);
    if (!v.depth.inside(z) || !v.height.inside(y) || !v.width.inside(x)) return T{0};
    return input[v.in.at(p.volume, z, y, x, in_channel)] * output[v.out.at(p.volume, p.z, p.y, p.x, out_channel)];
  }
};

enum class Kind : uint8_t { kForward, kByInput, kByFilter };

// Inputs 0, 1 and 2 are the convolution's input, filter and output (or its gradient); in place of the tensor to
// compute, the op has its shape.
template <Kind kKind>
struct VolumeKernel {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t n = c.out_numel(0);
    if (n == 0) return;
    const VolumeConvolution volumes = volume_convolution_of(c, kKind == Kind::kByInput ? c.out_shape(0) : c.shape(0),
                                                            kKind == Kind::kByFilter ? c.out_shape(0) : c.shape(1));
    const bool no_input = kKind != Kind::kByInput && c.numel(0) == 0;
    const bool no_output = kKind != Kind::kForward && c.numel(2) == 0;
    if (no_input || no_output) return cuda::clear_output(c);  // sums of nothing
    cuda::CudaDevice& device = cuda::device_of(c);
    const Volumes v(volumes);
    T* out = c.out_data<T>(0);
    if constexpr (kKind == Kind::kForward) {
      cuda::for_each_index(device, n, Forward<T>{v, c.data<T>(0), c.data<T>(1), out});
    } else if constexpr (kKind == Kind::kByInput) {
      cuda::for_each_index(device, n, ByInput<T>{v, out, c.data<T>(1), c.data<T>(2)});
    } else {
      const int64_t windows = c.numel(2) / volumes.out_channels;
      AxisFlags inner;
      inner.set(1);
      cuda::reduce<SumOf<T>>(device, ReduceShape(Shape{n, windows}, inner),
                             cuda::Computed<FilterTerms<T>>{{v, windows, c.data<T>(0), c.data<T>(2)}},
                             cuda::Store<SumOf<T>, T>{out});
    }
  }
};

const CudaKernel conv_kernel("Conv3D", types::of<"Conv3D">{}, CudaInWider<VolumeKernel<Kind::kForward>>{});
const CudaKernel by_input_kernel("Conv3DBackpropInputV2", types::of<"Conv3DBackpropInputV2">{},
                                 CudaInWider<VolumeKernel<Kind::kByInput>>{});
const CudaKernel by_filter_kernel("Conv3DBackpropFilterV2", types::of<"Conv3DBackpropFilterV2">{},
                                  CudaInWider<VolumeKernel<Kind::kByFilter>>{});

}  // namespace
}  // namespace panto
