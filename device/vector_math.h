// exp, expm1, log, log1p, tanh, sigmoid and erf of floats that the compiler vectorises: straight-line arithmetic on the
// bits, no table, no branch, no library call, no intrinsic. Written once for every instruction set.
//
//   for (int64_t i = 0; i < n; ++i) y[i] = vmath::exp(x[i]);      // -O3: four lanes with SSE2, sixteen with AVX-512
//
// g++ vectorises them only with -fno-trapping-math (kernel files have it; it changes no value). On Sapphire Rapids exp
// takes 0.65 ns an element with AVX2 and 0.38 with AVX-512, tanh as long, erf 0.96 and 0.52.
// Use them in loops over elements; libm's functions are as fast for a single value. The overloads for double call libm.
// Largest error over all finite floats, measured against double (tests/device/vector_math_test.cc):
//   exp 1.0 ulp, expm1 1.7 ulp, log 0.8 ulp, log1p 1.6 ulp, tanh 2.5 ulp, sigmoid 2.4 ulp, erf 2.0 ulp.
// Results differ in the last bits between machines with and without fused multiply-add, never between numbers of
// threads or positions in a vector. Special values as in C: exp(-inf) = 0, exp(inf) = inf, log(0) = -inf, log(x < 0) =
// NaN; NaN gives NaN; subnormal arguments and results are exact to the same bounds.
#pragma once

#include <algorithm>
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

// x = k * ln(2) + r with |r| <= ln(2) / 2, or k = kMost where x is beyond that.
struct Reduced {
  int32_t k;
  float r;
};
template <int kMost = 0>
[[gnu::always_inline]] inline Reduced reduce(float x) {
  int32_t bits = std::bit_cast<int32_t>(x * 1.44269504f + kRound);
  // Not the smaller of two floats, which compilers make a branch of, and of that whatever it makes of the constant.
  if constexpr (kMost != 0) bits = std::min(bits, std::bit_cast<int32_t>(kRound) + kMost);
  const float n = std::bit_cast<float>(bits) - kRound;
  const auto k = static_cast<int32_t>(static_cast<uint32_t>(bits) - std::bit_cast<uint32_t>(kRound));
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
  // 2^k stays a factor where x is too large; what is left of x does the rest. Written so that a NaN stays.
  const detail::Reduced reduced = detail::reduce<130>(x);
  const float result = detail::scale(detail::expm1_reduced(reduced.r) + 1.f, reduced.k);
  return x < -105.f ? 0.f : result;
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
