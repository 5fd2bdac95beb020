// Sum over axes. Each result is the work of one block of threads, or of several whose parts are added up afterwards;
// the order of additions depends on shapes only, so results are the same on every run.
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/loops.cuh"

namespace panto {
namespace {

// The dimensions that are kept or summed, innermost first, with the input's strides.
struct Walk {
  int rank = 0;
  int64_t count = 1;
  int64_t size[cuda::kMaxMapRank];
  int64_t stride[cuda::kMaxMapRank];

  void add(int64_t s, int64_t t) {
    if (rank == cuda::kMaxMapRank) {
      fail(Code::kUnimplemented, "input: expected at most 16 dimensions that alternate between kept and summed");
    }
    size[rank] = s;
    stride[rank] = t;
    ++rank;
    count *= s;
  }
  __device__ int64_t offset(int64_t at) const {
    int64_t result = 0;
    for (int d = 0; d < rank; ++d) {
      const int64_t next = at / size[d];
      result += (at - next * size[d]) * stride[d];
      at = next;
    }
    return result;
  }
};

// Block b sums part b % parts of result b / parts.
template <class T>
__global__ void __launch_bounds__(cuda::kThreads)
    sum_parts(Walk kept, Walk summed, int64_t parts, const T* in, T* out) {
  __shared__ T sums[cuda::kThreads];
  for (int64_t b = blockIdx.x; b < kept.count * parts; b += gridDim.x) {
    const T* from = in + kept.offset(b / parts);
    const int64_t part = b % parts;
    const int64_t end = summed.count / parts * (part + 1) + min(part + 1, summed.count % parts);
    T sum{0};
    for (int64_t i = summed.count / parts * part + min(part, summed.count % parts) + threadIdx.x; i < end;
         i += cuda::kThreads) {
      sum = k::add(sum, from[summed.offset(i)]);
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = cuda::kThreads / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) sums[threadIdx.x] = k::add(sums[threadIdx.x], sums[threadIdx.x + half]);
      __syncthreads();
    }
    if (threadIdx.x == 0) out[b] = sums[0];
    __syncthreads();  // before the next round writes `sums`
  }
}

template <class T>
void launch(const Walk& kept, const Walk& summed, int64_t parts, const T* in, T* out, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(std::min<int64_t>(kept.count * parts, int64_t{1} << 20));
  sum_parts<<<blocks, cuda::kThreads, 0, stream>>>(kept, summed, parts, in, out);
  cuda::check(cudaGetLastError(), "starting a kernel");
}

template <class T>
void sum(KernelContext& c) {
  const int64_t results = c.out_numel(0);
  if (results == 0) return;
  cuda::CudaDevice& device = cuda::device_of(c);
  cudaStream_t stream = device.use();
  T* out = c.out_data<T>(0);
  if (c.numel(0) == 0) {
    cuda::check(cudaMemsetAsync(out, 0, static_cast<size_t>(results) * sizeof(T), stream), "filling with zeros");
    return;
  }
  // The kept dimensions are those in which a tensor would move that broadcasts back to the input's shape. The shape
  // function has checked the axes.
  const Shape& shape = c.shape(0);
  SmallVector<int64_t, 8> dims(shape.dims().begin(), shape.dims().end());
  for (int64_t i = 0; i < c.numel(1); ++i) {
    const int64_t axis = c.in(1).dtype() == kInt32 ? c.data<int32_t>(1)[i] : c.data<int64_t>(1)[i];
    dims[static_cast<size_t>(axis < 0 ? axis + shape.rank() : axis)] = 1;
  }
  const PartialShape kept_shape{std::span<const int64_t>(dims)};
  BroadcastMap<2> map;
  make_broadcast_map<2>(shape, {&shape, &kept_shape}, map);
  Walk kept;
  Walk summed;
  for (int d = 0; d < map.rank; ++d) (map.stride[d][1] != 0 ? kept : summed).add(map.size[d], map.stride[d][0]);

  // Few results of many elements would leave most of the GPU idle.
  constexpr int64_t kPart = 16 * 1024;
  const int64_t wanted = int64_t{4} * device.multiprocessors() / results;
  const int64_t parts = std::max<int64_t>(1, std::min(wanted, summed.count / kPart));
  if (parts == 1) return launch(kept, summed, 1, c.data<T>(0), out, stream);
  // Memory that is given back at once is not handed to anybody whose work comes before these two kernels.
  const Tensor scratch = allocate_tensor(device, dtype_of<T>, Shape{results * parts});
  launch(kept, summed, parts, c.data<T>(0), mutable_data<T>(scratch), stream);
  Walk rows;
  rows.add(results, parts);
  Walk row;
  row.add(parts, 1);
  launch(rows, row, 1, static_cast<const T*>(mutable_data<T>(scratch)), out, stream);
}

struct Sum {
  template <class T>
  static void run(KernelContext& c) {
    sum<T>(c);
  }
};
const CudaKernel sum_kernel("Sum", types::numeric{}, Sum{});

}  // namespace
}  // namespace panto
