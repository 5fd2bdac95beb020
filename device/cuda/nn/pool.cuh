// The loops of pools on the GPU. Each thread computes one element. Gradients gather from their windows, in the windows'
// order, so that results are the same on every run.
//
// Rows of a volume are counted over all its depths; images have depth 1.
#pragma once

#include <algorithm>
#include <cstdint>

#include "panto/device/cuda/conv/window_side.cuh"
#include "panto/device/cuda/elementwise/loops.cuh"
#include "panto/device/pool.h"

namespace panto::cuda {

// Windows without gaps.
struct PoolSide : WindowSide {
  using WindowSide::WindowSide;
  // The window at o has the positions [begin, end), without padding.
  __device__ int begin(int o) const { return max(0, o * stride - before); }
  __device__ int end(int o) const { return min(input, o * stride - before + size); }
  // The windows [first, last) contain position i.
  __device__ int first(int i) const {
    const int from = i + before - size + 1;
    return from <= 0 ? 0 : windows_up_to(from - 1);
  }
  __device__ int last(int i) const { return min(output, windows_up_to(i + before)); }

 private:
  // Number of windows that begin at most `distance` >= 0 after the first one.
  __device__ int windows_up_to(int distance) const {
    return static_cast<int>(by_stride.quotient(static_cast<uint32_t>(distance))) + 1;
  }
};

struct Pool {
  PoolSide depth, height, width;
  int64_t images, lanes;

  explicit Pool(const PoolShape& p)
      : depth(p.depth), height(p.height), width(p.width), images(p.images), lanes(p.lanes) {
    if (checked_mul(p.depth.input, p.height.input * p.width.input, "image") > INT32_MAX ||
        checked_mul(p.depth.output, p.height.output, "rows") > INT32_MAX) {
      fail(Code::kUnimplemented, "pool: expected images below 2^31 pixels on a GPU");
    }
  }
  // Offsets of lane `lane` of image n.
  __device__ int64_t input_at(int64_t n, int64_t lane) const {
    return n * depth.input * height.input * width.input * lanes + lane;
  }
  __device__ int64_t output_at(int64_t n, int64_t lane) const {
    return n * depth.output * height.output * width.output * lanes + lane;
  }
  // The same of an element of the output.
  __device__ int64_t output_at(int64_t n, int row, int x, int64_t lane) const {
    return output_at(n, lane) + (int64_t{row} * width.output + x) * lanes;
  }
  // The number of pixels in the window at (row, x).
  __device__ int count(int row, int x) const {
    const int z = plane(row, depth.output, height.output);
    const int y = row - z * height.output;
    return (depth.end(z) - depth.begin(z)) * (height.end(y) - height.begin(y)) * (width.end(x) - width.begin(x));
  }
  // Returns the depth of a row.
  __device__ static int plane(int row, int depth, int height) { return depth == 1 ? 0 : row / height; }
};

// out[i] = body(image, row, x, lane) for all elements of images of this size.
template <class Index, class T, class Body>
__global__ void __launch_bounds__(kThreads)
    run_pixels(Index n, Divisor<Index> rows, Divisor<Index> width, Divisor<Index> lanes, T* out, Body body) {
  const auto step = static_cast<Index>(gridDim.x) * kThreads;
  for (auto i = static_cast<Index>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += step) {
    const Index pixel = lanes.quotient(i);
    const Index row = width.quotient(pixel);
    const Index image = rows.quotient(row);
    out[i] = body(static_cast<int64_t>(image), static_cast<int>(row - image * rows.value()),
                  static_cast<int>(pixel - row * width.value()), static_cast<int64_t>(i - pixel * lanes.value()));
  }
}

template <class T, class Body>
void over_pixels(CudaDevice& device, int64_t images, int64_t rows, int64_t width, int64_t lanes, T* out,
                 const Body& body) {
  const DeviceUse stream = device.use();
  const int64_t total = images * rows * width * lanes;
  const auto blocks = static_cast<unsigned>(std::min<int64_t>(ceil_div(total, kThreads), 1 << 20));
  const auto launch = [&]<class Index>(Index) {
    using Divided = Divisor<Index>;
    run_pixels<Index><<<blocks, kThreads, 0, stream>>>(static_cast<Index>(total), Divided(rows), Divided(width),
                                                       Divided(lanes), out, body);
  };
  total <= INT32_MAX ? launch(uint32_t{0}) : launch(uint64_t{0});
  check(cudaGetLastError(), "starting a kernel");
}
// Precondition: there are elements.
template <class T, class Body>
void over_outputs(CudaDevice& device, const Pool& p, T* out, const Body& body) {
  over_pixels(device, p.images, int64_t{p.depth.output} * p.height.output, p.width.output, p.lanes, out, body);
}
template <class T, class Body>
void over_inputs(CudaDevice& device, const Pool& p, T* out, const Body& body) {
  over_pixels(device, p.images, int64_t{p.depth.input} * p.height.input, p.width.input, p.lanes, out, body);
}

// Calls f(pixel of the image) for each pixel of the window at (row, x).
template <class F>
__device__ void for_window(const Pool& p, int row, int x, const F& f) {
  const int z = Pool::plane(row, p.depth.output, p.height.output);
  const int y = row - z * p.height.output;
  const int end_z = p.depth.end(z), end_y = p.height.end(y), end_x = p.width.end(x);
  const int begin_y = p.height.begin(y), begin_x = p.width.begin(x);
  for (int h = p.depth.begin(z); h < end_z; ++h) {
    for (int i = begin_y; i < end_y; ++i) {
      for (int j = begin_x; j < end_x; ++j) f((h * p.height.input + i) * p.width.input + j);
    }
  }
}
// Calls f(row, column) for each window that contains the pixel (row, x) of the input.
template <class F>
__device__ void for_windows_of(const Pool& p, int row, int x, const F& f) {
  const int z = Pool::plane(row, p.depth.input, p.height.input);
  const int y = row - z * p.height.input;
  const int last_z = p.depth.last(z), last_y = p.height.last(y), last_x = p.width.last(x);
  const int first_y = p.height.first(y), first_x = p.width.first(x);
  for (int h = p.depth.first(z); h < last_z; ++h) {
    for (int i = first_y; i < last_y; ++i) {
      for (int j = first_x; j < last_x; ++j) f(h * p.height.output + i, j);
    }
  }
}

}  // namespace panto::cuda
