// Kernels of batch normalisation and its gradient.
//
// Channels are summed in parts that stay in the cache, in float; the parts are then added in double, in order. So a
// result does not depend on the number of threads. Training reads the input twice: once for mean and variance (of each
// part about its own mean, combined as in Chan, Golub and LeVeque 1979) and once to normalise it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "panto/device/batch_norm.h"
#include "panto/device/cpu/elementwise/inner_loop.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/half.h"

namespace panto {
namespace {

constexpr int64_t kPart = 8192;  // elements: 32 KiB of floats
constexpr int kLanes = 16;       // of a sum over contiguous elements

template <class T>
[[gnu::always_inline]] inline float load(T x) {
  return static_cast<float>(x);
}

struct Layout : Channels {
  Layout(const CallView& call, const Shape& x) : Channels(channels_of(call, x)) {}

  // The number of parts that each channel's elements are cut into.
  int64_t parts() const { return ceil_div(outer, part_outer()) * ceil_div(inner, part_inner()); }
  // The size of a part: rows if channels are last, else a plane or a piece of one.
  int64_t part_outer() const { return inner > 1 ? 1 : std::max<int64_t>(1, kPart / channels); }
  int64_t part_inner() const { return std::min(inner, kPart); }
  int64_t part_elements(int64_t part) const {
    const int64_t pieces = ceil_div(inner, part_inner());
    const int64_t o = part / pieces * part_outer(), i = part % pieces * part_inner();
    return std::min(part_outer(), outer - o) * std::min(part_inner(), inner - i);
  }
};

// Sums over all elements of each channel in a part. values(i, c, v) computes kSums numbers v for the element at flat
// position i of channel c; sum k is added to sums[k * channels + c].
template <int kSums, class Values>
[[gnu::always_inline]] inline void sum_part(const Layout& l, int64_t part, float* sums, const Values& values) {
  const int64_t pieces = ceil_div(l.inner, l.part_inner());
  const int64_t first = part / pieces * l.part_outer(), last = std::min(l.outer, first + l.part_outer());
  if (l.inner == 1) {
    for (int64_t r = first; r < last; ++r) {
      PANTO_INDEPENDENT
      for (int64_t c = 0; c < l.channels; ++c) {
        float v[kSums];
        values(r * l.channels + c, c, v);
        for (int k = 0; k < kSums; ++k) sums[k * l.channels + c] += v[k];
      }
    }
    return;
  }
  const int64_t begin = part % pieces * l.part_inner(), end = std::min(l.inner, begin + l.part_inner());
  for (int64_t c = 0; c < l.channels; ++c) {
    const int64_t base = (first * l.channels + c) * l.inner;
    float lanes[kSums][kLanes] = {};
    int64_t i = base + begin;
    for (; i + kLanes <= base + end; i += kLanes) {
      for (int j = 0; j < kLanes; ++j) {
        float v[kSums];
        values(i + j, c, v);
        for (int k = 0; k < kSums; ++k) lanes[k][j] += v[k];
      }
    }
    for (int j = 0; i < base + end; ++i, ++j) {
      float v[kSums];
      values(i, c, v);
      for (int k = 0; k < kSums; ++k) lanes[k][j] += v[k];
    }
    for (int k = 0; k < kSums; ++k) {
      for (const float lane : lanes[k]) sums[k * l.channels + c] += lane;
    }
  }
}

// Calls body(part) for all parts.
template <class Body>
void over_parts(const Layout& l, int64_t element_bytes, const Body& body) {
  cpu::parallel_ranges(
      l.parts(), l.numel() * element_bytes,
      [&](int64_t begin, int64_t end) {
        cpu::multiversioned([&] {
          for (int64_t p = begin; p < end; ++p) body(p);
        });
      },
      1);
}

// Calls f(i, c) for each element at flat position i, of channel c.
template <class F>
void over_elements(const Layout& l, int64_t element_bytes, const F& f) {
  const int64_t rows = l.inner == 1 ? l.outer : l.outer * l.channels;
  const int64_t width = l.inner == 1 ? l.channels : l.inner;
  cpu::parallel_ranges(
      rows, l.numel() * element_bytes,
      [&](int64_t begin, int64_t end) {
        cpu::multiversioned([&] {
          for (int64_t r = begin; r < end; ++r) {
            if (l.inner == 1) {
              PANTO_INDEPENDENT
              for (int64_t c = 0; c < width; ++c) f(r * width + c, c);
            } else {
              const int64_t c = r % l.channels;
              PANTO_INDEPENDENT
              for (int64_t i = r * width; i < (r + 1) * width; ++i) f(i, c);
            }
          }
        });
      },
      std::max<int64_t>(1, 64 / width));
}

struct Moments {
  std::vector<float> mean, variance;  // biased: divided by the number of elements
};

template <class T>
Moments moments_of(const Layout& l, const T* x) {
  const auto channels = static_cast<size_t>(l.channels);
  const auto parts = static_cast<size_t>(l.parts());
  // For each part and channel: the mean, and the sum of the squared differences from it.
  std::vector<float> sums(checked_cast<size_t>(checked_mul(l.parts(), 2 * l.channels)));
  over_parts(l, sizeof(T), [&](int64_t part) {
    float* mean = sums.data() + part * 2 * l.channels;
    float* squares = mean + l.channels;
    sum_part<1>(l, part, mean, [x](int64_t i, int64_t, float* v) { v[0] = load(x[i]); });
    const float share = 1.f / static_cast<float>(l.part_elements(part));
    for (int64_t c = 0; c < l.channels; ++c) mean[c] *= share;
    sum_part<1>(l, part, squares, [x, mean](int64_t i, int64_t c, float* v) {
      const float d = load(x[i]) - mean[c];
      v[0] = d * d;
    });
  });
  Moments m{std::vector<float>(channels), std::vector<float>(channels)};
  for (size_t c = 0; c < channels; ++c) {
    double mean = 0, squares = 0, count = 0;
    for (size_t p = 0; p < parts; ++p) {
      const auto n = static_cast<double>(l.part_elements(static_cast<int64_t>(p)));
      const double difference = sums[p * 2 * channels + c] - mean;
      mean += difference * n / (count + n);
      squares += sums[(p * 2 + 1) * channels + c] + difference * difference * count * n / (count + n);
      count += n;
    }
    m.mean[c] = static_cast<float>(mean);
    m.variance[c] = static_cast<float>(squares / count);
  }
  return m;
}

struct BatchNormKernel {
  template <class T>
  static void run(KernelContext& c) {
    expect_float(c, 1);
    const Layout l(c, c.shape(0));
    const auto channels = static_cast<size_t>(l.channels);
    const float *scale = c.data<float>(1), *offset = c.data<float>(2), *mean = c.data<float>(3);
    const float* variance = c.data<float>(4);
    float *new_mean = c.out_data<float>(1), *new_variance = c.out_data<float>(2);
    float *kept_mean = c.out_data<float>(3), *kept_variance = c.out_data<float>(4);
    *c.out_data<float>(5) = 0;
    if (!c.flag("is_training")) {
      for (float* to : {new_mean, kept_mean}) std::copy_n(mean, channels, to);
      for (float* to : {new_variance, kept_variance}) std::copy_n(variance, channels, to);
    } else if (l.numel() == 0) {
      std::fill_n(new_mean, channels, std::numeric_limits<float>::quiet_NaN());
      std::fill_n(new_variance, channels, std::numeric_limits<float>::quiet_NaN());
      std::fill_n(kept_mean, channels, 0.f);
      std::fill_n(kept_variance, channels, 0.f);
    } else {
      const Moments m = moments_of(l, c.data<T>(0));
      std::ranges::copy(m.mean, kept_mean);
      std::ranges::copy(m.variance, kept_variance);
      const auto n = static_cast<float>(l.each());
      const float unbiased = n > 1 ? n / (n - 1) : 1;
      const float factor = c.real("exponential_avg_factor");
      for (size_t k = 0; k < channels; ++k) {
        const float v = m.variance[k] * unbiased;
        new_mean[k] = factor == 1 ? m.mean[k] : mean[k] + factor * (m.mean[k] - mean[k]);
        new_variance[k] = factor == 1 ? v : variance[k] + factor * (v - variance[k]);
      }
    }
    if (l.numel() == 0) return;
    std::vector<float> factors(channels);
    const float epsilon = c.real("epsilon");
    for (size_t k = 0; k < channels; ++k) factors[k] = norm_factor(scale[k], kept_variance[k], epsilon);
    const T* x = c.data<T>(0);
    T* y = c.out_data<T>(0);
    over_elements(l, 2 * sizeof(T), [=, a = factors.data()](int64_t i, int64_t k) {
      y[i] = T(normalised(load(x[i]), kept_mean[k], a[k], offset[k]));
    });
  }
};

struct BatchNormGradKernel {
  template <class T>
  static void run(KernelContext& c) {
    expect_float(c, 3);
    const Layout l(c, c.shape(0));
    const auto channels = static_cast<size_t>(l.channels);
    const T *dy = c.data<T>(0), *x = c.data<T>(1);
    const float *scale = c.data<float>(2), *mean = c.data<float>(3), *variance = c.data<float>(4);
    float *dscale = c.out_data<float>(1), *doffset = c.out_data<float>(2);
    if (l.numel() == 0) {
      std::fill_n(dscale, channels, 0.f);
      std::fill_n(doffset, channels, 0.f);
      return;
    }
    // For each part and channel: the sums of dy and of dy (x - mean).
    std::vector<float> sums(checked_cast<size_t>(checked_mul(l.parts(), 2 * l.channels)));
    over_parts(l, 2 * sizeof(T), [&](int64_t part) {
      sum_part<2>(l, part, sums.data() + part * 2 * l.channels, [=](int64_t i, int64_t k, float* v) {
        v[0] = load(dy[i]);
        v[1] = v[0] * (load(x[i]) - mean[k]);
      });
    });
    // dx = factor (dy - shift - (x - mean) slope)
    std::vector<float> factors(channels), shifts(channels), slopes(channels);
    const float epsilon = c.real("epsilon");
    const auto n = static_cast<double>(l.each());
    const bool training = c.flag("is_training");
    for (size_t k = 0; k < channels; ++k) {
      double sum = 0, product = 0;
      for (size_t p = 0; p < static_cast<size_t>(l.parts()); ++p) {
        sum += sums[p * 2 * channels + k];
        product += sums[(p * 2 + 1) * channels + k];
      }
      const double r = 1 / std::sqrt(static_cast<double>(variance[k]) + epsilon);
      doffset[k] = static_cast<float>(sum);
      dscale[k] = static_cast<float>(product * r);
      factors[k] = static_cast<float>(scale[k] * r);
      shifts[k] = training ? static_cast<float>(sum / n) : 0;
      slopes[k] = training ? static_cast<float>(product / n * r * r) : 0;
    }
    T* dx = c.out_data<T>(0);
    over_elements(l, 3 * sizeof(T),
                  [=, a = factors.data(), b = shifts.data(), d = slopes.data()](int64_t i, int64_t k) {
                    dx[i] = T(a[k] * (load(dy[i]) - b[k] - (load(x[i]) - mean[k]) * d[k]));
                  });
  }
};

const CpuKernel batch_norm_kernel("FusedBatchNormV3", TypeList<float, Half, BFloat16>{}, BatchNormKernel{});
const CpuKernel batch_norm_grad_kernel("FusedBatchNormGradV3", TypeList<float, Half, BFloat16>{},
                                       BatchNormGradKernel{});

}  // namespace
}  // namespace panto
