// Special functions of float64 that every device computes with the same code; those for which a device has functions of
// its own take these as template arguments, and add what TensorFlow returns at poles and outside of domains. Internal.
#pragma once

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "panto/device/math/vocabulary.h"

namespace panto::special {

using Function = double (*)(double);

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kPi = std::numbers::pi;

PANTO_FN bool is_whole(double x) { return x == std::floor(x); }

// ---- Gamma and zeta -------------------------------------------------------------------------------------------------

// Takes the function for finite arguments that are no pole.
template <Function kDigamma>
PANTO_FN double digamma_of(double x) {
  if (x == kInf) return x;
  if (std::isnan(x) || (x <= 0 && is_whole(x))) return kNan;  // -inf too
  return kDigamma(x);
}

// The sum of (q + k)^-s for q > 0 and s > 1: the first terms one by one, the rest by Euler and Maclaurin's formula.
PANTO_FN double zeta_of_positive(double s, double q) {
  constexpr int kTerms = 12;
  double sum = 0, at = q;
  for (int k = 0; k < kTerms; ++k, ++at) {
    const double term = std::pow(at, -s);
    sum += term;
    if (term < sum * 1e-17) return sum;
  }
  const double end = std::pow(at, -s);
  sum += end * at / (s - 1) + end / 2;
  // B(2k) / (2k)! for k = 1, 2, ...
  constexpr double kBernoulli[] = {1. / 12,
                                   -1. / 720,
                                   1. / 30240,
                                   -1. / 1209600,
                                   1. / 47900160,
                                   -691. / 1307674368000,
                                   1. / 74724249600,
                                   -3617. / 10670622842880000,
                                   43867. / 5109094217170944000,
                                   -174611. / 802857662698291200000.};
  double factor = s * end / at;  // s (s + 1) ... (s + 2k - 2) at^-(s + 2k - 1)
  double order = s;
  for (const double b : kBernoulli) {
    const double term = b * factor;
    sum += term;
    if (std::fabs(term) < std::fabs(sum) * 1e-17) break;
    factor *= (order + 1) * (order + 2) / (at * at);
    order += 2;
  }
  return sum;
}

// Hurwitz's: the sum of (q + k)^-s over k = 0, 1, ...
PANTO_FN double zeta(double s, double q) {
  if (std::isnan(s) || std::isnan(q) || s < 1) return kNan;
  if (s == 1) return kInf;
  if (q > 0) return zeta_of_positive(s, q);
  const bool even = std::fmod(s, 2) == 0;
  if (is_whole(q)) return even ? kInf : kNan;
  if (!is_whole(s)) return kNan;
  // The terms with q + k < 0, mirrored: those of 1 - f, 2 - f, ... n - f, where q + n = f.
  const double n = -std::floor(q), f = q + n;
  const double mirrored = zeta_of_positive(s, 1 - f) - zeta_of_positive(s, n + 1 - f);
  return zeta_of_positive(s, f) + (even ? mirrored : -mirrored);
}

// Derivative n of digamma. Takes digamma for all arguments.
template <Function kDigamma, Function kLogGamma>
PANTO_FN double polygamma_of(double n, double x) {
  if (!(n >= 0) || !is_whole(n)) return kNan;
  if (n == 0) return kDigamma(x);
  constexpr double kLargest = 170;  // the largest n with a finite factorial; exp() would lose digits
  const double factorial = n <= kLargest ? std::tgamma(n + 1) : std::exp(kLogGamma(n + 1));
  const double size = factorial * zeta(n + 1, x);
  return std::fmod(n, 2) == 0 ? -size : size;
}

// ---- Bessel ---------------------------------------------------------------------------------------------------------

// The asymptotic series of exp(-x) I(x) sqrt(2 pi x), and of exp(x) K(x) sqrt(2 x / pi) with sign +1, for large x
// (Abramowitz and Stegun 9.7.1 and 9.7.2).
PANTO_FN double scaled_series(double order, double x, double sign) {
  const double mu = 4 * order * order;
  double sum = 1, term = 1;
  for (int k = 1; k < 30; ++k) {
    const double odd = 2. * k - 1;
    term *= sign * (mu - odd * odd) / (k * 8 * x);
    sum += term;
    if (std::fabs(term) < 1e-17) break;
  }
  return sum;
}
// Above it exp(x) and I(x) come close to overflowing.
inline constexpr double kScaledUpTo = 600;

// Each takes the function of its order, for arguments above 0 (J and I: at least 0).
template <Function kJ, int kOrder>
PANTO_FN double bessel_j(double x) {
  if (std::isinf(x)) return kNan;
  const double value = kJ(std::fabs(x));
  return kOrder == 0 ? value : std::copysign(1., x) * value;
}
template <Function kY>
PANTO_FN double bessel_y(double x) {
  if (std::isnan(x)) return x;
  if (x <= 0) return -kInf;
  return std::isinf(x) ? kNan : kY(x);
}
template <Function kI, int kOrder>
PANTO_FN double bessel_i(double x) {
  const double a = std::fabs(x);
  const double value = std::isinf(x) ? kNan : a > 720 ? kInf : kI(a);
  return kOrder == 0 ? value : std::copysign(1., x) * value;
}
// exp(-|x|) I(x)
template <Function kI, int kOrder>
PANTO_FN double bessel_ie(double x) {
  const double a = std::fabs(x);
  if (std::isnan(x)) return x;
  double value = 0;
  if (a > kScaledUpTo) {
    value = a == kInf ? 0 : scaled_series(kOrder, a, -1) / std::sqrt(2 * kPi * a);
  } else {
    value = kI(a) * std::exp(-a);
  }
  return kOrder == 0 ? value : std::copysign(1., x) * value;
}

template <Function kK>
PANTO_FN double bessel_k(double x) {
  if (std::isnan(x)) return x;
  if (x <= 0) return kInf;
  return x > 760 ? 0 : kK(x);
}
// exp(x) K(x)
template <Function kK, int kOrder>
PANTO_FN double bessel_ke(double x) {
  if (std::isnan(x)) return x;
  if (x <= 0) return kInf;
  if (x == kInf) return 0;
  if (x > kScaledUpTo) return scaled_series(kOrder, x, 1) * std::sqrt(kPi / (2 * x));
  return kK(x) * std::exp(x);
}

// ---- Integrals ------------------------------------------------------------------------------------------------------

// Takes the function for arguments above 0.
template <Function kExpint>
PANTO_FN double expint_of(double x) {
  if (std::isnan(x) || x < 0 || x == kInf) return kNan;
  if (x == 0) return -kInf;
  return x > 720 ? kInf : kExpint(x);
}

// exp(-x^2) times the integral of exp(t^2) from 0 to x.
PANTO_FN double dawson(double x) {
  const double a = std::fabs(x);
  if (std::isnan(x)) return x;
  double value;
  if (a > 7) {
    // 1 / (2x) times the sum of 1 * 3 * ... (2k - 1) / (2 x^2)^k; the smallest term is below exp(-x^2).
    const double step = 1 / (2 * a * a);
    double sum = 1, term = 1;
    for (int k = 1; k < 40 && term > 1e-17; ++k) {
      term *= (2 * k - 1) * step;
      sum += term;
    }
    value = sum / (2 * a);
  } else if (a > 1) {
    // Rybicki's sum of exp(-(x - n h)^2) / n over odd n, by sqrt(pi): off by exp(-(pi / 2h)^2), which is 1e-17. The
    // terms left out are below exp(-39).
    constexpr double kStep = 0.25;
    const double nearest = 2 * std::round(a / kStep / 2);
    double sum = 0;
    for (double k = -25; k <= 25; k += 2) {
      const double n = nearest + k, away = a - n * kStep;
      sum += std::exp(-away * away) / n;
    }
    value = sum * std::numbers::inv_sqrtpi;
  } else {
    // exp(-x^2) times the sum of x^(2k + 1) / (k! (2k + 1)), of which no term is negative.
    const double square = a * a;
    double sum = a, power = a;
    for (int k = 1; k < 40; ++k) {
      power *= square / k;
      const double term = power / (2 * k + 1);
      sum += term;
      if (term < sum * 1e-17) break;
    }
    value = sum * std::exp(-square);
  }
  return std::copysign(value, x);
}

// Li2(z), the sum of z^k / k^2, for |z| <= 1/2.
PANTO_FN double dilogarithm_series(double z) {
  double sum = 0, power = 1;
  for (int k = 1; k < 80; ++k) {
    power *= z;
    const double term = power / (static_cast<double>(k) * k);
    sum += term;
    if (std::fabs(term) <= std::fabs(sum) * 1e-17) break;
  }
  return sum;
}

// Li2(1 - x), reduced to |z| <= 1/2 by its reflection formulas (Lewin 1981).
PANTO_FN double spence(double x) {
  constexpr double kZeta2 = kPi * kPi / 6;
  if (!(x >= 0) || x == kInf) return kNan;
  if (x == 0) return kZeta2;
  const double z = 1 - x;
  if (x < 0.5) return kZeta2 - std::log(x) * std::log1p(-x) - dilogarithm_series(x);
  if (x <= 1.5) return dilogarithm_series(z);
  const double log = std::log(x);
  if (x <= 2) return -dilogarithm_series((x - 1) / x) - log * log / 2;
  const double far = std::log(x - 1);
  const double inverse = 1 / z;  // between -1 and 0
  const double rest =
      inverse >= -0.5 ? dilogarithm_series(inverse)
                      : -dilogarithm_series(inverse / (inverse - 1)) - std::log1p(-inverse) * std::log1p(-inverse) / 2;
  return -kZeta2 - far * far / 2 - rest;
}

// The series of C (n even) or S (n odd): the sum of (-1)^k (pi/2)^n x^(2n + 1) / (n! (2n + 1)) over n = 2k or 2k + 1.
PANTO_FN double fresnel_series(double x, bool sine) {
  const double t = kPi / 2 * x * x;
  double power = sine ? t * x : x, sum = 0;
  for (int n = sine ? 1 : 0; n < 80; n += 2) {
    const double term = power / (2 * n + 1);
    sum += term;
    if (std::fabs(term) <= std::fabs(sum) * 1e-18) break;
    power *= -t * t / ((n + 1.) * (n + 2.));
  }
  return sum;
}

// C + iS from the continued fraction of the complementary error function, for x above 1.5, evaluated by Lentz's method.
PANTO_FN std::complex<double> fresnel_fraction(double x) {
  using Complex = std::complex<double>;
  const double square = x * x, rest = std::fma(x, x, -square);
  const Complex one(1, 0);
  Complex b(1, -kPi * square), c(1e300, 0);
  Complex d = k::div(one, b), fraction = d;
  for (int n = 1; n < 1000; n += 2) {
    const double a = -static_cast<double>(n) * (n + 1);
    b = Complex(b.real() + 4, b.imag());
    d = k::div(one, Complex(a * d.real() + b.real(), a * d.imag() + b.imag()));
    c = k::add(b, k::div(Complex(a, 0), c));
    const Complex change = k::mul(c, d);
    fraction = k::mul(fraction, change);
    if (std::fabs(change.real() - 1) + std::fabs(change.imag()) < 1e-16) break;
  }
  const double angle = kPi / 2 * (std::fmod(square, 4) + rest);
  const Complex turned = k::mul(Complex(std::cos(angle), std::sin(angle)), k::mul(fraction, Complex(x, -x)));
  return k::mul(Complex(0.5, 0.5), k::sub(one, turned));
}

// The integral of sin(pi / 2 t^2) or cos(pi / 2 t^2) from 0 to x.
PANTO_FN double fresnel(double x, bool sine) {
  if (std::isnan(x)) return x;
  const double a = std::fabs(x);
  double value;
  if (a < 1.6) {
    value = fresnel_series(a, sine);
  } else if (a > 1e15) {
    value = 0.5;
  } else {
    const std::complex<double> both = fresnel_fraction(a);
    value = sine ? both.imag() : both.real();
  }
  return std::copysign(value, x);
}
PANTO_FN double fresnel_cos(double x) { return fresnel(x, false); }
PANTO_FN double fresnel_sin(double x) { return fresnel(x, true); }

}  // namespace panto::special

namespace panto {

struct NextAfterFn {
  static constexpr bool kScalar = true;
  template <class T>
  PANTO_FN T operator()(T x, T y) const {
    return std::nextafter(x, y);
  }
};

// Computes in float64 and rounds once.
template <double (*kFunction)(double)>
struct SpecialFn {
  static constexpr bool kScalar = true;
  template <class T>
  PANTO_FN T operator()(T x) const {
    return static_cast<T>(kFunction(static_cast<double>(x)));
  }
};
template <double (*kFunction)(double, double)>
struct SpecialOfTwoFn {
  static constexpr bool kScalar = true;
  template <class T>
  PANTO_FN T operator()(T x, T y) const {
    return static_cast<T>(kFunction(static_cast<double>(x), static_cast<double>(y)));
  }
};

}  // namespace panto
