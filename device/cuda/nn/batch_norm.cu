// Kernels of batch normalisation and its gradient, for float32.
//
// Sums are in double precision, in which products of floats are exact. Therefore the variance can be computed as the
// mean of squares minus the square of the mean, which reads the input only once.
#include "panto/device/batch_norm.h"
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/nn/channels.cuh"

namespace panto {
namespace {

using cuda::CudaDevice;

// Two sums at once.
struct TwoSums {
  double first, second;
  __device__ TwoSums operator+(const TwoSums& b) const { return {first + b.first, second + b.second}; }
};
struct TwoSumsOf {
  using Lane = TwoSums;
  using Total = TwoSums;
  __device__ static TwoSums lane() { return {0, 0}; }
  __device__ static TwoSums total() { return {0, 0}; }
  __device__ static TwoSums join(const TwoSums& a, const TwoSums& b) { return a + b; }
  __device__ static TwoSums fold(const TwoSums& a, const TwoSums& b) { return a + b; }
  __device__ static TwoSums merge(const TwoSums& a, const TwoSums& b) { return a + b; }
};

// Sums of x and of x^2.
struct MomentsOf : TwoSumsOf {
  __device__ static TwoSums add(const TwoSums& a, float x) {
    const double d = x;
    return {a.first + d, a.second + d * d};
  }
};

// A pair of dy and x, for the sums of dy and of dy x.
struct GradientAndInput {
  float dy, x;
};
struct GradientSumsOf : TwoSumsOf {
  __device__ static TwoSums add(const TwoSums& a, const GradientAndInput& v) {
    const double d = v.dy;
    return {a.first + d, a.second + d * v.x};
  }
};

// Source of the reduction's elements: two tensors of one shape.
struct GradientsAndInputs {
  using Element = GradientAndInput;
  static constexpr int kUnit = cuda::kUnit<float>;
  const float* dy;
  const float* x;

  bool is_aligned() const { return cuda::aligned(dy) && cuda::aligned(x); }
  __device__ Element at(int64_t i) const { return {dy[i], x[i]}; }
  __device__ void load(int64_t i, Element (&to)[kUnit]) const {
    const auto a = *reinterpret_cast<const cuda::Pack<float, kUnit>*>(dy + i);
    const auto b = *reinterpret_cast<const cuda::Pack<float, kUnit>*>(x + i);
#pragma unroll
    for (int j = 0; j < kUnit; ++j) to[j] = {a.v[j], b.v[j]};
  }
};

// Reduces each channel with R.
template <class R, class Source, class Finish>
void reduce_channels(CudaDevice& device, const Channels& l, const Source& from, const Finish& finish) {
  AxisFlags axes;
  axes.set(0).set(2);
  cuda::reduce<R>(device, ReduceShape(Shape{l.outer, l.channels, l.inner}, axes), from, finish);
}

// Computes a channel's outputs from its moments and the given statistics.
struct Statistics {
  const float* scale;
  const float* mean;  // the given statistics; not read in training if `share` is 1
  const float* variance;
  float* new_mean;
  float* new_variance;
  float* kept_mean;
  float* kept_variance;
  float* factors;  // factors of (x - mean)
  float epsilon, share;

  __device__ void set(int64_t c, float m, float v) const {
    kept_mean[c] = m;
    kept_variance[c] = v;
    factors[c] = norm_factor(scale[c], v, epsilon);
  }
  // Training.
  __device__ void operator()(int64_t c, const TwoSums& sums, int64_t n) const {
    if (n == 0) {
      kept_mean[c] = kept_variance[c] = 0;
      new_mean[c] = new_variance[c] = std::numeric_limits<float>::quiet_NaN();
      return;
    }
    const auto count = static_cast<double>(n);
    const double exact = sums.first / count;
    const double square = sums.second / count - exact * exact;
    // Negative only by rounding; a NaN stays.
    const auto m = static_cast<float>(exact);
    const auto biased = static_cast<float>(square < 0 ? 0 : square);
    const auto elements = static_cast<float>(n);
    const float v = biased * (n > 1 ? elements / (elements - 1) : 1.f);
    new_mean[c] = share == 1 ? m : mean[c] + share * (m - mean[c]);
    new_variance[c] = share == 1 ? v : variance[c] + share * (v - variance[c]);
    set(c, m, biased);
  }
};

// Inference.
__global__ void __launch_bounds__(cuda::kReduceThreads) take_statistics(int64_t channels, Statistics s) {
  const int64_t c = int64_t{blockIdx.x} * cuda::kReduceThreads + threadIdx.x;
  if (c >= channels) return;
  s.new_mean[c] = s.mean[c];
  s.new_variance[c] = s.variance[c];
  s.set(c, s.mean[c], s.variance[c]);
}

struct Normalise {
  const float* x;
  float* y;
  const float* mean;
  const float* factors;
  const float* offset;
  template <int kUnit>
  __device__ void operator()(std::integral_constant<int, kUnit>, int64_t i, int64_t channel, int step) const {
    auto pack = cuda::load_pack<kUnit>(x + i);
#pragma unroll
    for (int j = 0; j < kUnit; ++j) {
      const int64_t c = channel + j * step;
      pack.v[j] = normalised(pack.v[j], mean[c], factors[c], offset[c]);
    }
    cuda::store_pack(y + i, pack);
  }
};

void batch_norm(KernelContext& c) {
  expect_float(c, 1);
  CudaDevice& device = cuda::device_of(c);
  const cuda::DeviceUse stream = device.use();
  const Channels l = channels_of(c, c.shape(0));
  cuda::check(cudaMemsetAsync(c.out_data<float>(5), 0, sizeof(float), stream), "setting a value");
  if (l.channels == 0) return;
  const Scratch<float> factors(device, l.channels);
  const Statistics s{.scale = c.data<float>(1),
                     .mean = c.data<float>(3),
                     .variance = c.data<float>(4),
                     .new_mean = c.out_data<float>(1),
                     .new_variance = c.out_data<float>(2),
                     .kept_mean = c.out_data<float>(3),
                     .kept_variance = c.out_data<float>(4),
                     .factors = factors.data(),
                     .epsilon = c.real("epsilon"),
                     .share = c.real("exponential_avg_factor")};
  const float* x = c.data<float>(0);
  float* y = c.out_data<float>(0);
  if (c.flag("is_training")) {
    reduce_channels<MomentsOf>(device, l, cuda::Elements<float>{x}, s);
  } else {
    const auto blocks = cuda::blocks_for(ceil_div(l.channels, cuda::kReduceThreads));
    take_statistics<<<blocks, cuda::kReduceThreads, 0, stream>>>(l.channels, s);
    cuda::check(cudaGetLastError(), "starting a kernel");
  }
  if (l.numel() == 0) return;
  cuda::over_channels<cuda::kUnit<float>>(device, l, cuda::aligned(x) && cuda::aligned(y),
                                          Normalise{x, y, s.kept_mean, s.factors, c.data<float>(2)});
}

// dx = factor (dy - shift - (x - mean) slope)
struct GradientStatistics {
  const float* scale;
  const float* mean;
  const float* variance;
  float* dscale;
  float* doffset;
  float* factors;
  float* shifts;
  float* slopes;
  float epsilon;
  bool training;

  __device__ void operator()(int64_t c, const TwoSums& sums, int64_t n) const {
    if (n == 0) {
      dscale[c] = doffset[c] = 0;
      return;
    }
    const auto count = static_cast<double>(n);
    const double product = sums.second - mean[c] * sums.first;  // the sum of dy (x - mean)
    const double r = 1 / sqrt(static_cast<double>(variance[c]) + epsilon);
    doffset[c] = static_cast<float>(sums.first);
    dscale[c] = static_cast<float>(product * r);
    factors[c] = static_cast<float>(scale[c] * r);
    shifts[c] = training ? static_cast<float>(sums.first / count) : 0;
    slopes[c] = training ? static_cast<float>(product / count * r * r) : 0;
  }
};

struct NormaliseGradient {
  const float* dy;
  const float* x;
  float* dx;
  GradientStatistics s;
  template <int kUnit>
  __device__ void operator()(std::integral_constant<int, kUnit>, int64_t i, int64_t channel, int step) const {
    auto pack = cuda::load_pack<kUnit>(dy + i);
    const auto at = cuda::load_pack<kUnit>(x + i);
#pragma unroll
    for (int j = 0; j < kUnit; ++j) {
      const int64_t c = channel + j * step;
      pack.v[j] = s.factors[c] * (pack.v[j] - s.shifts[c] - (at.v[j] - s.mean[c]) * s.slopes[c]);
    }
    cuda::store_pack(dx + i, pack);
  }
};

void batch_norm_grad(KernelContext& c) {
  expect_float(c, 3);
  CudaDevice& device = cuda::device_of(c);
  const Channels l = channels_of(c, c.shape(0));
  if (l.channels == 0) return;
  const Scratch<float> scratch(device, checked_mul(3, l.channels));
  const GradientStatistics s{.scale = c.data<float>(2),
                             .mean = c.data<float>(3),
                             .variance = c.data<float>(4),
                             .dscale = c.out_data<float>(1),
                             .doffset = c.out_data<float>(2),
                             .factors = scratch.data(),
                             .shifts = scratch.data() + l.channels,
                             .slopes = scratch.data() + 2 * l.channels,
                             .epsilon = c.real("epsilon"),
                             .training = c.flag("is_training")};
  const GradientsAndInputs from{c.data<float>(0), c.data<float>(1)};
  reduce_channels<GradientSumsOf>(device, l, from, s);
  if (l.numel() == 0) return;
  float* dx = c.out_data<float>(0);
  cuda::over_channels<cuda::kUnit<float>>(device, l, from.is_aligned() && cuda::aligned(dx),
                                          NormaliseGradient{from.dy, from.x, dx, s});
}

constexpr DTypeSet kFloatOnly = DTypeSet{kFloat32};
const CudaKernel batch_norm_kernel("FusedBatchNormV3", kFloatOnly, batch_norm);
const CudaKernel batch_norm_grad_kernel("FusedBatchNormGradV3", kFloatOnly, batch_norm_grad);

}  // namespace
}  // namespace panto
