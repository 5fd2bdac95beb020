// Kernels of Conv3D and its gradients. The convolution and its gradient by the filter are products by cuBLAS: a matrix
// with one row per window, which holds the window's elements, times the filter, which already is such a matrix. The
// matrix is built a piece at a time; how many windows a piece has depends on sizes only. The gradient by the input is
// direct: each thread sums what one element gets, in the order of the filter.
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "panto/device/cuda/blas.h"
#include "panto/device/cuda/conv/window_side.cuh"
#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/elementwise/in_wider.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/op_kernels.h"
#include "panto/device/scratch.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {
namespace {

using cuda::CudaDevice;

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
  // The place of a pixel, counted over all volumes, with channel 0.
  __device__ Place pixel(int64_t i) const {
    Grid pixels = *this;
    pixels.channels = 1;
    return pixels.place(i);
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

// Writes the elements (tap, channel) of windows, counted over all volumes from `first`. Padding is 0.
template <class T>
struct GatherWindows {
  Volumes v;
  int64_t first;
  const T* input;
  T* windows;
  __device__ void operator()(int64_t i) const {
    const int64_t taps = int64_t{v.depth.size} * v.height.size * v.width.size;
    const int64_t channel = i % v.in.channels, row = i / v.in.channels;
    const int tap = static_cast<int>(row % taps);
    const Grid::Place p = v.out.pixel(first + row / taps);
    const int z = v.depth.at(p.z, tap / (v.height.size * v.width.size));
    const int y = v.height.at(p.y, tap / v.width.size % v.height.size);
    const int x = v.width.at(p.x, tap % v.width.size);
    const bool inside = v.depth.inside(z) && v.height.inside(y) && v.width.inside(x);
    windows[i] = inside ? input[v.in.at(p.volume, z, y, x, channel)] : T{0};
  }
};

// Copies between channels-first volumes and rows with the channels of a pixel each, from pixel `first` on: to what is
// not const.
template <class InVolumes, class InRows>
struct MoveRows {
  Grid grid;
  int64_t first;
  InVolumes* volumes;
  InRows* rows;
  __device__ void operator()(int64_t i) const {
    const Grid::Place p = grid.pixel(first + i / grid.channels);
    InVolumes& element = volumes[grid.at(p.volume, p.z, p.y, p.x, i % grid.channels)];
    if constexpr (std::is_const_v<InVolumes>) {
      rows[i] = element;
    } else {
      element = rows[i];
    }
  }
};

template <class T>
class VolumeProduct {
 public:
  VolumeProduct(CudaDevice& device, const VolumeConvolution& c)
      : device_(device),
        v_(c),
        count_(c.batch * c.depth.output * c.height.output * c.width.output),
        elements_(checked_mul(c.depth.size * c.height.size * c.width.size, c.in_channels, "window")),
        each_(std::clamp<int64_t>(kPieceBytes / static_cast<int64_t>(sizeof(T)) / elements_, 1, count_)),
        windows_(device, checked_mul(each_, elements_, "windows")),
        rows_(device, c.channels_first() ? checked_mul(each_, c.out_channels, "output") : 0) {}

  void forward(const T* input, const T* filter, T* output) const {
    for (int64_t first = 0; first < count_; first += each_) {
      const int64_t n = std::min(each_, count_ - first), features = v_.out.channels;
      T* rows = v_.out.channels_first ? rows_.data() : output + first * features;
      gather(first, n, input);
      cuda::multiply(
          device_,
          cuda::Product{.m = n, .n = features, .k = elements_, .lda = elements_, .ldb = features, .ldc = features},
          static_cast<const T*>(windows_.data()), filter, rows);
      if (v_.out.channels_first) {
        cuda::for_each_index(device_, n * features, MoveRows<T, const T>{v_.out, first, output, rows});
      }
    }
  }
  void by_filter(const T* input, T* filter, const T* output) const {
    for (int64_t first = 0; first < count_; first += each_) {
      const int64_t n = std::min(each_, count_ - first), features = v_.out.channels;
      const T* rows = v_.out.channels_first ? rows_.data() : output + first * features;
      if (v_.out.channels_first) {
        cuda::for_each_index(device_, n * features, MoveRows<const T, T>{v_.out, first, output, rows_.data()});
      }
      gather(first, n, input);
      cuda::multiply(device_,
                     cuda::Product{.m = elements_,
                                   .n = features,
                                   .k = n,
                                   .transpose_a = true,
                                   .lda = elements_,
                                   .ldb = features,
                                   .ldc = features,
                                   .accumulate = first > 0},
                     static_cast<const T*>(windows_.data()), rows, filter);
    }
  }

 private:
  static constexpr int64_t kPieceBytes = int64_t{64} << 20;  // as in windows.cu

  void gather(int64_t first, int64_t n, const T* input) const {
    cuda::for_each_index(device_, n * elements_, GatherWindows<T>{v_, first, input, windows_.data()});
  }

  CudaDevice& device_;
  Volumes v_;
  int64_t count_;     // of all windows
  int64_t elements_;  // of a window
  int64_t each_;      // windows in a piece
  Scratch<T> windows_, rows_;
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
    CudaDevice& device = cuda::device_of(c);
    T* out = c.out_data<T>(0);
    if constexpr (kKind == Kind::kForward) {
      VolumeProduct<T>(device, volumes).forward(c.data<T>(0), c.data<T>(1), out);
    } else if constexpr (kKind == Kind::kByInput) {
      cuda::for_each_index(device, n, ByInput<T>{Volumes(volumes), out, c.data<T>(1), c.data<T>(2)});
    } else {
      VolumeProduct<T>(device, volumes).by_filter(c.data<T>(0), out, c.data<T>(2));
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
