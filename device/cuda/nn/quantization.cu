// Kernels of QuantizeAndDequantize. Ranges are in the GPU's memory; a reversed one is a fault.
#include "panto/device/cuda/array/index_list.cuh"
#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/elementwise/in_wider.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/reduce/reduce.cuh"
#include "panto/device/math/quantized.h"
#include "panto/device/op_kernels.h"
#include "panto/device/scratch.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {
namespace {

using quantized::Channels;
using quantized::RoundTrip;
using quantized::RoundTripMode;

// Prepares the rounding of a channel.
template <class T>
struct Prepare {
  RoundTripMode mode;
  const T* lows;
  const T* highs;
  RoundTrip<T>* out;
  Fault* fault;
  __device__ void operator()(int64_t d) const {
    int64_t bits = mode.given_bits();
    if (bits < 1 || bits > mode.most_bits()) {
      cuda::note(fault, Fault::kBitsOutOfRange);
      bits = 1;
    }
    if (mode.given && lows[d] > highs[d]) cuda::note(fault, Fault::kRangeReversed);
    out[d] = RoundTrip<T>(mode, bits, lows[d], highs[d]);
  }
};

template <class T>
struct Round {
  Channels channels;
  const RoundTrip<T>* round_trips;
  const T* x;
  T* y;
  __device__ void operator()(int64_t i) const { y[i] = round_trips[channels.of(i)](x[i]); }
};

struct Quantize {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t n = c.numel(0);
    if (n == 0) return;
    cuda::CudaDevice& device = cuda::device_of(c);
    const RoundTripMode mode(c);
    const Channels channels(c.shape(0), c.integer("axis"));
    const T *x = c.data<T>(0), *lows = c.data<T>(1), *highs = c.data<T>(2);
    const Scratch<T> found(device, mode.given ? 0 : 2 * channels.depth);
    if (!mode.given) {
      T* ends = found.data();
      AxisFlags others;
      others.set(0);
      others.set(2);
      const ReduceShape shape(Shape{channels.outer, channels.depth, channels.inner}, others);
      cuda::reduce<MinOf<T>>(device, shape, cuda::Elements<T>{x}, cuda::Store<MinOf<T>, T>{ends});
      cuda::reduce<MaxOf<T>>(device, shape, cuda::Elements<T>{x}, cuda::Store<MaxOf<T>, T>{ends + channels.depth});
      lows = ends;
      highs = ends + channels.depth;
    }
    const Scratch<RoundTrip<T>> round_trips(device, channels.depth);
    cuda::for_each_index(device, channels.depth, Prepare<T>{mode, lows, highs, round_trips.data(), device.fault()});
    cuda::for_each_index(device, n, Round<T>{channels, round_trips.data(), x, c.out_data<T>(0)});
  }
};

const CudaKernel v2_kernel("QuantizeAndDequantizeV2", types::of<"QuantizeAndDequantizeV2">{}, CudaInWider<Quantize>{});
const CudaKernel v3_kernel("QuantizeAndDequantizeV3", types::of<"QuantizeAndDequantizeV3">{}, CudaInWider<Quantize>{});
const CudaKernel v4_kernel("QuantizeAndDequantizeV4", types::of<"QuantizeAndDequantizeV4">{}, CudaInWider<Quantize>{});

}  // namespace
}  // namespace panto
