#include "panto/device/cuda/array/array_index.h"

#include <algorithm>

#include "panto/device/cuda/array/index_list.cuh"
#include "panto/device/cuda/storage.cuh"

namespace panto::cuda {
namespace {

__global__ void __launch_bounds__(kThreads) look_at_indices(IndexList list, int64_t low, int64_t limit, Fault* fault) {
  const int64_t step = int64_t{blockDim.x} * gridDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < list.count; i += step) {
    const int64_t index = index_at(list, i);
    if (index < low || index >= limit) note(fault, Fault::kIndexOutOfRange);
  }
}

// ---- Gather --------------------------------------------------------------------------------------------------------

template <class Index>
struct GatherPlan {
  Index count;  // number of output elements
  Index limit;
  Divisor<Index> outer, inner, each;
};

template <class T, class Index>
__global__ void __launch_bounds__(kThreads)
    gather_elements(const GatherPlan<Index> plan, IndexList indices, const T* params, T* out, Fault* fault) {
  const Index first = static_cast<Index>(blockIdx.x) * kBlock + threadIdx.x;
  T values[kEach];
  bool found[kEach];
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const Index i = first + static_cast<Index>(k * kThreads);
    found[k] = false;
    if (i >= plan.count) continue;
    const Index row = plan.inner.quotient(i);
    const Index block = plan.each.quotient(row);  // batch * outer + o
    const Index j = row - block * plan.each.value();
    const int64_t index = index_at(indices, plan.outer.quotient(block) * plan.each.value() + j);
    found[k] = index >= 0 && index < static_cast<int64_t>(plan.limit);
    if (found[k]) {
      const Index from = block * plan.limit + static_cast<Index>(index);
      values[k] = params[from * plan.inner.value() + (i - row * plan.inner.value())];
    } else {
      note(fault, Fault::kIndexOutOfRange);
    }
  }
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    if (found[k]) out[first + static_cast<Index>(k * kThreads)] = values[k];
  }
}

template <class T, class Index>
void run_gather(CudaDevice& device, const GatherDims& dims, const void* params, const IndexList& indices, void* out) {
  GatherPlan<Index> plan;
  const int64_t n = dims.batch * dims.outer * dims.each * dims.inner;
  plan.count = static_cast<Index>(n);
  plan.limit = static_cast<Index>(dims.limit);
  plan.outer = Divisor<Index>(dims.outer);
  plan.inner = Divisor<Index>(dims.inner);
  plan.each = Divisor<Index>(dims.each);
  gather_elements<<<blocks_for(n, kBlock), kThreads, 0, device.use()>>>(plan, indices, static_cast<const T*>(params),
                                                                        static_cast<T*>(out), device.fault());
}

// ---- One-hot -------------------------------------------------------------------------------------------------------

// Each thread writes kRun contiguous elements at once.
template <class T, int kRun, class Index>
__global__ void __launch_bounds__(kThreads) one_hot_runs(Index n, Divisor<Index> depth, Divisor<Index> inner,
                                                         IndexList indices, const T* on, const T* off, T* out) {
  const Index begin = (static_cast<Index>(blockIdx.x) * kThreads + threadIdx.x) * kRun;
  if (begin >= n) return;
  const T yes = *on;
  const T no = *off;
  const Index line = inner.quotient(begin);
  Index k = begin - line * inner.value();
  Index o = depth.quotient(line);
  Index d = line - o * depth.value();
  int64_t hot = index_at(indices, o * inner.value() + k);
  Pack<T, kRun> run;
#pragma unroll
  for (int i = 0; i < kRun; ++i) {
    run.v[i] = hot == static_cast<int64_t>(d) ? yes : no;
    if (begin + i + 1 >= n) continue;
    if (++k == inner.value()) {
      k = 0;
      if (++d == depth.value()) {
        d = 0;
        ++o;
        hot = index_at(indices, o * inner.value());
      }
    }
    if (inner.value() > 1) hot = index_at(indices, o * inner.value() + k);
  }
  if (begin + kRun <= n) {
    *reinterpret_cast<Pack<T, kRun>*>(out + begin) = run;
  } else {
#pragma unroll
    for (int i = 0; i < kRun; ++i) {
      if (begin + i < n) out[begin + i] = run.v[i];
    }
  }
}

template <class T, int kRun, class Index>
void run_one_hot(CudaDevice& device, const OneHotDims& dims, const IndexList& indices, const void* on, const void* off,
                 void* out) {
  const int64_t n = dims.outer * dims.depth * dims.inner;
  one_hot_runs<T, kRun><<<blocks_for(n, int64_t{kThreads} * kRun), kThreads, 0, device.use()>>>(
      static_cast<Index>(n), Divisor<Index>(dims.depth), Divisor<Index>(dims.inner), indices, static_cast<const T*>(on),
      static_cast<const T*>(off), static_cast<T*>(out));
}

// ---- Permutations and ranges ---------------------------------------------------------------------------------------

__device__ int32_t set_if_negative(int32_t* at, int32_t value) { return atomicCAS(at, -1, value); }
__device__ int64_t set_if_negative(int64_t* at, int64_t value) {
  return static_cast<int64_t>(
      atomicCAS(reinterpret_cast<unsigned long long*>(at), ~0ull, static_cast<unsigned long long>(value)));
}

// Precondition: y is filled with -1.
template <class T>
__global__ void __launch_bounds__(kThreads) invert_elements(const T* x, T* y, int64_t n, Fault* fault) {
  const int64_t step = int64_t{blockDim.x} * gridDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    const T at = x[i];
    if (at < 0 || at >= n) {
      note(fault, Fault::kIndexOutOfRange);
    } else if (set_if_negative(y + at, static_cast<T>(i)) != -1) {
      note(fault, Fault::kRepeatedIndex);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) range_elements(T start, T delta, T* out, int64_t n) {
  const int64_t step = int64_t{blockDim.x} * gridDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    // Rounds twice, as on the CPU; the compiler would fuse the operations.
    if constexpr (std::is_same_v<T, float>) {
      out[i] = __fadd_rn(start, __fmul_rn(static_cast<float>(i), delta));
    } else if constexpr (std::is_same_v<T, double>) {
      out[i] = __dadd_rn(start, __dmul_rn(static_cast<double>(i), delta));
    } else {
      out[i] = static_cast<T>(static_cast<uint64_t>(start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
    }
  }
}

}  // namespace

void check_indices(CudaDevice& device, const IndexList& list, int64_t low, int64_t limit) {
  if (list.count == 0) return;
  const DeviceUse stream = device.use();
  look_at_indices<<<grid_size(device, list.count), kThreads, 0, stream>>>(list, low, limit, device.fault());
  check(cudaGetLastError(), "starting a kernel");
}

void gather(CudaDevice& device, const GatherDims& dims, size_t element_size, const void* params,
            const IndexList& indices, void* out) {
  // A wrong index is an error even if nothing is to be copied.
  if (dims.batch == 0 || dims.outer == 0 || dims.each == 0 || dims.inner == 0) {
    return check_indices(device, indices, 0, dims.limit);
  }
  const size_t wide = widest_element(reinterpret_cast<uintptr_t>(params) | reinterpret_cast<uintptr_t>(out) |
                                     static_cast<uint64_t>(dims.inner) * element_size);
  GatherDims widened = dims;
  widened.inner /= static_cast<int64_t>(wide / element_size);
  const int64_t largest = dims.batch * dims.outer * std::max(dims.limit, dims.each) * widened.inner;
  with_storage(wide, [&]<class T>() {
    if (largest < kIndex32 - kBlock) {
      run_gather<T, uint32_t>(device, widened, params, indices, out);
    } else {
      run_gather<T, uint64_t>(device, widened, params, indices, out);
    }
  });
  check(cudaGetLastError(), "starting a kernel");
}

void one_hot(CudaDevice& device, const OneHotDims& dims, size_t element_size, const IndexList& indices, const void* on,
             const void* off, void* out) {
  if (dims.outer == 0 || dims.depth == 0 || dims.inner == 0) return;
  const int64_t n = dims.outer * dims.depth * dims.inner;
  with_storage(element_size, [&]<class T>() {
    constexpr int kRun = 16 / sizeof(T);
    if (reinterpret_cast<uintptr_t>(out) % 16 != 0) {
      run_one_hot<T, 1, uint64_t>(device, dims, indices, on, off, out);
    } else if (n < kIndex32 - int64_t{kThreads} * kRun) {
      run_one_hot<T, kRun, uint32_t>(device, dims, indices, on, off, out);
    } else {
      run_one_hot<T, kRun, uint64_t>(device, dims, indices, on, off, out);
    }
  });
  check(cudaGetLastError(), "starting a kernel");
}

template <class T>
void invert_permutation(CudaDevice& device, const T* x, T* y, int64_t n) {
  if (n == 0) return;
  const DeviceUse stream = device.use();
  check(cudaMemsetAsync(y, 0xff, static_cast<size_t>(n) * sizeof(T), stream), "filling with -1");
  invert_elements<<<grid_size(device, n), kThreads, 0, stream>>>(x, y, n, device.fault());
  check(cudaGetLastError(), "starting a kernel");
}

template <class T>
void range(CudaDevice& device, T start, T delta, T* out, int64_t n) {
  if (n == 0) return;
  const DeviceUse stream = device.use();
  range_elements<<<grid_size(device, n), kThreads, 0, stream>>>(start, delta, out, n);
  check(cudaGetLastError(), "starting a kernel");
}

template void invert_permutation(CudaDevice&, const int32_t*, int32_t*, int64_t);
template void invert_permutation(CudaDevice&, const int64_t*, int64_t*, int64_t);
template void range(CudaDevice&, float, float, float*, int64_t);
template void range(CudaDevice&, double, double, double*, int64_t);
template void range(CudaDevice&, int8_t, int8_t, int8_t*, int64_t);
template void range(CudaDevice&, int16_t, int16_t, int16_t*, int64_t);
template void range(CudaDevice&, int32_t, int32_t, int32_t*, int64_t);
template void range(CudaDevice&, int64_t, int64_t, int64_t*, int64_t);
template void range(CudaDevice&, uint8_t, uint8_t, uint8_t*, int64_t);
template void range(CudaDevice&, uint16_t, uint16_t, uint16_t*, int64_t);
template void range(CudaDevice&, uint32_t, uint32_t, uint32_t*, int64_t);
template void range(CudaDevice&, uint64_t, uint64_t, uint64_t*, int64_t);

}  // namespace panto::cuda
