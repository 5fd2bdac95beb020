// Samples of distributions with parameters: TensorFlow's methods, including which words of the stream they consume, on
// all devices.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "panto/device/math/convert.h"
#include "panto/device/math/random/philox_blocks.h"

namespace panto::philox {

// The uniform and normal numbers that one sample of a distribution consumes.
// Each block yields a pair of numbers, whose second one is returned first.
class Pairs {
 public:
  PANTO_PHILOX_FN explicit Pairs(const Stream& stream) : stream_(stream) {}
  PANTO_PHILOX_FN double uniform() { return take<UniformBlock<double>>(uniforms_); }
  PANTO_PHILOX_FN double normal() { return take<NormalBlock<double>>(normals_); }

 private:
  struct Pair {
    double values[2];
    int left = 0;
  };
  template <class Block>
  PANTO_PHILOX_FN double take(Pair& pair) {
    if (pair.left == 0) {
      Block{}(stream_.block(block_++), pair.values);
      pair.left = 2;
    }
    return pair.values[--pair.left];
  }
  Stream stream_;
  uint64_t block_ = 0;
  Pair uniforms_, normals_;
};

// Marsaglia and Tsang 2000.
PANTO_PHILOX_FN double sample_gamma(double alpha, Pairs& numbers) {
  if (!(alpha > 0) || std::isinf(alpha)) return alpha > 0 ? alpha : std::numeric_limits<double>::quiet_NaN();
  if (alpha == 1) return -std::log1p(-numbers.uniform());
  const bool below_one = alpha < 1;
  const double d = alpha + (below_one ? 2. / 3 : -1. / 3), scale = 1. / 3 / std::sqrt(d);
  for (;;) {
    const double x = numbers.normal();
    double v = 1 + scale * x;
    if (v <= 0) continue;
    v = v * v * v;
    const double u = numbers.uniform();
    if (u < 1 - 0.0331 * (x * x) * (x * x) || std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v))) {
      return below_one ? d * v * std::pow(numbers.uniform(), 1 / alpha) : d * v;
    }
  }
}

// log |gamma(x)|.
PANTO_PHILOX_FN double log_gamma(double x) {
#ifdef __CUDA_ARCH__
  return ::lgamma(x);
#else
  int sign;  // lgamma has it in a global variable, which threads share
  return ::lgamma_r(x, &sign);
#endif
}

// Below a rate of 10: counts uniform numbers until their product is small enough (Knuth). Else Hormann's transformed
// rejection (1993); the names are the paper's. Samples above `most` are drawn again.
PANTO_PHILOX_FN double sample_poisson(double rate, double most, Pairs& numbers) {
  if (rate < 10) {
    const double enough = std::exp(-rate);
    double product = 1, count = 0;
    while ((product *= numbers.uniform()) > enough) ++count;
    return count;
  }
  if (std::isinf(rate)) return rate;
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  for (;;) {
    const double u = numbers.uniform() - 0.5, v = numbers.uniform();
    const double shifted = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / shifted + b) * u + rate + 0.43);
    if (k > most) continue;
    if (shifted >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
    if (k < 0 || (shifted < 0.013 && v > shifted)) continue;
    const double s = std::log(v * inverse_alpha / (a / (shifted * shifted) + b));
    if (s <= -rate + k * log_rate - log_gamma(k + 1)) return k;
  }
}

// Whether samples of type T, which are at most `most`, can be drawn. With a rate that is too large, drawing would never
// end.
template <class T>
PANTO_PHILOX_FN bool poisson_rate_fits(double rate, double most) {
  return rate <= most || (std::isinf(rate) && !std::is_integral_v<T>);
}

// ---- Classes --------------------------------------------------------------------------------------------------------

// Sets `sums` to the running sums of the weights of `count` classes; returns the total.
template <class T>
PANTO_PHILOX_FN double add_weights(const T* logits, int64_t count, double* sums) {
  double highest = std::numeric_limits<double>::lowest();
  for (int64_t j = 0; j < count; ++j) {
    const auto value = convert<double>(logits[j]);
    if (std::isfinite(value) && value > highest) highest = value;
  }
  double total = 0;
  for (int64_t j = 0; j < count; ++j) {
    const auto value = convert<double>(logits[j]);
    if (std::isfinite(value)) total += std::exp(value - highest);
    sums[j] = total;
  }
  return total;
}

// Returns the class that a uniform number chooses: the first one whose running sum is above its share of the total.
PANTO_PHILOX_FN int64_t chosen_class(const double* sums, int64_t count, double share) {
  int64_t low = 0;
  for (int64_t high = count; low < high;) {
    const int64_t middle = low + (high - low) / 2;
    if (share < sums[middle]) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// How many blocks a stateful call advances its generator: two words per sample; the number of samples per row is
// rounded up to a multiple of 4.
inline uint64_t blocks_of_classes(int64_t rows, int64_t samples) {
  return static_cast<uint64_t>(rows) * ((static_cast<uint64_t>(samples) + 3) / 4 * 4) * 2 * kBlocksPerElement;
}

}  // namespace panto::philox
