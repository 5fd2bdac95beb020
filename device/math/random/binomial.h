// Samples of the binomial distribution: TensorFlow's methods, including which words of the stream they consume, on all
// devices.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "panto/device/math/convert.h"
#include "panto/device/math/random/samples.h"

namespace panto::philox {

// Adds geometric numbers until their sum exceeds the number of trials.
PANTO_PHILOX_FN double by_inversion(double count, double p, Pairs& numbers) {
  double sum = 0, happened = 0;
  for (;;) {
    sum += std::ceil(std::log(numbers.uniform()) / std::log1p(-p));
    if (sum > count) return happened;
    ++happened;
  }
}

// The error term of Stirling's formula for log(k!).
PANTO_PHILOX_FN double stirling_tail(double k) {
  static constexpr double kTails[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
                                      0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
                                      0.00925546218271273, 0.00833056343336287};
  if (k <= 9) return kTails[static_cast<int>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// Hormann's transformed rejection (1993); the names are the paper's.
PANTO_PHILOX_FN double by_rejection(double count, double p, Pairs& numbers) {
  const double spq = std::sqrt(count * p * (1 - p));
  const double b = 1.15 + 2.53 * spq, a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double center = count * p + 0.5, v_r = 0.92 - 4.2 / b, r = p / (1 - p);
  const double alpha = (2.83 + 5.1 / b) * spq, m = std::floor((count + 1) * p);
  for (;;) {
    const double u = numbers.uniform() - 0.5;
    double v = numbers.uniform();
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + center);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || k > count) continue;
    v = std::log(v * alpha / (a / (us * us) + b));
    const double bound = (m + 0.5) * std::log((m + 1) / (r * (count - m + 1))) +
                         (count + 1) * std::log((count - m + 1) / (count - k + 1)) +
                         (k + 0.5) * std::log(r * (count - k + 1) / (k + 1)) + stirling_tail(m) +
                         stirling_tail(count - m) - stirling_tail(k) - stirling_tail(count - k);
    if (v <= bound) return k;
  }
}

// Binomial trials and how they are drawn. For p above 0.5 the failures are counted instead.
struct Trials {
  enum class By : uint8_t { kNothing, kAll, kNan, kInversion, kRejection };
  By by = By::kNothing;
  double count = 0, p = 0;
  bool opposite = false;

  template <class T>
  PANTO_PHILOX_FN static Trials of(T count_given, T p_given) {
    // float16 is multiplied and subtracted in float32 and rounded.
    using Wide = std::conditional_t<std::is_same_v<T, Half>, float, T>;
    const auto rounded = [](Wide x) { return static_cast<Wide>(convert<double>(T(x))); };
    const auto n = static_cast<Wide>(convert<double>(count_given)), p = static_cast<Wide>(convert<double>(p_given));
    Trials t{.count = static_cast<double>(n), .p = static_cast<double>(p)};
    if (t.count <= 0 || t.p <= 0) return t;
    if (t.p >= 1) {
      t.by = By::kAll;
      return t;
    }
    if (std::isnan(t.p)) {
      t.by = By::kNan;
      return t;
    }
    t.opposite = t.p > 0.5;
    const Wide q = t.opposite ? rounded(Wide(1) - p) : p;
    t.p = static_cast<double>(q);
    t.by = rounded(n * q) >= Wide(10) ? By::kRejection : By::kInversion;
    return t;
  }

  // Whether a type whose largest finite number is `most` holds the counts.
  PANTO_PHILOX_FN bool count_fits(double most) const { return count <= most && !std::isinf(count); }

  // Sample number i of a stream.
  PANTO_PHILOX_FN double draw(const Stream& stream, uint64_t i) const {
    switch (by) {
      case By::kNothing: return 0;
      case By::kAll: return count;
      case By::kNan: return std::numeric_limits<double>::quiet_NaN();
      default: break;
    }
    Pairs numbers(stream.advanced(i * (by == By::kRejection ? 256 : 42)));
    const double happened = by == By::kRejection ? by_rejection(count, p, numbers) : by_inversion(count, p, numbers);
    return opposite ? count - happened : happened;
  }
};

// How many blocks of a generator a call takes.
inline uint64_t blocks_of_binomial(uint64_t parameters, uint64_t samples_of_each) {
  return parameters * 2 * 100 * (samples_of_each + 3) / 4;
}

}  // namespace panto::philox
