// Kernels of QuantizeV2 and Dequantize. Ranges are in the GPU's memory; a reversed one is a fault.
#include "panto/device/cuda/array/index_list.cuh"
#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/quantized.h"
#include "panto/device/scratch.h"

namespace panto {
namespace {

using quantized::AllBits;
using quantized::Channels;
using quantized::Dequantizer;
using quantized::IntOf;
using quantized::QuantizedMode;
using quantized::Quantizer;
using quantized::Range;

// y[i] = f(x[i]), where f is the function of the element's channel.
template <class F, class In, class Out>
struct ByChannel {
  Channels channels;
  const F* functions;
  const In* x;
  Out* y;
  __device__ void operator()(int64_t i) const { y[i] = convert<Out>(functions[channels.of(i)](x[i])); }
};

template <class Int>
struct PrepareQuantizer {
  QuantizedMode mode;
  const float* lows;
  const float* highs;
  Quantizer<Int>* quantizers;
  float* out_lows;
  float* out_highs;
  Fault* fault;
  __device__ void operator()(int64_t k) const {
    if (highs[k] < lows[k]) cuda::note(fault, Fault::kRangeReversed);
    quantizers[k] = Quantizer<Int>(mode, {lows[k], highs[k]});
    const Range range = quantizers[k].range();
    out_lows[k] = range.low;
    out_highs[k] = range.high;
  }
};

struct Quantize {
  template <class Q>
  static void run(KernelContext& c) {
    using Int = IntOf<Q>;
    cuda::CudaDevice& device = cuda::device_of(c);
    const int64_t ranges = c.numel(1);
    const Scratch<Quantizer<Int>> quantizers(device, ranges);
    cuda::for_each_index(
        device, ranges,
        PrepareQuantizer<Int>{QuantizedMode::of_quantize(c), c.data<float>(1), c.data<float>(2), quantizers.data(),
                              c.out_data<float>(1), c.out_data<float>(2), device.fault()});
    cuda::for_each_index(
        device, c.numel(0),
        ByChannel<Quantizer<Int>, float, Int>{Channels(c.shape(0), c.integer("axis")), quantizers.data(),
                                              c.data<float>(0), c.out_data<Int>(0)});
  }
};
const CudaKernel quantize_kernel("QuantizeV2", AllBits{}, Quantize{});

template <class Int>
struct PrepareDequantizer {
  QuantizedMode mode;
  const float* lows;
  const float* highs;
  Dequantizer<Int>* dequantizers;
  __device__ void operator()(int64_t k) const { dequantizers[k] = Dequantizer<Int>(mode, {lows[k], highs[k]}); }
};

template <class Int, class Out>
void dequantize(KernelContext& c) {
  cuda::CudaDevice& device = cuda::device_of(c);
  const int64_t ranges = c.numel(1);
  const Scratch<Dequantizer<Int>> dequantizers(device, ranges);
  cuda::for_each_index(
      device, ranges,
      PrepareDequantizer<Int>{QuantizedMode(c), c.data<float>(1), c.data<float>(2), dequantizers.data()});
  cuda::for_each_index(device, c.numel(0),
                       ByChannel<Dequantizer<Int>, Int, Out>{Channels(c.shape(0), c.integer("axis")),
                                                             dequantizers.data(), c.data<Int>(0), c.out_data<Out>(0)});
}

struct Dequantize {
  template <class Q>
  static void run(KernelContext& c) {
    c.type("dtype") == kBFloat16 ? dequantize<IntOf<Q>, BFloat16>(c) : dequantize<IntOf<Q>, float>(c);
  }
};
const CudaKernel dequantize_kernel("Dequantize", AllBits{}, Dequantize{});

}  // namespace
}  // namespace panto
