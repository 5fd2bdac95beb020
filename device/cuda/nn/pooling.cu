// Kernels of pools and their gradients. Each thread computes one element. Gradients gather from their windows, in the
// windows' order, so that results are the same on every run.
#include <algorithm>
#include <string>

#include "panto/device/cuda/conv/window_side.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/reduce/reduce.cuh"
#include "panto/device/pool.h"

namespace panto {
namespace {

using cuda::CudaDevice;

// Sizes are below 2^30, so that no position overflows 32 bits.
struct Axis : cuda::Side {
  int output;

  // The input may be empty: then all windows are padding.
  explicit Axis(const WindowAxis& a) : Side(checked(a)), output(static_cast<int>(a.output)) {
    input = static_cast<int>(a.input);
  }
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
  static WindowAxis checked(WindowAxis a) {
    for (const int64_t v : {a.input, a.size, a.stride, a.before, a.output, a.output * a.stride}) {
      if (v >= 1 << 30) {
        fail(Code::kUnimplemented, "pool: expected sizes below 2^30 on a GPU, got " + std::to_string(v));
      }
    }
    a.input = std::max<int64_t>(1, a.input);  // it becomes a divisor
    return a;
  }
};

struct Pool {
  Axis height, width;
  int64_t images, lanes;

  explicit Pool(const PoolShape& p) : height(p.height), width(p.width), images(p.images), lanes(p.lanes) {
    if (p.height.input * p.width.input > INT32_MAX) {
      fail(Code::kUnimplemented, "pool: expected images below 2^31 pixels on a GPU");
    }
  }
  // Offsets of lane `lane` of image n.
  __device__ int64_t input_at(int64_t n, int64_t lane) const { return n * height.input * width.input * lanes + lane; }
  __device__ int64_t output_at(int64_t n, int64_t lane) const {
    return n * height.output * width.output * lanes + lane;
  }
  __device__ int count(int y, int x) const {
    return (height.end(y) - height.begin(y)) * (width.end(x) - width.begin(x));
  }
};

// out[i] = body(image, y, x, lane) for all elements of images of this size.
template <class Index, class T, class Body>
__global__ void __launch_bounds__(cuda::kThreads)
    run_pixels(Index n, cuda::Divisor<Index> height, cuda::Divisor<Index> width, cuda::Divisor<Index> lanes, T* out,
               Body body) {
  const auto step = static_cast<Index>(gridDim.x) * cuda::kThreads;
  for (auto i = static_cast<Index>(blockIdx.x) * cuda::kThreads + threadIdx.x; i < n; i += step) {
    const Index pixel = lanes.quotient(i);
    const Index row = width.quotient(pixel);
    const Index image = height.quotient(row);
    out[i] = body(static_cast<int64_t>(image), static_cast<int>(row - image * height.value()),
                  static_cast<int>(pixel - row * width.value()), static_cast<int64_t>(i - pixel * lanes.value()));
  }
}

template <class T, class Body>
void over_pixels(CudaDevice& device, int64_t images, int height, int width, int64_t lanes, T* out, const Body& body) {
  const cuda::DeviceUse stream = device.use();
  const int64_t total = images * height * width * lanes;
  const auto blocks = static_cast<unsigned>(std::min<int64_t>(ceil_div(total, cuda::kThreads), 1 << 20));
  const auto launch = [&]<class Index>(Index) {
    using Divisor = cuda::Divisor<Index>;
    run_pixels<Index><<<blocks, cuda::kThreads, 0, stream>>>(static_cast<Index>(total), Divisor(height), Divisor(width),
                                                             Divisor(lanes), out, body);
  };
  total <= INT32_MAX ? launch(uint32_t{0}) : launch(uint64_t{0});
  cuda::check(cudaGetLastError(), "starting a kernel");
}
template <class T, class Body>
void over_outputs(CudaDevice& device, const Pool& p, T* out, const Body& body) {
  over_pixels(device, p.images, p.height.output, p.width.output, p.lanes, out, body);
}
template <class T, class Body>
void over_inputs(CudaDevice& device, const Pool& p, T* out, const Body& body) {
  over_pixels(device, p.images, p.height.input, p.width.input, p.lanes, out, body);
}

// Calls f(pixel of the image) for each pixel of the window at (y, x).
template <class F>
__device__ void for_window(const Pool& p, int y, int x, const F& f) {
  const int end_y = p.height.end(y);
  const int begin_x = p.width.begin(x);
  const int end_x = p.width.end(x);
  for (int i = p.height.begin(y); i < end_y; ++i) {
    for (int j = begin_x; j < end_x; ++j) f(i * p.width.input + j);
  }
}
// Calls f(row, column) for each window that contains pixel (y, x).
template <class F>
__device__ void for_windows_of(const Pool& p, int y, int x, const F& f) {
  const int last_y = p.height.last(y);
  const int first_x = p.width.first(x);
  const int last_x = p.width.last(x);
  for (int i = p.height.first(y); i < last_y; ++i) {
    for (int j = first_x; j < last_x; ++j) f(i, j);
  }
}

template <class T>
struct LargestOfWindow {
  Pool p;
  const T* in;
  __device__ T operator()(int64_t n, int y, int x, int64_t lane) const {
    const T* from = in + p.input_at(n, lane);
    T best = lowest<T>();
    for_window(p, y, x, [&](int pixel) {
      const T v = from[pixel * p.lanes];
      best = beats(v, best) ? v : best;
    });
    return best;
  }
};

struct MaxPoolKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Pool p(PoolShape(c, c.shape(0)));
    over_outputs(cuda::device_of(c), p, c.out_data<T>(0), LargestOfWindow<T>{p, c.data<T>(0)});
  }
};

// Returns the pixel of the window's largest element, the first if several are equal; -1 if the window is only padding.
template <class T>
__device__ int largest_pixel(const Pool& p, const T* from, int y, int x) {
  int chosen = -1;
  T best{};
  for_window(p, y, x, [&](int pixel) {
    const T v = from[pixel * p.lanes];
    if (chosen >= 0 && !beats(v, best)) return;
    best = v;
    chosen = pixel;
  });
  return chosen;
}

template <class T>
struct LargestPixel {
  Pool p;
  const T* in;
  __device__ int operator()(int64_t n, int y, int x, int64_t lane) const {
    return largest_pixel(p, in + p.input_at(n, lane), y, x);
  }
};

template <class T>
struct MaxPoolGradient {
  Pool p;
  const int* chosen;
  const T* dy;
  __device__ T operator()(int64_t n, int y, int x, int64_t lane) const {
    const int pixel = y * p.width.input + x;
    const int64_t base = p.output_at(n, lane);
    T sum{0};
    for_windows_of(p, y, x, [&](int oy, int ox) {
      const int64_t at = base + (int64_t{oy} * p.width.output + ox) * p.lanes;
      if (chosen[at] == pixel) sum = k::add(sum, dy[at]);
    });
    return sum;
  }
};

struct MaxPoolGradKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    CudaDevice& device = cuda::device_of(c);
    const Pool p(PoolShape(c, c.shape(0)));
    const Scratch<int> chosen(device, c.numel(2));
    if (c.numel(2) > 0) over_outputs(device, p, chosen.data(), LargestPixel<T>{p, c.data<T>(0)});
    over_inputs(device, p, c.out_data<T>(0), MaxPoolGradient<T>{p, chosen.data(), c.data<T>(2)});
  }
};

template <class T>
struct GradientOfLargest {
  Pool p;
  const T* in;
  const T* ddx;
  __device__ T operator()(int64_t n, int y, int x, int64_t lane) const {
    const int64_t base = p.input_at(n, lane);
    const int pixel = largest_pixel(p, in + base, y, x);
    return pixel < 0 ? T{0} : ddx[base + pixel * p.lanes];
  }
};

struct MaxPoolGradGradKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Pool p(PoolShape(c, c.shape(0)));
    over_outputs(cuda::device_of(c), p, c.out_data<T>(0), GradientOfLargest<T>{p, c.data<T>(0), c.data<T>(2)});
  }
};

template <class T>
struct MeanOfWindow {
  Pool p;
  const T* in;
  __device__ T operator()(int64_t n, int y, int x, int64_t lane) const {
    const T* from = in + p.input_at(n, lane);
    T sum{0};
    for_window(p, y, x, [&](int pixel) { sum += from[pixel * p.lanes]; });
    return sum / static_cast<T>(p.count(y, x));
  }
};

struct AvgPoolKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Pool p(PoolShape(c, c.shape(0)));
    over_outputs(cuda::device_of(c), p, c.out_data<T>(0), MeanOfWindow<T>{p, c.data<T>(0)});
  }
};

template <class T>
struct AvgPoolGradient {
  Pool p;
  const T* dy;
  __device__ T operator()(int64_t n, int y, int x, int64_t lane) const {
    const int64_t base = p.output_at(n, lane);
    T sum{0};
    for_windows_of(p, y, x, [&](int oy, int ox) {
      sum += dy[base + (int64_t{oy} * p.width.output + ox) * p.lanes] / static_cast<T>(p.count(oy, ox));
    });
    return sum;
  }
};

struct AvgPoolGradKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Pool p(PoolShape(c, c.out_shape(0)));
    over_inputs(cuda::device_of(c), p, c.out_data<T>(0), AvgPoolGradient<T>{p, c.data<T>(1)});
  }
};

using Poolable = TypeList<float, double, int32_t, int64_t, int8_t, int16_t, uint8_t, uint16_t>;
const CudaKernel max_pool_kernel("MaxPool", Poolable{}, MaxPoolKernel{});
const CudaKernel max_pool_grad_kernel("MaxPoolGrad", types::numeric{}, MaxPoolGradKernel{});
const CudaKernel max_pool_grad_grad_kernel("MaxPoolGradGrad", types::numeric{}, MaxPoolGradGradKernel{});
const CudaKernel avg_pool_kernel("AvgPool", types::floating{}, AvgPoolKernel{});
const CudaKernel avg_pool_grad_kernel("AvgPoolGrad", types::floating{}, AvgPoolGradKernel{});

}  // namespace
}  // namespace panto
