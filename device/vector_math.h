// exp, expm1, log, log1p, sin, cos, tanh, sigmoid and erf of floats that the compiler vectorises: straight-line
// arithmetic on the bits, no table, no branch, no library call, no intrinsic. Written once for every instruction set.
//
//   for (int64_t i = 0; i < n; ++i) y[i] = vmath::exp(x[i]);      // -O3: four lanes with SSE2, sixteen with AVX-512
//
// g++ vectorises them only with -fno-trapping-math (kernel files have it; it changes no value). On Sapphire Rapids exp
// takes 0.65 ns an element with AVX2 and 0.38 with AVX-512, tanh as long, erf 0.96 and 0.52, sin 1.1 and 0.85.
//
// Some are without branches only for arguments that are not extreme, and call libm for the others: `Bounded...` says
// for which, and is the part for those. Rows (device/cpu/rows.h) use it for blocks of elements that are all within.
//
// Use them in loops over elements; libm's functions are as fast for a single value. The overloads for double call libm.
// Largest error over all finite floats, measured against double (tests/device/vector_math_test.cc):
//   exp 1.0 ulp, expm1 1.7 ulp, log 0.8 ulp, log1p 1.6 ulp, tanh 2.5 ulp, sigmoid 2.4 ulp, erf 2.0 ulp,
//   sin and cos 0.501 ulp up to 2^22 (all floats were tried), beyond that libm's.
// Results differ in the last bits between machines with and without fused multiply-add (those of sin and cos do not),
// never between numbers of threads or positions in a vector. Special values as in C: exp(-inf) = 0, exp(inf) = inf, log(0) = -inf, log(x < 0) =
// NaN; NaN gives NaN; subnormal arguments and results are exact to the same bounds.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace panto::vmath {

namespace detail {

// 2^n for n in [-126, 127].
[[gnu::always_inline]] inline float power_of_two(int32_t n) { return std::bit_cast<float>((n + 127) << 23); }

// Adding this rounds a float below 2^22 to an integer, which is then the sum's lowest bits.
inline constexpr float kRound = 12582912.f;  // 1.5 * 2^23
inline constexpr float kLn2High = 0.693359375f;
inline constexpr float kLn2Low = -2.12194440e-4f;

// x = k * ln(2) + r with |r| <= ln(2) / 2.
struct Reduced {
  int32_t k;
  float r;
};
[[gnu::always_inline]] inline Reduced reduce(float x) {
  const float shifted = x * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const int32_t k = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kRound);
  return {k, (x - n * kLn2High) - n * kLn2Low};
}

// exp(r) - 1 for |r| <= ln(2) / 2 (Cephes).
[[gnu::always_inline]] inline float expm1_reduced(float r) {
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return p * (r * r) + r;
}

// x * 2^k, in two steps, so that neither factor leaves the normal range and a subnormal result is rounded once.
[[gnu::always_inline]] inline float scale(float x, int32_t k) {
  const int32_t half = k >> 1;
  return x * power_of_two(half) * power_of_two(k - half);
}

// exp(x) - 1 for |x| <= 86; loses the sign of zero. 2^k expm1(r) + (2^k - 1).
[[gnu::always_inline]] inline float expm1_bounded(float x) {
  const Reduced reduced = reduce(x);
  const float power = power_of_two(reduced.k);
  return expm1_reduced(reduced.r) * power + (power - 1.f);
}

// Adding this rounds a double below 2^51 to an integer, which is then the sum's lowest bits.
inline constexpr double kRoundWide = 6755399441055744.;  // 1.5 * 2^52
inline constexpr double kInversePi = 0x1.45f306dc9c883p-2;
inline constexpr double kPiHigh = 0x1.921fb544p+1;  // 31 bits: its product with a number of 22 bits is exact
inline constexpr double kPiLow = 0x1.0b4611a626331p-33;
inline constexpr float kMostPi = 4194304.f;  // 2^22: up to here n has no more than 22 bits, a half included

// sin(r) for |r| <= pi / 2 (and a little more), negated where the last bit of `half_turns` is set; within 2^-35.
[[gnu::always_inline]] inline float sin_reduced(double r, double half_turns) {
  const double square = r * r;
  double p = -2.38888850758568869e-8;
  p = p * square + 2.75253830801951518e-6;
  p = p * square - 1.98408681843152358e-4;
  p = p * square + 8.3333311084126259e-3;
  p = p * square - 1.66666666261452718e-1;
  const double y = r * (p * square + 1.);  // a zero keeps its sign
  return static_cast<float>(
      std::bit_cast<double>(std::bit_cast<uint64_t>(y) ^ std::bit_cast<uint64_t>(half_turns) << 63));
}

// For functions that are odd.
struct Parts {
  uint32_t sign;
  float size;
  [[gnu::always_inline]] explicit Parts(float x)
      : sign(std::bit_cast<uint32_t>(x) & 0x80000000u),
        size(std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0x7fffffffu)) {}
  // y >= 0 with the sign of x.
  [[gnu::always_inline]] float with_sign(float y) const {
    return std::bit_cast<float>((std::bit_cast<uint32_t>(y) & 0x7fffffffu) | sign);
  }
};

}  // namespace detail

[[gnu::always_inline]] inline float exp(float x) {
  // Beyond these the result is 0 or infinity anyway; written so that a NaN stays.
  x = x < -105.f ? -105.f : x;
  x = x > 90.f ? 90.f : x;
  const detail::Reduced reduced = detail::reduce(x);
  return detail::scale(detail::expm1_reduced(reduced.r) + 1.f, reduced.k);
}
inline double exp(double x) { return std::exp(x); }

// exp(x) - 1, where subtracting would cancel: 2^k * (expm1(r) + (1 - 2^-k)).
[[gnu::always_inline]] inline float expm1(float x) {
  x = x < -20.f ? -20.f : x;
  const float size = x > 90.f ? 90.f : x;
  const detail::Reduced reduced = detail::reduce(size);
  // Beyond 2^126 the power's inverse is no normal number, and far below the last place.
  const float inverse = detail::power_of_two(reduced.k > 126 ? -126 : -reduced.k);
  const float result = detail::scale(detail::expm1_reduced(reduced.r) + (1.f - inverse), reduced.k);
  return x == 0.f ? x : result;  // with its sign
}
inline double expm1(double x) { return std::expm1(x); }

[[gnu::always_inline]] inline float log(float x) {
  // Subnormals are scaled up first.
  const bool tiny = x < 1.17549435e-38f;
  const float scaled = tiny ? x * 8388608.f : x;
  // x = m * 2^e with m in [sqrt(1/2), sqrt(2)).
  const int32_t bits = std::bit_cast<int32_t>(scaled);
  // Unsigned: the difference may wrap around for negative numbers, whose result is replaced below.
  const auto from = static_cast<int32_t>(static_cast<uint32_t>(bits) - 0x3f3504f3u);
  const float e = static_cast<float>(from >> 23) - (tiny ? 23.f : 0.f);
  const float m = std::bit_cast<float>((from & 0x007fffff) + 0x3f3504f3) - 1.f;
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  const float square = m * m;
  float y = p * m * square;
  y += e * detail::kLn2Low;
  y -= 0.5f * square;
  float result = m + y;
  result += e * detail::kLn2High;
  constexpr float kInf = std::numeric_limits<float>::infinity();
  result = x == kInf ? kInf : result;
  result = x == 0.f ? -kInf : result;
  // Negative numbers and NaN.
  return x >= 0.f ? result : std::numeric_limits<float>::quiet_NaN();
}
inline double log(double x) { return std::log(x); }

// log(1 + x): the logarithm of the rounded sum, and what rounding took from it.
[[gnu::always_inline]] inline float log1p(float x) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float sum = 1.f + x;
  const float lost = x - (sum - 1.f);
  const float result = log(sum) + lost / sum;
  // Zero with its sign. At the ends `lost` is no number, or its quotient is none.
  return (x == kInf) | (x == -1.f) ? log(sum) : (x == 0.f ? x : result);
}
inline double log1p(double x) { return std::log1p(x); }

// 1 - 2 / (exp(2x) + 1), written so that nothing cancels near zero.
[[gnu::always_inline]] inline float tanh(float x) {
  const detail::Parts parts(x);
  const float size = parts.size > 9.02f ? 9.02f : parts.size;  // where the result is 1
  const float e = detail::expm1_bounded(size + size);
  return parts.with_sign(e / (e + 2.f));
}
inline double tanh(double x) { return std::tanh(x); }

// 1 - exp(-q) with q = -log(1 - erf(x)), which is nearly a parabola: a polynomial fitted to the smallest largest error
// of the result. The exponential less one keeps what is near zero.
[[gnu::always_inline]] inline float erf(float x) {
  const detail::Parts parts(x);
  const float t = parts.size > 3.95f ? 3.95f : parts.size;  // where the result is 1
  float q = -9.258510180e-06f;
  q = q * t + 1.176621896e-04f;
  q = q * t - 6.329150421e-04f;
  q = q * t + 1.667178356e-03f;
  q = q * t - 1.605572649e-04f;
  q = q * t - 1.915296907e-02f;
  q = q * t + 1.027778018e-01f;
  q = q * t + 6.366193858e-01f;
  q = q * t + 1.283791715e-01f;  // 2 / sqrt(pi) - 1: the one is added as x itself
  return parts.with_sign(-detail::expm1_bounded(-(q * t + t)));
}
inline double erf(double x) { return std::erf(x); }

// sin and cos of numbers that are not huge, and of NaN.
//
// x = n pi + r, with r exact to 2^-65: pi is two numbers, of which the first has so few bits that its multiples are
// exact (W. J. Cody and W. Waite, Software Manual for the Elementary Functions, 1980). In double, since r is as small
// as 2^-30 where x is the float closest to a multiple of pi. The sine of r is a polynomial fitted to the smallest
// largest relative error, by Remez's exchange.
struct BoundedSin {
  [[gnu::always_inline]] static bool holds(float x) { return !(std::fabs(x) > detail::kMostPi); }
  [[gnu::always_inline]] static float value(float x) {
    const double wide = x;
    const double shifted = wide * detail::kInversePi + detail::kRoundWide;
    const double n = shifted - detail::kRoundWide;
    return detail::sin_reduced((wide - n * detail::kPiHigh) - n * detail::kPiLow, shifted);
  }
};
// The sine of x + pi / 2, where nothing is added to x: n is half an odd number.
struct BoundedCos {
  [[gnu::always_inline]] static bool holds(float x) { return !(std::fabs(x) > detail::kMostPi); }
  [[gnu::always_inline]] static float value(float x) {
    const double wide = x;
    const double shifted = (wide * detail::kInversePi + 0.5) + detail::kRoundWide;
    const double n = (shifted - detail::kRoundWide) - 0.5;
    return detail::sin_reduced((wide - n * detail::kPiHigh) - n * detail::kPiLow, shifted);
  }
};
[[gnu::always_inline]] inline float sin(float x) { return BoundedSin::holds(x) ? BoundedSin::value(x) : std::sin(x); }
inline double sin(double x) { return std::sin(x); }
[[gnu::always_inline]] inline float cos(float x) { return BoundedCos::holds(x) ? BoundedCos::value(x) : std::cos(x); }
inline double cos(double x) { return std::cos(x); }

// The exponential of -|x| cannot overflow, and keeps the accuracy of results near zero.
[[gnu::always_inline]] inline float sigmoid(float x) {
  const float e = exp(std::bit_cast<float>(std::bit_cast<uint32_t>(x) | 0x80000000u));
  return (x < 0.f ? e : 1.f) / (1.f + e);
}
inline double sigmoid(double x) {
  const double e = std::exp(-std::abs(x));
  return (x < 0. ? e : 1.) / (1. + e);
}

}  // namespace panto::vmath
