// Kernels whose output consists of elements of an input at other places.
//
//   pick<T>(device, n, Mirror<uint32_t>(...), in, nullptr, out);   // out[i] = in[mirror(i)] for i in [0, n)
#pragma once

#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/storage.cuh"

namespace panto::cuda {

template <class T, class From>
struct Pick {
  From from;
  const T* in;
  const T* rest;
  T* out;
  __device__ void operator()(int64_t i) const {
    const int64_t at = from(i);
    out[i] = at >= 0 ? in[at] : rest != nullptr ? *rest : T{};
  }
};

// Sets out[i] to in[from(i)] for each i in [0, n); where from(i) is negative, to *rest, or to zero if `rest` is null.
// All are in the GPU's memory. `from` is called on the device.
template <class T, class From>
void pick(CudaDevice& device, int64_t n, const From& from, const T* in, const T* rest, T* out) {
  for_each_index(device, n, Pick<T, From>{from, in, rest, out});
}

// Calls f<uint32_t>() if indices below `limit` are below 2^31, else f<uint64_t>().
template <class F>
void with_index(int64_t limit, const F& f) {
  limit <= kIndex32 ? f.template operator()<uint32_t>() : f.template operator()<uint64_t>();
}

}  // namespace panto::cuda
