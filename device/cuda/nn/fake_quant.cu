// Kernels of FakeQuant.
#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/reduce/reduce.cuh"
#include "panto/device/math/fake_steps.h"

namespace panto {
namespace {

// One range, from attributes or scalar inputs, or one for each index of the last dimension.
struct Ranges {
  int64_t bits, channels = 1;
  bool narrow;
  float from = 0, to = 0;  // unless there are inputs
  const float* min = nullptr;
  const float* max = nullptr;

  // `first`: the input with the minima, if the op has it.
  Ranges(const KernelContext& c, int first) : bits(c.integer("num_bits")), narrow(c.flag("narrow_range")) {
    if (c.num_inputs() > first) {
      channels = c.numel(first);
      min = c.data<float>(first);
      max = c.data<float>(first + 1);
    } else {
      from = c.real("min");
      to = c.real("max");
    }
  }
  // Returns the quantization of element i.
  __device__ FakeSteps steps(int64_t i) const {
    if (min == nullptr) return {from, to, bits, narrow};
    const int64_t channel = i % channels;
    return {min[channel], max[channel], bits, narrow};
  }
};

struct Nearest {
  Ranges ranges;
  const float* x;
  float* y;
  __device__ void operator()(int64_t i) const { y[i] = ranges.steps(i).nearest(x[i]); }
};

void quantize(KernelContext& c) {
  cuda::for_each_index(cuda::device_of(c), c.numel(0), Nearest{Ranges(c, 1), c.data<float>(0), c.out_data<float>(0)});
}

struct PassInside {
  Ranges ranges;
  const float* dy;
  const float* x;
  float* dx;
  __device__ void operator()(int64_t i) const { dx[i] = ranges.steps(i).inside(x[i]) ? dy[i] : 0; }
};

void fixed_gradient(KernelContext& c) {
  cuda::for_each_index(cuda::device_of(c), c.numel(0),
                       PassInside{Ranges(c, 2), c.data<float>(0), c.data<float>(1), c.out_data<float>(0)});
}

// The gradient of an element outside the range, which goes to the range's minimum or maximum.
struct OutsideTerms {
  Ranges ranges;
  bool above;
  const float* dy;
  const float* x;
  __device__ float operator()(int64_t i) const {
    const FakeSteps s = ranges.steps(i);
    if (s.inside(x[i])) return 0;
    return (above ? x[i] > s.high : x[i] < s.low) ? dy[i] : 0;
  }
};

void learned_gradient(KernelContext& c) {
  const Ranges ranges(c, 2);
  // The sums must come before the rest: output 0 may share memory with an input.
  if (ranges.channels > 0) {
    AxisFlags outer;
    outer.set(0);
    const ReduceShape shape(Shape{c.numel(0) / ranges.channels, ranges.channels}, outer);
    for (const bool above : {false, true}) {
      cuda::reduce<SumOf<float>>(cuda::device_of(c), shape,
                                 cuda::Computed<OutsideTerms>{{ranges, above, c.data<float>(0), c.data<float>(1)}},
                                 cuda::Store<SumOf<float>, float>{c.out_data<float>(above ? 2 : 1)});
    }
  }
  fixed_gradient(c);
}

const CudaKernel args_kernel("FakeQuantWithMinMaxArgs", quantize);
const CudaKernel args_gradient_kernel("FakeQuantWithMinMaxArgsGradient", fixed_gradient);
const CudaKernel vars_kernel("FakeQuantWithMinMaxVars", quantize);
const CudaKernel vars_gradient_kernel("FakeQuantWithMinMaxVarsGradient", learned_gradient);
const CudaKernel channels_kernel("FakeQuantWithMinMaxVarsPerChannel", quantize);
const CudaKernel channels_gradient_kernel("FakeQuantWithMinMaxVarsPerChannelGradient", learned_gradient);

}  // namespace
}  // namespace panto
