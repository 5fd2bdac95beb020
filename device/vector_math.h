// exp, expm1, log, log1p, tanh, sigmoid and erf of floats that the compiler vectorises: straight-line arithmetic on the
// bits, no table, no branch, no library call, no intrinsic. Written once for every instruction set.
//
//   for (int64_t i = 0; i < n; ++i) y[i] = vmath::exp(x[i]);      // -O3: four lanes with SSE2, eight with AVX2
//
// g++ vectorises them only with -fno-trapping-math (kernel files have it; it changes no value). With SSE2 exp takes
// 1.6 ns an element where libm takes 3.7, tanh 3.3 and 15.5; with AVX2 0.6 and 1.0.
// Use them in loops over elements; libm's functions are as fast for a single value. The overloads for double call libm.
// Largest error over all finite floats, measured against double (tests/device/vector_math_test.cc):
//   exp 1.0 ulp, expm1 1.7 ulp, log 0.8 ulp, log1p 1.6 ulp, tanh 1.3 ulp, sigmoid 2.4 ulp, erf 1.7 ulp. Results differ in the last bits between machines with and
//   without fused multiply-add, never between numbers of threads or positions in a vector.
// Special values as in C: exp(-inf) = 0, exp(inf) = inf, log(0) = -inf, log(x < 0) = NaN; NaN gives NaN; subnormal
// arguments and results are exact to the same bounds.
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

[[gnu::always_inline]] inline float tanh(float x) {
  const float size = std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0x7fffffffu);
  // Near zero 1 - 2 / (exp(2x) + 1) would cancel.
  const float s = x * x;
  float p = -5.70498872745e-3f;
  p = p * s + 2.06390887954e-2f;
  p = p * s - 5.37397155531e-2f;
  p = p * s + 1.33314422036e-1f;
  p = p * s - 3.33332819422e-1f;
  const float near = p * s * size + size;
  const float far = 1.f - 2.f / (exp(size + size) + 1.f);
  const float result = size < 0.625f ? near : far;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(result) | (std::bit_cast<uint32_t>(x) & 0x80000000u));
}
inline double tanh(double x) { return std::tanh(x); }

// Near zero x * P(x^2), beyond 1 - exp(-P(x)): polynomials fitted to the smallest largest error of the result.
[[gnu::always_inline]] inline float erf(float x) {
  const float size = std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0x7fffffffu);
  const float s = x * x;
  float p = 8.369579155e-05f;
  p = p * s - 8.142581210e-04f;
  p = p * s + 5.201021675e-03f;
  p = p * s - 2.685939334e-02f;
  p = p * s + 1.128369570e-01f;
  p = p * s - 3.761263490e-01f;
  p = p * s + 1.283792257e-01f;  // 2 / sqrt(pi) - 1: the one is added as x itself
  const float near = p * size + size;
  const float t = size > 4.f ? 4.f : size;  // where the result is 1
  float q = -1.959373039e-04f;
  q = q * t + 3.043218050e-03f;
  q = q * t - 2.222692221e-02f;
  q = q * t + 1.039315984e-01f;
  q = q * t + 6.371822357e-01f;
  q = q * t + 1.127675653e+00f;
  q = q * t + 1.956749329e-04f;
  const float far = 1.f - exp(-q);
  const float result = size < 0.875f ? near : far;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(result) | (std::bit_cast<uint32_t>(x) & 0x80000000u));
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
