// Functions of floats that the compiler vectorises: exp, expm1, log, log1p, pow, sin, cos, tanh, sigmoid, softplus,
// erf, erfc and the remainder. They are straight-line arithmetic on the bits: no table, branch, library call or
// intrinsic. They are written once for every instruction set; rows of exp and erf use tables with AVX-512
// (device/cpu/elementwise/vector_math_avx512.h).
//
//   for (int64_t i = 0; i < n; ++i) y[i] = vmath::exp(x[i]);      // -O3: four lanes with SSE2, sixteen with AVX-512
//
// g++ vectorises them only with -fno-trapping-math, which kernel files are compiled with; it changes no value. Time per
// element on Sapphire Rapids with AVX2 and AVX-512: exp and tanh 0.65 and 0.38 ns, erf 0.90 and 0.50, sin 1.1 and 0.85,
// pow 3.4 and 2.3.
//
// Some functions have a version without branches, or a shorter one, for arguments that are not extreme: the structs
// `Bounded...`. For other arguments sin, cos and the remainder call libm. Loops over rows
// (device/cpu/elementwise/inner_loop.h) use the bounded version for blocks in which holds() is true for all elements.
//
// Use them in loops over elements; libm's functions are as fast for a single value. The overloads for double call libm.
// Largest error over all finite floats, measured against double (tests/device/cpu/vector_math_test.cc):
//   exp 1.0 ulp, expm1 1.7 ulp, log 0.8 ulp, log1p 1.6 ulp, tanh 2.5 ulp, sigmoid 2.4 ulp, erf 2.6 ulp,
//   erfc 0.54 ulp, softplus 2.5 ulp, pow 0.51 ulp (of random arguments), the remainder is exact,
//   sin and cos 0.501 ulp up to 2^22 (all floats were tried), beyond that libm's.
// Results differ in the last bits between machines with and without fused multiply-add; those of exp and erf also
// between machines with and without AVX-512. Those of the remainder, sin, cos and erfc are the same everywhere (all
// floats were tried). Results never depend on the number of threads or the position in a vector.
// Special values as in C: exp(-inf) = 0, exp(inf) = inf, log(0) = -inf, log(x < 0) = NaN; NaN gives NaN; subnormal
// arguments and results are exact to the same bounds.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace panto::vmath {

namespace detail {

// 2^n for n in [-126, 127].
[[gnu::always_inline]] inline float power_of_two(int32_t n) { return std::bit_cast<float>((n + 127) << 23); }

// Adding this rounds a float below 2^22 to an integer, which then stands in the lowest bits of the sum.
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
  // Clamps the bits, not the float: compilers turn the minimum of two floats into a branch, and then specialise the
  // code for the constant.
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

// x = (1 + m) * 2^e for x > 0, 1 + m in [sqrt(1/2), sqrt(2)). For other numbers the result is meaningless.
struct Split {
  float e, m;
};
[[gnu::always_inline]] inline Split split(float x) {
  // Subnormals are scaled up first.
  const bool tiny = x < 1.17549435e-38f;
  const auto bits = std::bit_cast<uint32_t>(tiny ? x * 8388608.f : x);
  // Unsigned: the difference may wrap around for negative numbers.
  const auto from = static_cast<int32_t>(bits - 0x3f3504f3u);
  return {static_cast<float>(from >> 23) - (tiny ? 23.f : 0.f),
          std::bit_cast<float>((from & 0x007fffff) + 0x3f3504f3) - 1.f};
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

// c[0] + c[1] x + c[2] x^2 + ..., by pairs of pairs (G. Estrin, 1960): Horner's long chain of dependent steps would
// leave the processor waiting.
template <size_t N>
[[gnu::always_inline]] inline double polynomial(double x, const double (&c)[N]) {
  if constexpr (N == 1) {
    return c[0];
  } else {
    return [&]<size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
      const double pairs[] = {(2 * I + 1 < N ? c[2 * I] + c[(2 * I + 1) % N] * x : c[2 * I])...};
      return polynomial(x * x, pairs);
    }(std::make_index_sequence<(N + 1) / 2>());
  }
}

// Adding this rounds a double below 2^51 to an integer, which then stands in the lowest bits of the sum.
inline constexpr double kRoundWide = 6755399441055744.;  // 1.5 * 2^52

// 2^t for |t| <= 1000, within 2^-34; NaN gives NaN. The polynomial minimises the largest relative error.
[[gnu::always_inline]] inline double exp2_wide(double t) {
  const double shifted = t + kRoundWide;
  const double r = t - (shifted - kRoundWide);
  const double p =
      polynomial(r, {0.999999999961621196, 0.693147180728713446, 0.240226511987553376, 5.55041035284247495e-2,
                     9.61802717269102483e-3, 1.33339228473866524e-3, 1.54693173293653932e-4, 1.52019029299473557e-5});
  return p * std::bit_cast<double>((std::bit_cast<uint64_t>(shifted) << 52) + std::bit_cast<uint64_t>(1.));
}

inline constexpr double kInversePi = 0x1.45f306dc9c883p-2;
inline constexpr double kPiHigh = 0x1.921fb544p+1;  // 31 bits: its product with a number of 22 bits is exact
inline constexpr double kPiLow = 0x1.0b4611a626331p-33;
inline constexpr float kMostPi = 4194304.f;  // 2^22: up to here n, a multiple of 1/2, has at most 22 bits

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

// sin(x) for x = n pi + r. The last bit of `half_turns` is that of n.
[[gnu::always_inline]] inline float sin_less(double x, double n, double half_turns) {
  return sin_reduced((x - n * kPiHigh) - n * kPiLow, half_turns);
}

// log2((1 + m) 2^e) for the result of `split`. The polynomial minimises the largest relative error, 2^-38; a power's
// error is at most 104 times as large.
[[gnu::always_inline]] inline double log2_wide(float e, float m) {
  const double r = m;
  const double p =
      polynomial(r, {1.44269504088657443, -0.721347520327550448, 0.480898348802862257, -0.360673793136981871,
                     0.288538795727917087, -0.240446433614022296, 0.206107123103789207, -0.18043674933420956,
                     0.160216664876781834, -0.142498656329516762, 0.130275661627769271, -0.13462922320019173,
                     0.132511757357388569, -0.0697389898953093432});
  return p * r + e;
}

// The integer next to x, for 0 <= x <= 2^23.
[[gnu::always_inline]] inline float round_below_23(float x) { return (x + 8388608.f) - 8388608.f; }

// Sign and magnitude of x, for odd functions.
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
  // reduce() leaves the factor 2^k finite if x is too large; the rest of x then makes the result infinite. A NaN stays
  // NaN.
  const detail::Reduced reduced = detail::reduce<130>(x);
  const float result = detail::scale(detail::expm1_reduced(reduced.r) + 1.f, reduced.k);
  return x < -105.f ? 0.f : result;
}
inline double exp(double x) { return std::exp(x); }
// exp(-|x|), which cannot overflow and stays accurate near zero.
[[gnu::always_inline]] inline float exp_minus_size(float x) {
  return exp(std::bit_cast<float>(std::bit_cast<uint32_t>(x) | 0x80000000u));
}

// exp(x) - 1, where subtracting would cancel: 2^k * (expm1(r) + (1 - 2^-k)).
[[gnu::always_inline]] inline float expm1(float x) {
  x = x < -20.f ? -20.f : x;
  const float size = x > 90.f ? 90.f : x;
  const detail::Reduced reduced = detail::reduce(size);
  // Beyond 2^126 the inverse of the power is subnormal, and far below the last place of the result.
  const float inverse = detail::power_of_two(reduced.k > 126 ? -126 : -reduced.k);
  const float result = detail::scale(detail::expm1_reduced(reduced.r) + (1.f - inverse), reduced.k);
  return x == 0.f ? x : result;  // with its sign
}
inline double expm1(double x) { return std::expm1(x); }

[[gnu::always_inline]] inline float log(float x) {
  const auto [e, m] = detail::split(x);
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

// log(1 + x): the logarithm of the rounded sum, corrected by what rounding lost.
[[gnu::always_inline]] inline float log1p(float x) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float sum = 1.f + x;
  const float lost = x - (sum - 1.f);
  const float result = log(sum) + lost / sum;
  // A zero keeps its sign. At -1 and infinity `lost` or its quotient is NaN.
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

// 1 - 2^-q with q = -log2(1 - erf(x)), which is nearly a parabola. Its polynomial minimises the largest error of the
// result. 2^-q = 2^-k 2^r, where k is the integer next to q, and r = k - q is exact. The polynomial gives 2^r - 1,
// which is accurate near zero.
[[gnu::always_inline]] inline float erf(float x) {
  const detail::Parts parts(x);
  const float t = parts.size > 3.95f ? 3.95f : parts.size;  // where the result is 1
  float q = -1.291480294e-05f;
  q = q * t + 1.659501140e-04f;
  q = q * t - 9.002290899e-04f;
  q = q * t + 2.383228857e-03f;
  q = q * t - 2.114907693e-04f;
  q = q * t - 2.764157765e-02f;
  q = q * t + 1.482792497e-01f;
  q = q * t + 9.184474349e-01f;
  q = q * t + 6.279070377e-01f;  // 2 / (sqrt(pi) ln(2)) - 1; the 1 is added below as t itself
  q = q * t + t;
  const float shifted = q + detail::kRound;
  const float r = (shifted - detail::kRound) - q;
  const float power = detail::power_of_two(std::bit_cast<int32_t>(detail::kRound) - std::bit_cast<int32_t>(shifted));
  float p = 1.546138665e-04f;
  p = p * r + 1.338756294e-03f;
  p = p * r + 9.618066251e-03f;
  p = p * r + 5.550367013e-02f;
  p = p * r + 2.402265072e-01f;
  p = p * r + 6.931471825e-01f;
  return parts.with_sign((1.f - power) - p * r * power);
}
// Some math libraries give 1 for NaN.
inline double erf(double x) { return x == x ? std::erf(x) : x; }

// sin and cos of numbers up to 2^22, and of NaN.
//
// x = n pi + r, with r exact to 2^-65. pi is the sum of two numbers; the first has so few bits that its multiples are
// exact (W. J. Cody and W. Waite, Software Manual for the Elementary Functions, 1980). This is done in double, since r
// is as small as 2^-30 where x is the float closest to a multiple of pi. The polynomial for sin(r) minimises the
// largest relative error (Remez's exchange algorithm).
struct BoundedSin {
  [[gnu::always_inline]] static bool holds(float x) { return !(std::fabs(x) > detail::kMostPi); }
  [[gnu::always_inline]] static float value(float x) {
    const double wide = x;
    const double shifted = wide * detail::kInversePi + detail::kRoundWide;
    return detail::sin_less(wide, shifted - detail::kRoundWide, shifted);
  }
};
// sin(x + pi / 2) without adding to x: n is half an odd number instead.
struct BoundedCos {
  [[gnu::always_inline]] static bool holds(float x) { return BoundedSin::holds(x); }
  [[gnu::always_inline]] static float value(float x) {
    const double wide = x;
    const double shifted = (wide * detail::kInversePi + 0.5) + detail::kRoundWide;
    return detail::sin_less(wide, (shifted - detail::kRoundWide) - 0.5, shifted);
  }
};
[[gnu::always_inline]] inline float sin(float x) { return BoundedSin::holds(x) ? BoundedSin::value(x) : std::sin(x); }
inline double sin(double x) { return std::sin(x); }
[[gnu::always_inline]] inline float cos(float x) { return BoundedCos::holds(x) ? BoundedCos::value(x) : std::cos(x); }
inline double cos(double x) { return std::cos(x); }

// exp(-x^2) t q(t) with t = 3 / (3 + |x|), where t q(t) is the smooth function exp(x^2) erfc(x) (M. M. Shepherd and
// J. G. Laframboise, Chebyshev approximation of (1 + 2x) exp(x^2) erfc x, 1981). The polynomial q minimises the largest
// relative error, 2^-28.9. The square of a float is exact in double.
[[gnu::always_inline]] inline float erfc(float x) {
  const float size = std::fabs(x);
  const double bounded = size > 10.1f ? 10.1f : size;  // where the result is 0
  const double t = 3. / (3. + bounded);
  const double q =
      detail::polynomial(t, {0.188035806908894575, 0.188684190583320949, 0.171446335660802442, 0.192031297337594812,
                             -0.00157771653146325441, 0.402858237026124117, -0.440389307930678794, 0.535139332630345486,
                             -0.291900563833367174, 0.0556723861980730047});
  const double right = detail::exp2_wide(bounded * bounded * -1.44269504088896341) * (q * t);
  return static_cast<float>(x < 0.f ? 2. - right : right);
}
inline double erfc(double x) { return std::erfc(x); }

// log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), which cannot overflow. The polynomial for the logarithm minimises
// the largest relative error, 2^-30.
[[gnu::always_inline]] inline float softplus(float x) {
  const float e = exp_minus_size(x);
  float p = 0.00207294702383116163f;
  p = p * e - 0.0136314737080262673f;
  p = p * e + 0.041981337765484698f;
  p = p * e - 0.0830740281344557325f;
  p = p * e + 0.124671183456904392f;
  p = p * e - 0.161293333375012141f;
  p = p * e + 0.198979312017711985f;
  p = p * e - 0.249885788651998326f;
  p = p * e + 0.333326897624275709f;
  p = p * e - 0.499999872902832114f;
  const float log = e + e * e * p;
  return (x < 0.f ? 0.f : x) + log;
}
inline double softplus(double x) { return (x < 0. ? 0. : x) + std::log1p(std::exp(-std::abs(x))); }

// 2^(y log2 |x|) in double, with the sign and the special values of C's pow.
[[gnu::always_inline]] inline float pow(float x, float y) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const detail::Parts parts(x);
  const detail::Split s = detail::split(parts.size);
  // The logarithms of 0, infinity and NaN.
  const float e = parts.size == 0.f ? -kInf : (parts.size < kInf ? s.e : parts.size);
  double t = y * detail::log2_wide(e, s.m);
  // Outside of [-200, 200] the result is 0 or infinity anyway. A NaN stays NaN.
  t = t < -200. ? -200. : t;
  t = t > 200. ? 200. : t;
  auto result = static_cast<float>(detail::exp2_wide(t));
  // From 2^23 on every float is an integer, from 2^24 on an even one.
  const float size = std::fabs(y), half = 0.5f * size;
  const bool whole = (detail::round_below_23(size) == size) | (size >= 8388608.f);
  const bool odd = whole & (detail::round_below_23(half) != half) & (half < 8388608.f);
  result = (parts.size == 1.f) & (y == y) ? 1.f : result;  // |x| = 1: also for an infinite power of -1
  result = std::bit_cast<float>(std::bit_cast<uint32_t>(result) | (odd ? parts.sign : 0u));
  result = (x < 0.f) & (x > -kInf) & !whole ? std::numeric_limits<float>::quiet_NaN() : result;
  return (x == 1.f) | (y == 0.f) ? 1.f : result;
}
// pow for positive normal x and |y| <= 7, without special cases: half the work.
struct BoundedPow {
  [[gnu::always_inline]] static bool holds(float x, float y) {
    return (x >= std::numeric_limits<float>::min()) & (x <= std::numeric_limits<float>::max()) & (std::fabs(y) <= 7.f);
  }
  [[gnu::always_inline]] static float value(float x, float y) {
    const detail::Split s = detail::split(x);
    return static_cast<float>(detail::exp2_wide(y * detail::log2_wide(s.e, s.m)));
  }
};
inline double pow(double x, double y) { return std::pow(x, y); }

// The remainder of x / y with the sign of y, or a zero with the sign of x. r = |x| - k |y|, where k is |x / y|
// truncated. Why k is right: unless the quotient of two floats is an integer, it is at least 2^-24 away from one, so
// below 2^28 its rounding to double cannot reach an integer. k y then has at most 52 bits and is exact, and so is r.
// (y + r is rounded, as it is for fmod's result.)
struct BoundedFloorMod {
  [[gnu::always_inline]] static bool holds(float x, float y) { return std::fabs(x) < std::fabs(y) * 268435456.f; }
  [[gnu::always_inline]] static float value(float x, float y) {
    const detail::Parts of_x(x), of_y(y);
    // 2^128 in place of an infinity: it is larger than any x, too.
    const double size = of_x.size, divisor = of_y.size > 3.40282347e+38f ? 0x1p128 : static_cast<double>(of_y.size);
    const auto k = static_cast<double>(static_cast<int32_t>(size / divisor));
    const float rest = of_x.with_sign(static_cast<float>(size - k * divisor));
    return (rest != 0.f) & (of_x.sign != of_y.sign) ? rest + y : rest;
  }
};

[[gnu::always_inline]] inline float sigmoid(float x) {
  const float e = exp_minus_size(x);
  return (x < 0.f ? e : 1.f) / (1.f + e);
}
inline double sigmoid(double x) {
  const double e = std::exp(-std::abs(x));
  return (x < 0. ? e : 1.) / (1. + e);
}

}  // namespace panto::vmath
