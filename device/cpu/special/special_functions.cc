#include "panto/device/cpu/special/special_functions.h"

#include <math.h>  // lgamma_r

#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/expint.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "panto/device/cpu/special/policy.h"

namespace panto::special {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = std::numbers::pi;

bool is_whole(double x) { return x == std::floor(x); }

// ---- Zeta -----------------------------------------------------------------------------------------------------------

// The sum of (q + k)^-s for q > 0 and s > 1: the first terms one by one, the rest by Euler and Maclaurin's formula.
double zeta_of_positive(double s, double q) {
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

// ---- Bessel ---------------------------------------------------------------------------------------------------------

// The asymptotic series of exp(-x) I(x) sqrt(2 pi x), and of exp(x) K(x) sqrt(2 x / pi) with sign +1, for large x
// (Abramowitz and Stegun 9.7.1 and 9.7.2).
double scaled_series(double order, double x, double sign) {
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
constexpr double kLarge = 600;  // above it exp(x) and I(x) come close to overflowing

double scaled_i(int order, double x) {
  if (std::isnan(x)) return x;
  if (x == kInf) return 0;
  if (x > kLarge) return scaled_series(order, x, -1) / std::sqrt(2 * kPi * x);
  return boost::math::cyl_bessel_i(order, x, Policy()) * std::exp(-x);
}
double scaled_k(int order, double x) {
  if (std::isnan(x)) return x;
  if (x <= 0) return kInf;
  if (x == kInf) return 0;
  if (x > kLarge) return scaled_series(order, x, 1) * std::sqrt(kPi / (2 * x));
  return boost::math::cyl_bessel_k(order, x, Policy()) * std::exp(x);
}
double plain_i(int order, double x) {
  if (std::isinf(x)) return kNan;
  return x > 720 ? kInf : boost::math::cyl_bessel_i(order, x, Policy());
}
double plain_k(int order, double x) {
  if (std::isnan(x)) return x;
  if (x <= 0) return kInf;
  return x > 760 ? 0 : boost::math::cyl_bessel_k(order, x, Policy());
}
double plain_y(int order, double x) {
  if (std::isnan(x)) return x;
  if (x <= 0) return -kInf;
  return std::isinf(x) ? kNan : boost::math::cyl_neumann(order, x, Policy());
}

}  // namespace

// std::lgamma writes the sign of gamma to a global variable, which is not thread-safe.
double log_gamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

double digamma(double x) {
  if (x == kInf) return x;
  if (std::isnan(x) || (x <= 0 && is_whole(x))) return kNan;  // -inf too
  return boost::math::digamma(x, Policy());
}

double zeta(double s, double q) {
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

double polygamma(double n, double x) {
  if (!(n >= 0) || !is_whole(n)) return kNan;
  if (n == 0) return digamma(x);
  constexpr double kLargest = 170;  // the largest n with a finite factorial; exp() would lose digits
  const double factorial = n <= kLargest ? std::tgamma(n + 1) : std::exp(log_gamma(n + 1));
  const double size = factorial * zeta(n + 1, x);
  return std::fmod(n, 2) == 0 ? -size : size;
}

double erfinv(double x) {
  if (!(std::fabs(x) <= 1)) return kNan;
  return std::fabs(x) == 1 ? std::copysign(kInf, x) : boost::math::erf_inv(x, Policy());
}

double ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return kNan;
  if (p == 0 || p == 1) return p == 0 ? -kInf : kInf;
  return -std::numbers::sqrt2 * boost::math::erfc_inv(2 * p, Policy());
}

double expint(double x) {
  if (std::isnan(x) || x < 0 || x == kInf) return kNan;
  if (x == 0) return -kInf;
  return x > 720 ? kInf : boost::math::expint(x, Policy());
}

double dawson(double x) {
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

namespace {

// Li2(z), the sum of z^k / k^2, for |z| <= 1/2.
double dilogarithm_series(double z) {
  double sum = 0, power = 1;
  for (int k = 1; k < 80; ++k) {
    power *= z;
    const double term = power / (static_cast<double>(k) * k);
    sum += term;
    if (std::fabs(term) <= std::fabs(sum) * 1e-17) break;
  }
  return sum;
}

}  // namespace

// Li2(1 - x), reduced to |z| <= 1/2 by its reflection formulas (Lewin 1981).
double spence(double x) {
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

double bessel_j0(double x) { return std::isinf(x) ? kNan : boost::math::cyl_bessel_j(0, std::fabs(x), Policy()); }
double bessel_j1(double x) {
  return std::isinf(x) ? kNan : std::copysign(1., x) * boost::math::cyl_bessel_j(1, std::fabs(x), Policy());
}
double bessel_y0(double x) { return plain_y(0, x); }
double bessel_y1(double x) { return plain_y(1, x); }
double bessel_i0(double x) { return plain_i(0, std::fabs(x)); }
double bessel_i1(double x) { return std::copysign(1., x) * plain_i(1, std::fabs(x)); }
double bessel_i0e(double x) { return scaled_i(0, std::fabs(x)); }
double bessel_i1e(double x) { return std::copysign(1., x) * scaled_i(1, std::fabs(x)); }
double bessel_k0(double x) { return plain_k(0, x); }
double bessel_k1(double x) { return plain_k(1, x); }
double bessel_k0e(double x) { return scaled_k(0, x); }
double bessel_k1e(double x) { return scaled_k(1, x); }

}  // namespace panto::special
