// The loop over a tensor's elements and their channels, for biases and batch normalisation.
#pragma once

#include "panto/device/channels.h"
#include "panto/device/cuda/reduce/reduce.cuh"

namespace panto::cuda {

template <int kSize, class T>
__device__ Pack<T, kSize> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T, kSize>*>(from);
}
template <int kSize, class T>
__device__ void store_pack(T* to, const Pack<T, kSize>& pack) {
  *reinterpret_cast<Pack<T, kSize>*>(to) = pack;
}

// Sizes in units.
template <class Index>
struct ChannelPlan {
  Index units;
  Divisor<Index> channels, inner;
  bool last;  // channels are the last dimension, so a unit has neighbouring channels
};

template <int kSize, class Index, class Body>
__global__ void __launch_bounds__(kReduceThreads) run_channels(ChannelPlan<Index> p, Body body) {
  const auto step = static_cast<Index>(gridDim.x) * kReduceThreads;
  constexpr std::integral_constant<int, kSize> kConstant;
  for (auto u = static_cast<Index>(blockIdx.x) * kReduceThreads + threadIdx.x; u < p.units; u += step) {
    const int64_t i = static_cast<int64_t>(u) * kSize;
    const Index row = p.last ? u : p.inner.quotient(u);
    const Index channel = row - p.channels.quotient(row) * p.channels.value();
    body(kConstant, i, static_cast<int64_t>(channel) * (p.last ? kSize : 1), p.last ? 1 : 0);
  }
}

// Calls body(integral_constant<int, n>, i, channel, step) for all elements, n at a time: element i + j has channel
// channel + j * step. n is `kSize` or 1; `whole`: alignment allows `kSize`. Precondition: l.numel() > 0.
template <int kSize, class Body>
void over_channels(CudaDevice& device, const Channels& l, bool whole, const Body& body) {
  const DeviceUse stream = device.use();
  const bool last = l.inner == 1;
  const int64_t neighbours = last ? l.channels : l.inner;
  const int64_t size = whole && neighbours % kSize == 0 ? kSize : 1;
  const int64_t units = l.numel() / size;
  const auto blocks = static_cast<unsigned>(std::min<int64_t>(ceil_div(units, kReduceThreads), 1 << 20));
  const auto launch = [&]<int kEach, class Index>(std::integral_constant<int, kEach>, Index) {
    ChannelPlan<Index> p;
    p.units = static_cast<Index>(units);
    p.channels = Divisor<Index>(last ? l.channels / size : l.channels);
    p.inner = Divisor<Index>(last ? 1 : l.inner / size);
    p.last = last;
    run_channels<kEach><<<blocks, kReduceThreads, 0, stream>>>(p, body);
  };
  const std::integral_constant<int, 1> single;
  const std::integral_constant<int, kSize> several;
  // 32 bits also hold the step beyond the last unit.
  if (units <= INT32_MAX) {
    size == 1 ? launch(single, uint32_t{0}) : launch(several, uint32_t{0});
  } else {
    size == 1 ? launch(single, uint64_t{0}) : launch(several, uint64_t{0});
  }
  check(cudaGetLastError(), "starting a kernel");
}

}  // namespace panto::cuda
