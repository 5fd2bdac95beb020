#include "panto/device/cuda/conv/conv_direct.h"

#include <algorithm>
#include <type_traits>

#include "panto/device/cuda/conv/window_side.cuh"
#include "panto/device/cuda/elementwise/loops.cuh"

namespace panto::cuda {
namespace {

constexpr int64_t kFewChannels = 8;  // per group
constexpr int64_t kMost = (int64_t{1} << 31) - 1;

// Strides of the dimensions of images.
struct ImageSteps {
  uint32_t row, column, channel;

  ImageSteps(bool first, int64_t height, int64_t width, int64_t channels)
      : row(static_cast<uint32_t>(first ? width : width * channels)),
        column(static_cast<uint32_t>(first ? 1 : channels)),
        channel(static_cast<uint32_t>(first ? height * width : 1)) {}
  __device__ uint32_t at(uint32_t y, uint32_t x, uint32_t k) const { return y * row + x * column + k * channel; }
};

struct Map {
  Side height, width;
  int rows, columns;  // output size
  uint32_t group_in, group_out, out_channels, input, output;
  ImageSteps in, out;
  SmallDivisor by_rows, by_columns, by_pixels, by_in_channels, by_out_channels, by_group_in, by_group_out;

  // Channel divisors are in units of `lanes`: the channels of one thread.
  Map(const Convolution& c, int64_t lanes)
      : height(c.height),
        width(c.width),
        rows(static_cast<int>(c.height.output)),
        columns(static_cast<int>(c.width.output)),
        group_in(static_cast<uint32_t>(c.in_channels / c.groups)),
        group_out(static_cast<uint32_t>(c.out_channels / c.groups)),
        out_channels(static_cast<uint32_t>(c.out_channels)),
        input(static_cast<uint32_t>(c.height.input * c.width.input * c.in_channels)),
        output(static_cast<uint32_t>(c.height.output * c.width.output * c.out_channels)),
        in(c.channels_first(), c.height.input, c.width.input, c.in_channels),
        out(c.channels_first(), c.height.output, c.width.output, c.out_channels),
        by_rows(rows),
        by_columns(columns),
        by_pixels(c.height.output * c.width.output),
        by_in_channels(c.in_channels / lanes),
        by_out_channels(c.out_channels / lanes),
        by_group_in(group_in),
        by_group_out(group_out) {}
};

// The coordinates of an element of images.
struct Place {
  uint32_t image, y, x, channel;
};
template <bool kChannelsFirst>
__device__ Place place(uint32_t i, const SmallDivisor& rows, const SmallDivisor& columns,
                       const SmallDivisor& channels) {
  Place p;
  if constexpr (kChannelsFirst) {
    p.image = divide(channels, divide(rows, divide(columns, i, p.x), p.y), p.channel);
  } else {
    p.image = divide(rows, divide(columns, divide(channels, i, p.channel), p.x), p.y);
  }
  return p;
}

template <class T, int N>
__device__ void add_products(Pack<T, N>& sums, const Pack<T, N>& x, const Pack<T, N>& y) {
  for (int i = 0; i < N; ++i) sums.v[i] += x.v[i] * y.v[i];
}

// What a thread computes: one element, or kLanes neighbouring channels if each channel is a group. kSide: size of the
// windows in both dimensions; 0: any.
template <bool kFirst, int kSideSize, int kLaneCount>
struct Way {
  static constexpr bool kChannelsFirst = kFirst;
  static constexpr int kSide = kSideSize, kLanes = kLaneCount;
};

template <class W, class T>
__global__ void __launch_bounds__(kThreads) convolve(uint32_t n, Map m, const T* input, const T* filter, T* output) {
  using Lanes = Pack<T, W::kLanes>;
  const int height = W::kSide > 0 ? W::kSide : m.height.size, width = W::kSide > 0 ? W::kSide : m.width.size;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    const Place p = place<W::kChannelsFirst>(i, m.by_rows, m.by_columns, m.by_out_channels);
    const uint32_t channel = p.channel * W::kLanes;
    const uint32_t first = W::kLanes > 1 ? channel : m.by_group_out.quotient(channel) * m.group_in;
    const T* image = input + int64_t{p.image} * m.input;
    Lanes sum{};
#pragma unroll
    for (int a = 0; a < height; ++a) {
      const int y = m.height.at(static_cast<int>(p.y), a);
      if (!m.height.inside(y)) continue;
#pragma unroll
      for (int b = 0; b < width; ++b) {
        const int x = m.width.at(static_cast<int>(p.x), b);
        if (!m.width.inside(x)) continue;
        const T* weights =
            filter + int64_t{static_cast<uint32_t>(a * width + b) * m.group_in} * m.out_channels + channel;
        const T* from = image + m.in.at(static_cast<uint32_t>(y), static_cast<uint32_t>(x), first);
        if constexpr (W::kLanes > 1) {
          add_products(sum, *reinterpret_cast<const Lanes*>(from), *reinterpret_cast<const Lanes*>(weights));
        } else {
          for (uint32_t k = 0; k < m.group_in; ++k, from += m.in.channel, weights += m.out_channels) {
            sum.v[0] += *from * *weights;
          }
        }
      }
    }
    reinterpret_cast<Lanes*>(output)[i] = sum;
  }
}

template <class W, class T>
__global__ void __launch_bounds__(kThreads)
    convolve_back(uint32_t n, Map m, T* input, const T* filter, const T* output) {
  using Lanes = Pack<T, W::kLanes>;
  const int height = W::kSide > 0 ? W::kSide : m.height.size, width = W::kSide > 0 ? W::kSide : m.width.size;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    const Place p = place<W::kChannelsFirst>(i, m.height.by_input, m.width.by_input, m.by_in_channels);
    const uint32_t channel = p.channel * W::kLanes;
    uint32_t in_group = 0;
    const uint32_t first = W::kLanes > 1 ? channel : divide(m.by_group_in, channel, in_group) * m.group_out;
    const T* image = output + int64_t{p.image} * m.output;
    Lanes sum{};
#pragma unroll
    for (int a = 0; a < height; ++a) {
      const int row = m.height.window(static_cast<int>(p.y), a, 0, m.rows);
      if (row < 0) continue;
#pragma unroll
      for (int b = 0; b < width; ++b) {
        const int column = m.width.window(static_cast<int>(p.x), b, 0, m.columns);
        if (column < 0) continue;
        const T* weights =
            filter + int64_t{static_cast<uint32_t>(a * width + b) * m.group_in + in_group} * m.out_channels + first;
        const T* from = image + m.out.at(static_cast<uint32_t>(row), static_cast<uint32_t>(column), first);
        if constexpr (W::kLanes > 1) {
          add_products(sum, *reinterpret_cast<const Lanes*>(from), *reinterpret_cast<const Lanes*>(weights));
        } else {
          for (uint32_t k = 0; k < m.group_out; ++k, from += m.out.channel) sum.v[0] += *from * weights[k];
        }
      }
    }
    reinterpret_cast<Lanes*>(input)[i] = sum;
  }
}

// Calls body(way) with the way for this convolution.
template <class T, class Body>
void with_way(const Convolution& c, const T* input, const T* filter, const T* output, const Body& body) {
  constexpr int kPack = kPackSize<T>;
  const bool each = c.groups == c.in_channels && c.out_channels == c.groups && c.groups % kPack == 0;
  const bool packs = each && !c.channels_first() && is_aligned<T, kPack>(input) && is_aligned<T, kPack>(filter) &&
                     is_aligned<T, kPack>(output);
  const bool three = c.height.size == 3 && c.width.size == 3;
  if (c.channels_first()) return three ? body(Way<true, 3, 1>{}) : body(Way<true, 0, 1>{});
  if (packs) return three ? body(Way<false, 3, kPack>{}) : body(Way<false, 0, kPack>{});
  three ? body(Way<false, 3, 1>{}) : body(Way<false, 0, 1>{});
}

// A block computes one row of the filter (a window element and an input channel of a group). Neighbouring threads have
// kSide neighbouring output channels; the threads of one channel share out a part of `pixels` and add up their sums.
template <int kSide, class T>
__global__ void __launch_bounds__(kThreads)
    sum_products(Map m, uint32_t pixels, uint32_t part, uint32_t tiles, const T* input, const T* output, T* sums) {
  constexpr int kLanes = kThreads / kSide;
  __shared__ T all[kThreads];
  const uint32_t row = blockIdx.x / tiles;
  const uint32_t channel = blockIdx.x % tiles * kSide + threadIdx.x % kSide;
  uint32_t in_group, b;
  const uint32_t tap = divide(m.by_group_in, row, in_group);
  const uint32_t a = divide(m.width.by_size, tap, b);
  const uint32_t begin = blockIdx.y * part, end = min(pixels, begin + part);
  T sum{0};
  if (channel < m.out_channels) {
    const uint32_t in_channel = m.by_group_out.quotient(channel) * m.group_in + in_group;
    for (uint32_t i = begin + threadIdx.x / kSide; i < end; i += kLanes) {
      uint32_t pixel, column;
      const int64_t image = divide(m.by_pixels, i, pixel);
      const uint32_t out_y = divide(m.by_columns, pixel, column);
      const int y = m.height.at(static_cast<int>(out_y), static_cast<int>(a));
      const int x = m.width.at(static_cast<int>(column), static_cast<int>(b));
      if (!m.height.inside(y) || !m.width.inside(x)) continue;
      sum += input[image * m.input + m.in.at(static_cast<uint32_t>(y), static_cast<uint32_t>(x), in_channel)] *
             output[image * m.output + m.out.at(out_y, column, channel)];
    }
  }
  all[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned half = kThreads / 2; half >= kSide; half /= 2) {
    if (threadIdx.x < half) all[threadIdx.x] += all[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x < kSide && channel < m.out_channels) {
    sums[(int64_t{blockIdx.y} * (gridDim.x / tiles) + row) * m.out_channels + channel] = all[threadIdx.x];
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) add_parts(int64_t n, int64_t parts, const T* sums, T* result) {
  const int64_t step = int64_t{blockDim.x} * gridDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    T sum = sums[i];
    for (int64_t k = 1; k < parts; ++k) sum += sums[k * n + i];
    result[i] = sum;
  }
}

// Signed integers are computed as unsigned ones, so that sums wrap.
template <class T>
using Factor = std::conditional_t<std::is_integral_v<T>, uint32_t, T>;
template <class T>
auto* factors(T* p) {
  if constexpr (std::is_const_v<T>) {
    return reinterpret_cast<const Factor<std::remove_const_t<T>>*>(p);
  } else {
    return reinterpret_cast<Factor<T>*>(p);
  }
}

}  // namespace

bool prefers_direct(const Convolution& c) {
  return c.groups > 1 && c.in_channels / c.groups <= kFewChannels && c.out_channels / c.groups <= kFewChannels;
}

template <class T>
DirectConvolution<T>::DirectConvolution(CudaDevice& device, const Convolution& c)
    : device_(device),
      c_(c),
      input_(c.height.input * c.width.input * c.in_channels),
      output_(c.height.output * c.width.output * c.out_channels) {
  const auto reach = [](const WindowAxis& a) { return a.input + a.before + a.after + a.stride + a.extent() <= kMost; };
  const int64_t filter = c.height.size * c.width.size * (c.in_channels / c.groups);
  if (std::max({input_, output_, filter}) > kMost || !reach(c.height) || !reach(c.width)) {
    fail(Code::kUnimplemented, "image and filter: expected fewer than 2^31 elements on a GPU");
  }
}

template <class T>
template <class Body>
void DirectConvolution<T>::over_images(const Body& body) const {
  const int64_t each = std::min(c_.batch, kMost / std::max(input_, output_));
  for (int64_t i = 0; i < c_.batch; i += each) {
    body(i, std::min(each, c_.batch - i));
    check(cudaGetLastError(), "starting a kernel");
  }
}

template <class T>
void DirectConvolution<T>::forward(const T* input, const T* filter, T* output) const {
  const DeviceUse stream = device_.use();
  with_way<T>(c_, input, filter, output, [&](auto way) {
    using W = decltype(way);
    over_images([&](int64_t first, int64_t images) {
      const auto n = static_cast<uint32_t>(images * output_ / W::kLanes);
      convolve<W><<<grid_size(device_, n), kThreads, 0, stream>>>(
          n, Map(c_, W::kLanes), factors(input + first * input_), factors(filter), factors(output + first * output_));
    });
  });
}

template <class T>
void DirectConvolution<T>::by_input(T* input, const T* filter, const T* output) const {
  const DeviceUse stream = device_.use();
  with_way<T>(c_, input, filter, output, [&](auto way) {
    using W = decltype(way);
    over_images([&](int64_t first, int64_t images) {
      const auto n = static_cast<uint32_t>(images * input_ / W::kLanes);
      convolve_back<W><<<grid_size(device_, n), kThreads, 0, stream>>>(
          n, Map(c_, W::kLanes), factors(input + first * input_), factors(filter), factors(output + first * output_));
    });
  });
}

template <class T>
void DirectConvolution<T>::by_filter(const T* input, T* filter, const T* output) const {
  const DeviceUse stream = device_.use();
  // With channels last, neighbouring threads read neighbouring channels; with channels first, neighbouring pixels.
  constexpr int64_t kChannels = 32, kPart = 2048, kBlocks = 2048;
  const int64_t side = c_.channels_first() ? 1 : kChannels;
  const int64_t pixels = c_.batch * c_.height.output * c_.width.output;
  const int64_t rows = c_.height.size * c_.width.size * (c_.in_channels / c_.groups);
  const int64_t tiles = ceil_div(c_.out_channels, side), blocks = checked_mul(rows, tiles, "filter");
  if (pixels > kMost || blocks > kMost) {
    fail(Code::kUnimplemented, "out_backprop and filter: expected fewer than 2^31 pixels and elements on a GPU");
  }
  const int64_t part = ceil_div(pixels, std::clamp<int64_t>(kBlocks / blocks, 1, ceil_div(pixels, kPart)));
  const int64_t parts = ceil_div(pixels, part);
  const int64_t n = rows * c_.out_channels;
  Tensor scratch;
  T* sums = filter;
  if (parts > 1) {
    scratch = allocate_tensor(device_, dtype_of<T>, Shape{parts * n});
    sums = mutable_data<T>(scratch);
  }
  const auto kernel = c_.channels_first() ? sum_products<1, Factor<T>> : sum_products<kChannels, Factor<T>>;
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(parts));
  kernel<<<grid, kThreads, 0, stream>>>(Map(c_, 1), static_cast<uint32_t>(pixels), static_cast<uint32_t>(part),
                                        static_cast<uint32_t>(tiles), factors(input), factors(output), factors(sums));
  check(cudaGetLastError(), "starting a kernel");
  if (parts == 1) return;
  add_parts<<<grid_size(device_, n), kThreads, 0, stream>>>(n, parts, factors(static_cast<const T*>(sums)),
                                                            factors(filter));
  check(cudaGetLastError(), "starting a kernel");
}

template class DirectConvolution<float>;
template class DirectConvolution<double>;
template class DirectConvolution<int32_t>;

}  // namespace panto::cuda
