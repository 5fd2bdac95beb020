#include "panto/device/cuda/conv/windows.h"

#include <algorithm>

#include "panto/device/cuda/conv/window_side.cuh"
#include "panto/device/cuda/elementwise/loops.cuh"

namespace panto::cuda {
namespace {

// Much larger pieces do not fit into the L2 cache; much smaller ones do not fill the GPU.
constexpr int64_t kPieceBytes = int64_t{64} << 20;
constexpr int kChannels = 8;  // copied by a thread if channels are first

template <class T, int N>
__device__ void add_to(Pack<T, N>& sum, const Pack<T, N>& more) {
  for (int i = 0; i < N; ++i) sum.v[i] += more.v[i];
}

// A piece in the form for kernels. Channels and steps are in units of what a thread moves at once.
struct Map {
  Side height, width;
  int channels, group_channels;
  int first_row, rows, columns;  // of the piece, in the output
  int64_t image;                 // elements
  SmallDivisor by_channels, by_group, by_taps, by_rows, by_columns, by_pixels, by_blocks;
  uint32_t step_image, step_group, step_element, step_pixel;

  Map(const Convolution& c, const Piece& piece, const WindowSteps& steps, int64_t lanes)
      : height(c.height),
        width(c.width),
        channels(static_cast<int>(c.in_channels / lanes)),
        group_channels(static_cast<int>(c.in_channels / c.groups / lanes)),
        first_row(static_cast<int>(piece.row)),
        rows(static_cast<int>(piece.rows)),
        columns(static_cast<int>(c.width.output)),
        image(c.height.input * c.width.input * channels),
        by_channels(channels),
        by_group(group_channels),
        by_taps(c.height.size * c.width.size),
        by_rows(rows),
        by_columns(columns),
        by_pixels(piece.rows * columns),
        by_blocks(ceil_div(channels, kChannels)),
        step_image(static_cast<uint32_t>(steps.image / lanes)),
        step_group(static_cast<uint32_t>(steps.group / lanes)),
        step_element(static_cast<uint32_t>(steps.element)),
        step_pixel(static_cast<uint32_t>(steps.pixel / lanes)) {}
};

// Channels last: each thread copies one element (all lanes) of a window.
template <class V>
__global__ void __launch_bounds__(kThreads) gather_last(uint32_t n, Map m, const V* images, V* windows) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    uint32_t channel, tap, tap_column, column, row, in_group;
    uint32_t rest = divide(m.by_channels, i, channel);
    rest = divide(m.by_taps, rest, tap);
    rest = divide(m.by_columns, rest, column);
    const uint32_t image = divide(m.by_rows, rest, row);
    const uint32_t tap_row = divide(m.width.by_size, tap, tap_column);
    const uint32_t group = divide(m.by_group, channel, in_group);
    const int y = m.height.at(static_cast<int>(row) + m.first_row, static_cast<int>(tap_row));
    const int x = m.width.at(static_cast<int>(column), static_cast<int>(tap_column));
    V value{};
    if (m.height.inside(y) && m.width.inside(x)) {
      value = images[image * m.image + (int64_t{y} * m.width.input + x) * m.channels + channel];
    }
    windows[image * m.step_image + (row * m.columns + column) * m.step_pixel + group * m.step_group +
            (tap * m.group_channels + in_group) * m.step_element] = value;
  }
}

// Channels first: neighbouring threads have neighbouring pixels, each a few channels.
template <class T>
__global__ void __launch_bounds__(kThreads) gather_first(uint32_t n, Map m, const T* images, T* windows) {
  const int64_t plane = int64_t{m.height.input} * m.width.input;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    uint32_t pixel, tap, block, tap_column, column, in_group;
    uint32_t rest = divide(m.by_pixels, i, pixel);
    rest = divide(m.by_taps, rest, tap);
    const uint32_t image = divide(m.by_blocks, rest, block);
    const uint32_t row = divide(m.by_columns, pixel, column);
    const uint32_t tap_row = divide(m.width.by_size, tap, tap_column);
    const int first = static_cast<int>(block) * kChannels;
    uint32_t group = divide(m.by_group, static_cast<uint32_t>(first), in_group);
    const int y = m.height.at(static_cast<int>(row) + m.first_row, static_cast<int>(tap_row));
    const int x = m.width.at(static_cast<int>(column), static_cast<int>(tap_column));
    const bool inside = m.height.inside(y) && m.width.inside(x);
    const T* from = images + image * m.image + first * plane + int64_t{y} * m.width.input + x;
    T* to = windows + image * m.step_image + pixel * m.step_pixel;
    const int count = min(kChannels, m.channels - first);
    for (int k = 0; k < count; ++k, from += plane) {
      to[group * m.step_group + (tap * m.group_channels + in_group) * m.step_element] = inside ? *from : T{0};
      if (++in_group == static_cast<uint32_t>(m.group_channels)) {
        in_group = 0;
        ++group;
      }
    }
  }
}

// Each thread computes one element of the images, in memory order.
template <bool kChannelsFirst, class V>
__global__ void __launch_bounds__(kThreads) scatter(uint32_t n, Map m, const V* windows, V* images, bool accumulate) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    uint32_t channel, image, in_y, in_x, in_group;
    if constexpr (kChannelsFirst) {
      image = divide(m.by_channels, divide(m.height.by_input, divide(m.width.by_input, i, in_x), in_y), channel);
    } else {
      image = divide(m.height.by_input, divide(m.width.by_input, divide(m.by_channels, i, channel), in_x), in_y);
    }
    const uint32_t group = divide(m.by_group, channel, in_group);
    const V* from = windows + image * m.step_image + group * m.step_group + in_group * m.step_element;
    V sum{};
    if (accumulate) sum = images[i];
    for (int a = 0; a < m.height.size; ++a) {
      const int row = m.height.window(static_cast<int>(in_y), a, m.first_row, m.rows);
      if (row < 0) continue;
      for (int b = 0; b < m.width.size; ++b) {
        const int column = m.width.window(static_cast<int>(in_x), b, 0, m.columns);
        if (column < 0) continue;
        const uint32_t tap = static_cast<uint32_t>(a * m.width.size + b);
        add_to(sum, from[static_cast<uint32_t>(row * m.columns + column) * m.step_pixel +
                         tap * m.group_channels * m.step_element]);
      }
    }
    images[i] = sum;
  }
}

// Returns true if 16 bytes of channels can be moved at once (with channels last).
template <class T>
bool fits_packs(const Convolution& c, const T* a, const T* b) {
  constexpr int kPack = kPackSize<T>;
  return c.in_channels / c.groups % kPack == 0 && is_aligned<T, kPack>(a) && is_aligned<T, kPack>(b);
}

}  // namespace

std::vector<Piece> pieces_of(const Convolution& c, size_t element_bytes) {
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  const auto fits = [&](int64_t n) { return n <= kMost; };
  // The gradient by the filter may copy the output in the same pieces.
  const int64_t window = std::max(c.out_channels, checked_mul(c.height.size * c.width.size, c.in_channels, "window"));
  const int64_t row = checked_mul(window, c.width.output, "windows");
  const int64_t whole = checked_mul(row, c.height.output, "windows");
  const int64_t image = c.height.input * c.width.input * c.in_channels;
  const auto reach = [&](const WindowAxis& a) { return fits(a.input + a.before + a.after + a.stride + a.extent()); };
  if (!fits(row) || !fits(image) || !reach(c.height) || !reach(c.width)) {
    fail(Code::kUnimplemented, "image: expected fewer than 2^31 elements on a GPU, and so in a row's windows");
  }
  const auto most = static_cast<int64_t>(kPieceBytes / element_bytes);
  std::vector<Piece> pieces;
  if (whole <= most) {
    const int64_t each = std::min({c.batch, most / whole, kMost / image});
    const int64_t count = ceil_div(c.batch, each);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t begin = c.batch * i / count, end = c.batch * (i + 1) / count;
      pieces.push_back({begin, end - begin, 0, c.height.output});
    }
    return pieces;
  }
  const int64_t count = ceil_div(c.height.output, std::max<int64_t>(1, most / row));
  for (int64_t image_at = 0; image_at < c.batch; ++image_at) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t begin = c.height.output * i / count, end = c.height.output * (i + 1) / count;
      pieces.push_back({image_at, 1, begin, end - begin});
    }
  }
  return pieces;
}

template <class T>
void gather_windows(CudaDevice& device, const Convolution& c, const Piece& piece, const WindowSteps& steps,
                    const T* images, T* windows) {
  const DeviceUse stream = device.use();
  images += piece.image * c.height.input * c.width.input * c.in_channels;
  const int64_t taps = c.height.size * c.width.size, pixels = piece.images * piece.rows * c.width.output;
  if (c.channels_first()) {
    const auto n = static_cast<uint32_t>(pixels * taps * ceil_div(c.in_channels, kChannels));
    gather_first<<<grid_size(device, n), kThreads, 0, stream>>>(n, Map(c, piece, steps, 1), images, windows);
  } else {
    const auto run = [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      using V = Pack<T, kWidth>;
      const auto n = static_cast<uint32_t>(pixels * taps * (c.in_channels / kWidth));
      gather_last<<<grid_size(device, n), kThreads, 0, stream>>>(
          n, Map(c, piece, steps, kWidth), reinterpret_cast<const V*>(images), reinterpret_cast<V*>(windows));
    };
    if (fits_packs<T>(c, images, windows)) {
      run(std::integral_constant<int, kPackSize<T>>{});
    } else {
      run(std::integral_constant<int, 1>{});
    }
  }
  check(cudaGetLastError(), "starting a kernel");
}

template <class T>
void scatter_windows(CudaDevice& device, const Convolution& c, const Piece& piece, const WindowSteps& steps,
                     const T* windows, T* images, bool accumulate) {
  const DeviceUse stream = device.use();
  const int64_t image = c.height.input * c.width.input * c.in_channels;
  images += piece.image * image;
  const auto run = [&](auto first, auto width) {
    constexpr int kWidth = decltype(width)::value;
    using V = Pack<T, kWidth>;
    const auto n = static_cast<uint32_t>(piece.images * image / kWidth);
    scatter<decltype(first)::value><<<grid_size(device, n), kThreads, 0, stream>>>(
        n, Map(c, piece, steps, kWidth), reinterpret_cast<const V*>(windows), reinterpret_cast<V*>(images), accumulate);
  };
  if (c.channels_first()) {
    run(std::true_type{}, std::integral_constant<int, 1>{});
  } else if (fits_packs<T>(c, images, windows)) {
    run(std::false_type{}, std::integral_constant<int, kPackSize<T>>{});
  } else {
    run(std::false_type{}, std::integral_constant<int, 1>{});
  }
  check(cudaGetLastError(), "starting a kernel");
}

template void gather_windows(CudaDevice&, const Convolution&, const Piece&, const WindowSteps&, const float*, float*);
template void gather_windows(CudaDevice&, const Convolution&, const Piece&, const WindowSteps&, const double*, double*);
template void scatter_windows(CudaDevice&, const Convolution&, const Piece&, const WindowSteps&, const float*, float*,
                              bool);
template void scatter_windows(CudaDevice&, const Convolution&, const Piece&, const WindowSteps&, const double*, double*,
                              bool);

}  // namespace panto::cuda
