// The simplest loops on the GPU: something that is done for each index.
//
//   for_each_index(device_of(c), n, SetTo<T>{out, value});   // calls it(i) for each i in [0, n)
#pragma once

#include "panto/device/cuda/elementwise/loops.cuh"

namespace panto::cuda {

template <class Function>
__global__ void __launch_bounds__(kThreads) run_for_each_index(int64_t n, Function function) {
  const int64_t step = int64_t{blockDim.x} * gridDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) function(i);
}

// `function` is copied to the device, so it has pointers to the device's memory, and numbers. Calls for different
// indices run in any order, at the same time.
template <class Function>
void for_each_index(CudaDevice& device, int64_t n, const Function& function) {
  if (n == 0) return;
  const DeviceUse stream = device.use();
  run_for_each_index<<<grid_size(device, n), kThreads, 0, stream>>>(n, function);
  check(cudaGetLastError(), "starting a kernel");
}

// Sets n elements to `value`.
template <class T>
struct SetTo {
  T* out;
  T value;
  __device__ void operator()(int64_t i) const { out[i] = value; }
};
template <class T>
void fill(CudaDevice& device, T* out, int64_t n, T value) {
  for_each_index(device, n, SetTo<T>{out, value});
}

// Fills output k with zeros.
inline void clear_output(KernelContext& c, int k = 0) {
  if (c.out_numel(k) == 0) return;
  const DeviceUse stream = device_of(c).use();
  check(cudaMemsetAsync(c.out_data<void>(k), 0, c.out(k).nbytes(), stream), "filling with zeros");
}

}  // namespace panto::cuda
