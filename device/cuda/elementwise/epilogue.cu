#include "panto/device/cuda/elementwise/epilogue.h"

#include <cstdint>

#include "panto/device/batch_norm.h"
#include "panto/device/cuda/elementwise/loops.cuh"
#include "panto/device/math/epilogue.h"

namespace panto::cuda {
namespace {

__global__ void __launch_bounds__(kThreads)
    make_factors(int64_t n, const float* scale, const float* variance, float epsilon, float* factors) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) factors[i] = norm_factor(scale[i], variance[i], epsilon);
}

// Maps a result's elements to channels. For results small enough for 32-bit indices, division is faster.
struct SmallResult {
  Divisor<uint32_t> by_inner, by_channels;
  __device__ int64_t channel(int64_t at) const {
    const uint32_t run = by_inner.quotient(static_cast<uint32_t>(at));
    return run - by_channels.quotient(run) * by_channels.value();
  }
};
struct AnyResult {
  int64_t inner, channels;
  __device__ int64_t channel(int64_t at) const { return at / inner % channels; }
};

// Handles kWidth elements at a time: of neighbouring channels if `step` is 1, of the same channel if it is 0.
template <int kWidth, class Result, class F>
__global__ void __launch_bounds__(kThreads)
    run_epilogue(int64_t n, Result result, int step, EpilogueTerms t, F f, float* y) {
  const int64_t stride = int64_t{blockDim.x} * gridDim.x * kWidth;
  for (int64_t i = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kWidth; i < n; i += stride) {
    const int64_t first = result.channel(i);
    Pack<float, kWidth> all = *reinterpret_cast<const Pack<float, kWidth>*>(y + i);
    Pack<float, kWidth> added;
    if (t.added != nullptr) added = *reinterpret_cast<const Pack<float, kWidth>*>(t.added + i);
    for (int j = 0; j < kWidth; ++j) {
      const int64_t c = first + j * step;
      float v = all.v[j];
      if (t.bias != nullptr) v += t.bias[c];
      if (t.mean != nullptr) {
        v = normalised(v, t.mean[c], t.factor[c], t.offset[c]);
      } else if (t.factor != nullptr) {
        v = __fmul_rn(v, t.factor[c]);  // rounds before the addition
        if (t.offset != nullptr) v += t.offset[c];
      }
      if (t.added != nullptr) v += added.v[j];
      all.v[j] = f(v);
    }
    *reinterpret_cast<Pack<float, kWidth>*>(y + i) = all;
  }
}

}  // namespace

void finish(KernelContext& call, int64_t outer, int64_t channels, int64_t inner) {
  const Epilogue asked = parse_epilogue(call);
  const GivenTerms given = given_terms(call, asked, channels);
  EpilogueTerms terms = given.terms;
  const int64_t n = outer * channels * inner;
  if (n == 0 || (!terms.any() && asked.activation == FusedActivation::kNone)) return;
  CudaDevice& device = device_of(call);
  const DeviceUse stream = device.use();
  // May be freed before these kernels run. That is safe, as the next user's work comes after them on the stream.
  Tensor factors;
  if (asked.batch_norm) {
    factors = allocate_tensor(device, kFloat32, Shape{channels});
    terms.factor = mutable_data<float>(factors);
    make_factors<<<static_cast<unsigned>(ceil_div(channels, kThreads)), kThreads, 0, stream>>>(
        channels, given.scale, given.variance, asked.epsilon, mutable_data<float>(factors));
    check(cudaGetLastError(), "starting a kernel");
  }
  float* y = call.out_data<float>(0);
  const int step = inner == 1 ? 1 : 0;
  const bool wide =
      (step == 1 ? channels : inner) % 4 == 0 && is_aligned<float, 4>(y) && is_aligned<float, 4>(terms.added);
  const auto run = [&](auto f) {
    const auto launch = [&](auto width, auto result) {
      constexpr int kWidth = decltype(width)::value;
      run_epilogue<kWidth><<<grid_size(device, n / kWidth), kThreads, 0, stream>>>(n, result, step, terms, f, y);
    };
    if (n > INT32_MAX) return launch(std::integral_constant<int, 1>{}, AnyResult{inner, channels});
    const SmallResult result{Divisor<uint32_t>(inner), Divisor<uint32_t>(channels)};
    wide ? launch(std::integral_constant<int, 4>{}, result) : launch(std::integral_constant<int, 1>{}, result);
  };
  asked.activation == FusedActivation::kNone ? run(epilogue::Identity{}) : epilogue::with_activation(asked, run);
  check(cudaGetLastError(), "starting a kernel");
}

}  // namespace panto::cuda
