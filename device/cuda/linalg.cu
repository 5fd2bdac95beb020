// Kernels of the matrix products: cuBLAS for floats, tiles in shared memory for integers, whose sums wrap.
#include <type_traits>

#include "panto/device/cuda/blas.h"
#include "panto/device/cuda/elementwise/epilogue.h"
#include "panto/device/cuda/elementwise/in_wider.cuh"
#include "panto/device/cuda/elementwise/loops.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/shape/gemm_size.h"

namespace panto {
namespace {

// Maps product i of a batch to the numbers of its matrices.
using BatchMap = cuda::Mapped<2, int64_t>;

template <class T>
__global__ void __launch_bounds__(cuda::kThreads)
    find_matrices(int64_t count, BatchMap map, GemmSize s, const T* x, const T* y, T* out, const T** all_x,
                  const T** all_y, T** all_out) {
  const int64_t step = int64_t{blockDim.x} * gridDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const cuda::Offsets<2> from = map.at(i);
    all_x[i] = x + from.at[0] * s.m * s.k;
    all_y[i] = y + from.at[1] * s.k * s.n;
    all_out[i] = out + i * s.m * s.n;
  }
}

// ---- Integers ------------------------------------------------------------------------------------------------------

constexpr int kSide = 64;   // side of the result tile that one block computes
constexpr int kDepth = 16;  // depth of the tiles in shared memory
constexpr int kOwn = 4;     // side of the square that one thread computes

// A factor, which may be transposed: `row` and `column` are its strides.
template <class T>
struct Matrix {
  const T* data;
  int64_t row, column;
};

template <class T>
__global__ void __launch_bounds__(cuda::kThreads)
    multiply_integers(int64_t count, BatchMap map, GemmSize s, Matrix<T> x, Matrix<T> y, T* out) {
  static_assert(kSide / kOwn * (kSide / kOwn) == cuda::kThreads);
  __shared__ T left[kDepth][kSide + 1], right[kDepth][kSide + 1];
  const int thread = static_cast<int>(threadIdx.x);
  const int own_row = thread / (kSide / kOwn), own_column = thread % (kSide / kOwn);
  for (int64_t i = blockIdx.z; i < count; i += gridDim.z) {
    const cuda::Offsets<2> from = map.at(i);
    const T* a = x.data + from.at[0] * s.m * s.k;
    const T* b = y.data + from.at[1] * s.k * s.n;
    for (int64_t top = int64_t{blockIdx.y} * kSide; top < s.m; top += int64_t{gridDim.y} * kSide) {
      const int64_t first = int64_t{blockIdx.x} * kSide;
      T sums[kOwn][kOwn] = {};
      for (int64_t depth = 0; depth < s.k; depth += kDepth) {
        // Coalesced: neighbouring threads read neighbouring elements.
        for (int e = thread; e < kSide * kDepth; e += cuda::kThreads) {
          const int k = x.column == 1 ? e % kDepth : e / kSide, r = x.column == 1 ? e / kDepth : e % kSide;
          const bool inside = top + r < s.m && depth + k < s.k;
          left[k][r] = inside ? a[(top + r) * x.row + (depth + k) * x.column] : T{0};
        }
        for (int e = thread; e < kSide * kDepth; e += cuda::kThreads) {
          const int k = y.column == 1 ? e / kSide : e % kDepth, r = y.column == 1 ? e % kSide : e / kDepth;
          const bool inside = first + r < s.n && depth + k < s.k;
          right[k][r] = inside ? b[(depth + k) * y.row + (first + r) * y.column] : T{0};
        }
        __syncthreads();
        for (int k = 0; k < kDepth; ++k) {
          for (int r = 0; r < kOwn; ++r) {
            for (int q = 0; q < kOwn; ++q) {
              sums[r][q] += left[k][own_row * kOwn + r] * right[k][own_column + q * (kSide / kOwn)];
            }
          }
        }
        __syncthreads();
      }
      for (int r = 0; r < kOwn; ++r) {
        for (int q = 0; q < kOwn; ++q) {
          const int64_t row = top + own_row * kOwn + r, column = first + own_column + q * (kSide / kOwn);
          if (row < s.m && column < s.n) out[(i * s.m + row) * s.n + column] = sums[r][q];
        }
      }
    }
  }
}

// ---- All products --------------------------------------------------------------------------------------------------

template <class T>
void multiply_batch(KernelContext& c, const GemmSize& s, const BroadcastMap<2>& batch) {
  if (c.out_numel(0) == 0) return;
  int64_t count = 1;
  for (int d = 0; d < batch.rank; ++d) count *= batch.size[d];
  cuda::CudaDevice& device = cuda::device_of(c);
  const cuda::DeviceUse stream = device.use();
  T* out = c.out_data<T>(0);
  if (s.k == 0) {
    cuda::check(cudaMemsetAsync(out, 0, c.out(0).nbytes(), stream), "filling with zeros");
    return;
  }
  const T *x = c.data<T>(0), *y = c.data<T>(1);
  if constexpr (std::is_floating_point_v<T>) {
    cuda::Product product{.m = s.m,
                          .n = s.n,
                          .k = s.k,
                          .transpose_a = s.transpose_a,
                          .transpose_b = s.transpose_b,
                          .lda = s.transpose_a ? s.m : s.k,
                          .ldb = s.transpose_b ? s.k : s.n,
                          .ldc = s.n,
                          .count = count,
                          .step_a = batch.stride[0][0] * s.m * s.k,
                          .step_b = batch.stride[0][1] * s.k * s.n,
                          .step_c = s.m * s.n};
    if (batch.rank == 1) {
      // With a shared right factor, all left factors together are one matrix.
      if (product.step_b == 0 && product.step_a != 0 && !s.transpose_a) {
        product.m *= count;
        product.count = 1;
      }
      return cuda::multiply(device, product, x, y, out);
    }
    const Tensor addresses = allocate_tensor(device, kUint64, Shape{3 * count});
    auto* all_x = reinterpret_cast<const T**>(mutable_data<uint64_t>(addresses));
    const T** all_y = all_x + count;
    auto* all_out = reinterpret_cast<T**>(mutable_data<uint64_t>(addresses) + 2 * count);
    find_matrices<<<cuda::grid_size(device, count), cuda::kThreads, 0, stream>>>(count, BatchMap(batch), s, x, y, out,
                                                                                 all_x, all_y, all_out);
    cuda::check(cudaGetLastError(), "starting a kernel");
    cuda::multiply(device, product, all_x, all_y, all_out);
  } else {
    using U = std::make_unsigned_t<T>;
    const Matrix<U> left{reinterpret_cast<const U*>(x), s.transpose_a ? 1 : s.k, s.transpose_a ? s.m : 1};
    const Matrix<U> right{reinterpret_cast<const U*>(y), s.transpose_b ? 1 : s.n, s.transpose_b ? s.k : 1};
    const int64_t columns = ceil_div(s.n, kSide);
    if (columns > INT32_MAX) fail(Code::kUnimplemented, "columns: expected fewer than 2^37 on a GPU");
    constexpr int64_t kMostBlocks = 65535;
    const dim3 grid(static_cast<unsigned>(columns), static_cast<unsigned>(std::min(kMostBlocks, ceil_div(s.m, kSide))),
                    static_cast<unsigned>(std::min(kMostBlocks, count)));
    multiply_integers<<<grid, cuda::kThreads, 0, stream>>>(count, BatchMap(batch), s, left, right,
                                                           reinterpret_cast<U*>(out));
    cuda::check(cudaGetLastError(), "starting a kernel");
  }
}

template <class T>
GemmSize multiply_two(KernelContext& c) {
  const GemmSize s = gemm_size(c.shape(0), c.shape(1), c.flag("transpose_a"), c.flag("transpose_b"));
  multiply_batch<T>(c, s, batch_map(c.shape(0), c.shape(1), c.out_shape(0)));
  return s;
}

struct MatMul {
  template <class T>
  static void run(KernelContext& c) {
    multiply_two<T>(c);
  }
};
using Numbers = TypeList<float, double, int32_t, int64_t, Half, BFloat16>;
const CudaKernel matmul_kernel("MatMul", Numbers{}, CudaInWider<MatMul>{});

struct BatchMatMul {
  template <class T>
  static void run(KernelContext& c) {
    const GemmSize s = gemm_size(c.shape(0), c.shape(1), c.flag("adj_x"), c.flag("adj_y"));
    multiply_batch<T>(c, s, batch_map(c.shape(0), c.shape(1), c.out_shape(0)));
  }
};
const CudaKernel batch_matmul_kernel("BatchMatMulV2", Numbers{}, CudaInWider<BatchMatMul>{});

// cublasLt's epilogues would save a pass over the result, but its products are not bit-identical to MatMul's, and it
// has only two of the activations.
struct FusedMatMul {
  template <class T>
  static void run(KernelContext& c) {
    const GemmSize s = multiply_two<T>(c);
    cuda::finish(c, s.m, s.n, 1);
  }
};
const CudaKernel fused_matmul_kernel("_FusedMatMul", TypeList<float>{}, FusedMatMul{});

}  // namespace
}  // namespace panto
