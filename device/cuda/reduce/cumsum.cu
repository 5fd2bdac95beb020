// Cumsum, Cumprod, CumulativeLogsumexp and the recurrence of their gradients.
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/reduce/reduce.cuh"
#include "panto/device/op_kernels.h"
#include "panto/device/shape/axes.h"
#include "panto/lib/ops/math_types.h"

namespace panto {
namespace {

// Lines along the axis are cut into parts. A first kernel adds (or multiplies) up each part, a second one scans these
// results to get the value before each part, and a third one scans the parts starting from that value.
struct Scan {
  int64_t lines = 1, size = 1,
          inner = 1;            // line l begins at l / inner * size * inner + l % inner, its elements are `inner` apart
  int64_t parts = 1, part = 1;  // part: elements per part
  bool exclusive = false, reverse = false;

  __device__ int64_t begin(int64_t line) const {
    const int64_t first = line / inner * size * inner + line % inner;
    return reverse ? first + (size - 1) * inner : first;
  }
  __device__ int64_t step() const { return reverse ? -inner : inner; }
};

constexpr int kScanThreads = 256;
constexpr int kEach = 4;  // contiguous elements of a thread

// One warp per part of a line. `before`: the values before the parts, [lines, parts], or null. If `sums`, of the same
// shape, is not null, computes only the parts' sums. `y` may be `x`.
template <class Op, class T>
__global__ void __launch_bounds__(kScanThreads)
    scan_rows(Scan s, const T* x, T* y, const Running<T>* before, Running<T>* sums) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t warps = int64_t{gridDim.x} * (kScanThreads / 32);
  const int64_t step = s.step();
  for (int64_t task = (int64_t{blockIdx.x} * kScanThreads + threadIdx.x) / 32; task < s.lines * s.parts;
       task += warps) {
    const int64_t part = task % s.parts;
    const int64_t start = s.begin(task / s.parts);
    const int64_t end = min(s.size, (part + 1) * s.part);
    Running<T> carry = before != nullptr ? before[task] : Op::template nothing<Running<T>>();
    for (int64_t first = part * s.part; first < end; first += 32 * kEach) {
      const int64_t mine = first + lane * kEach;
      Running<T> own[kEach];
      Running<T> sum = Op::template nothing<Running<T>>();
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        const auto v =
            mine + j < end ? convert<Running<T>>(x[start + (mine + j) * step]) : Op::template nothing<Running<T>>();
        own[j] = s.exclusive ? sum : Op::join(sum, v);
        sum = Op::join(sum, v);
      }
      Running<T> up_to = sum;  // sum of this lane and the lanes below
#pragma unroll
      for (int distance = 1; distance < 32; distance *= 2) {
        const Running<T> below = cuda::shuffle_up(up_to, distance);
        if (lane >= distance) up_to = Op::join(below, up_to);
      }
      const Running<T> below = cuda::shuffle_up(up_to, 1);
      const Running<T> from = lane == 0 ? carry : Op::join(carry, below);
      carry = Op::join(carry, cuda::shuffle_from(up_to, 31));
      if (sums != nullptr) continue;
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        if (mine + j < end) y[start + (mine + j) * step] = convert<T>(Op::join(from, own[j]));
      }
    }
    if (sums != nullptr && lane == 0) sums[task] = carry;
  }
}

// The same with one thread per part of a line, for lines side by side in memory.
template <class Op, class T>
__global__ void __launch_bounds__(kScanThreads)
    scan_columns(Scan s, const T* x, T* y, const Running<T>* before, Running<T>* sums) {
  const int64_t threads = int64_t{gridDim.x} * kScanThreads;
  const int64_t step = s.step();
  for (int64_t task = int64_t{blockIdx.x} * kScanThreads + threadIdx.x; task < s.lines * s.parts; task += threads) {
    const int64_t line = task % s.lines;
    const int64_t part = task / s.lines;
    const int64_t start = s.begin(line);
    const int64_t end = min(s.size, (part + 1) * s.part);
    Running<T> sum = before != nullptr ? before[line * s.parts + part] : Op::template nothing<Running<T>>();
    int64_t i = part * s.part;
    for (; i + kEach <= end; i += kEach) {
      T v[kEach];
#pragma unroll
      for (int j = 0; j < kEach; ++j) v[j] = x[start + (i + j) * step];
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        const Running<T> old = sum;
        sum = Op::join(sum, convert<Running<T>>(v[j]));
        if (sums == nullptr) y[start + (i + j) * step] = convert<T>(s.exclusive ? old : sum);
      }
    }
    for (; i < end; ++i) {
      const Running<T> old = sum;
      sum = Op::join(sum, convert<Running<T>>(x[start + i * step]));
      if (sums == nullptr) y[start + i * step] = convert<T>(s.exclusive ? old : sum);
    }
    if (sums != nullptr) sums[line * s.parts + part] = sum;
  }
}

template <class Op, class T>
void launch_scan(cudaStream_t stream, const Scan& s, const T* x, T* y, const Running<T>* before, Running<T>* sums) {
  const int64_t tasks = s.lines * s.parts;
  if (s.inner == 1) {
    scan_rows<Op>
        <<<cuda::blocks_for(ceil_div(tasks, kScanThreads / 32)), kScanThreads, 0, stream>>>(s, x, y, before, sums);
  } else {
    scan_columns<Op>
        <<<cuda::blocks_for(ceil_div(tasks, kScanThreads)), kScanThreads, 0, stream>>>(s, x, y, before, sums);
  }
  cuda::check(cudaGetLastError(), "starting a kernel");
}

template <class Op>
struct Cumulative {
  template <class T>
  static void run(KernelContext& c) {
    const AlongAxis along(c.shape(0), axis_at(c, 1, 0, c.shape(0).rank()));
    if (c.numel(0) == 0) return;
    cuda::CudaDevice& device = cuda::device_of(c);
    const cuda::DeviceUse stream = device.use();
    Scan s;
    s.lines = along.outer * along.inner;
    s.size = along.size;
    s.inner = along.inner;
    s.exclusive = c.flag("exclusive");
    s.reverse = c.flag("reverse");
    // Enough threads to keep a GPU busy, but parts long enough to be worth it.
    const int64_t wanted = s.inner == 1 ? 4096 : 65536;
    const int64_t most = s.size / (s.inner == 1 ? 1024 : 32);
    s.part = ceil_div(s.size, std::max<int64_t>(1, std::min(ceil_div(wanted, s.lines), most)));
    s.parts = ceil_div(s.size, s.part);
    const T* x = c.data<T>(0);
    T* y = c.out_data<T>(0);
    if (s.parts == 1) return launch_scan<Op, T>(stream, s, x, y, nullptr, nullptr);
    const Scratch<Running<T>> sums(device, checked_mul(s.lines, s.parts));
    launch_scan<Op, T>(stream, s, x, nullptr, nullptr, sums.data());
    Scan over_parts;
    over_parts.lines = s.lines;
    over_parts.size = over_parts.part = s.parts;
    over_parts.exclusive = true;
    launch_scan<Op, Running<T>>(stream, over_parts, sums.data(), sums.data(), nullptr, nullptr);
    launch_scan<Op, T>(stream, s, x, y, sums.data(), nullptr);
  }
};
const CudaKernel cumsum_kernel("Cumsum", types::of<"Cumsum">{}, Cumulative<RunningSum>{});
const CudaKernel cumprod_kernel("Cumprod", types::of<"Cumprod">{}, Cumulative<RunningProduct>{});
const CudaKernel logsumexp_kernel("CumulativeLogsumexp", types::of<"CumulativeLogsumexp">{},
                                  Cumulative<RunningLogSum>{});

// One thread per line, without a parallel scan: second derivatives of products are rare.
template <class T>
__global__ void __launch_bounds__(kScanThreads) run_recurrence(Scan s, const T* a, const T* b, T* y) {
  const int64_t threads = int64_t{gridDim.x} * kScanThreads;
  const int64_t step = s.step();
  for (int64_t line = int64_t{blockIdx.x} * kScanThreads + threadIdx.x; line < s.lines; line += threads) {
    const int64_t start = s.begin(line);
    Running<T> state(0);
    for (int64_t i = 0; i < s.size; ++i) {
      const int64_t at = start + i * step;
      const Running<T> next = k::add(k::mul(convert<Running<T>>(a[at]), state), convert<Running<T>>(b[at]));
      y[at] = convert<T>(state);
      state = next;
    }
  }
}

struct LinearRecurrence {
  template <class T>
  static void run(KernelContext& c) {
    const AlongAxis along(c.shape(0), axis_at(c, 2, 0, c.shape(0).rank()));
    if (c.numel(0) == 0) return;
    Scan s;
    s.lines = along.outer * along.inner;
    s.size = along.size;
    s.inner = along.inner;
    s.reverse = c.flag("reverse");
    run_recurrence<<<cuda::blocks_for(ceil_div(s.lines, kScanThreads)), kScanThreads, 0, cuda::device_of(c).use()>>>(
        s, c.data<T>(0), c.data<T>(1), c.out_data<T>(0));
    cuda::check(cudaGetLastError(), "starting a kernel");
  }
};
const CudaKernel recurrence_kernel("_LinearRecurrence", types::of<"_LinearRecurrence">{}, LinearRecurrence{});

}  // namespace
}  // namespace panto
