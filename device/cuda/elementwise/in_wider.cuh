// Makes kernels for 16-bit floats from kernels for float, the counterpart of device/cpu/elementwise/in_wider.h.
//
//   const CudaKernel lrn_kernel("LRN", types::of<"LRN">{}, CudaInWider<LocalResponse>{});
#pragma once

#include "panto/device/cuda/each.cuh"
#include "panto/device/in_wider.h"
#include "panto/device/math/convert.h"

namespace panto {

namespace cuda {

template <class From, class To>
struct ConvertElement {
  const From* from;
  To* to;
  __device__ void operator()(int64_t i) const { to[i] = convert<To>(from[i]); }
};

// Calls run(context) with tensors of 16-bit floats converted to floats, and rounds its results.
template <class... Halves, class Run>
void run_in_floats(KernelContext& c, TypeList<Halves...> halves, const Run& run) {
  CudaDevice& device = device_of(c);
  run_in_wider<float>(
      c, halves,
      [&]<class From, class To>(const From* from, To* to, int64_t n) {
        for_each_index(device, n, ConvertElement<From, To>{from, to});
      },
      run);
}

}  // namespace cuda

// The same kernels as `Maker`, and those for 16-bit floats by run_in_floats. `Maker` must not read an attribute that
// holds the type.
template <class Maker>
struct CudaInWider {
  template <class T>
  static void run(KernelContext& c) {
    if constexpr (is_half_type<T>) {
      cuda::run_in_floats(c, TypeList<T>{}, [](KernelContext& wider) { Maker::template run<float>(wider); });
    } else {
      Maker::template run<T>(c);
    }
  }
};

}  // namespace panto
