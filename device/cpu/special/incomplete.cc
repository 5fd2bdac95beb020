// Incomplete gamma and beta functions.
#include <boost/math/policies/policy.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

#include "panto/device/cpu/special/policy.h"
#include "panto/device/cpu/special/special_functions.h"
#include "panto/device/math/special.h"

namespace panto::special {
namespace {

// ---- Gamma ----------------------------------------------------------------------------------------------------------

// P or Q without the factor x^a exp(-x) / gamma(a), and its derivative by a.
struct Value {
  double value, by_a;
};

// P by its series, the sum of x^n / (a (a + 1) ... (a + n)), for x <= a + 1 (Abramowitz and Stegun 6.5.29).
Value lower_series(double a, double x) {
  double term = 1 / a, slope = -term / a;  // a term and its derivative
  Value sum = {term, slope};
  for (double n = 1; n < 1e6; ++n) {
    const double ratio = x / (a + n);
    slope = ratio * (slope - term / (a + n));
    term *= ratio;
    sum.value += term;
    sum.by_a += slope;
    if (term < sum.value * 1e-17 && std::fabs(slope) < std::fabs(sum.by_a) * 1e-17) break;
  }
  return sum;
}

// Q by its continued fraction 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)), for larger x (6.5.31): numerators p and
// denominators q of its convergents, and their derivatives.
Value upper_fraction(double a, double x) {
  // Everything is divided by q1 from the start: products of numbers above 1e154 would overflow.
  double p0 = 0, p1 = 1 / (x + 1 - a), q0 = p1, q1 = 1;
  double dp0 = 0, dp1 = 0, dq0 = 0, dq1 = -p1;
  Value last = {p1, dp1 - p1 * dq1};
  for (double n = 1; n < 1e6; ++n) {
    const double b = x + 2 * n + 1 - a, c = -n * (n - a), dc = n;  // the next partial quotient; b's derivative is -1
    const double p2 = b * p1 + c * p0, q2 = b * q1 + c * q0;
    const double dp2 = b * dp1 - p1 + c * dp0 + dc * p0, dq2 = b * dq1 - q1 + c * dq0 + dc * q0;
    const double scale = 1 / q2;
    p0 = p1 * scale, q0 = q1 * scale, dp0 = dp1 * scale, dq0 = dq1 * scale;
    p1 = p2 * scale, q1 = 1, dp1 = dp2 * scale, dq1 = dq2 * scale;
    const Value now = {p1, dp1 - p1 * dq1};
    const bool settled = std::fabs(now.value - last.value) <= std::fabs(now.value) * 1e-16 &&
                         std::fabs(now.by_a - last.by_a) <= std::fabs(now.by_a) * 1e-15;
    last = now;
    if (settled || !std::isfinite(now.value) || !std::isfinite(now.by_a)) break;
  }
  return last;
}

// For a above `kLarge`, where both methods are slow: a finite difference. P changes little over a hundredth of its
// width, which is sqrt(a).
constexpr double kLarge = 1e6;
double slope_between(double a, double x) {
  const double h = 0.01 * std::sqrt(a);
  const auto change = [&](double d) {
    // Uses the smaller of P and Q, so that the difference keeps its digits.
    return x < a ? gamma_p(a + d, x) - gamma_p(a - d, x) : gamma_q(a - d, x) - gamma_q(a + d, x);
  };
  return (8 * change(h) - change(2 * h)) / (12 * h);
}

}  // namespace

double gamma_p(double a, double x) {
  if (std::isnan(a) || std::isnan(x)) return kNan;
  if (x == 0) return 0;
  if (x < 0 || a <= 0) return kNan;
  if (std::isinf(a)) return 0;
  return std::isinf(x) ? 1 : boost::math::gamma_p(a, x, Policy());
}

double gamma_q(double a, double x) {
  if (std::isnan(a) || std::isnan(x) || x < 0 || a <= 0) return kNan;
  if (std::isinf(a)) return std::isinf(x) ? 0 : 1;
  return std::isinf(x) ? 0 : boost::math::gamma_q(a, x, Policy());
}

// The derivative of P by a, without the factor x^a exp(-x) / gamma(a).
static double slope_without_factor(double a, double x) {
  const double log_slope = std::log(x) - boost::math::digamma(a, Policy());  // derivative of the factor's logarithm
  const bool lower = x <= a || x <= 1;
  const Value part = lower ? lower_series(a, x) : upper_fraction(a, x);
  const double slope = part.by_a + part.value * log_slope;
  return lower ? slope : -slope;
}

double gamma_p_by_a(double a, double x) {
  if (std::isnan(a) || std::isnan(x)) return kNan;
  if (x == 0) return 0;
  if (x < 0 || a <= 0) return kNan;
  if (std::isinf(a) || std::isinf(x)) return std::isinf(a) && std::isinf(x) ? kNan : 0;
  if (a > kLarge) return slope_between(a, x);
  const double factor = x * boost::math::gamma_p_derivative(a, x, Policy());
  return factor == 0 ? 0 : factor * slope_without_factor(a, x);
}

// P(a, x(a)) is constant, so dx/da is -(dP/da) / density.
double gamma_sample_by_a(double a, double x) {
  if (std::isnan(a) || std::isnan(x)) return kNan;
  if (x == 0) return 0;
  if (!(x > 0) || !(a > 0) || std::isinf(a) || std::isinf(x)) return kNan;
  if (a > kLarge) return -slope_between(a, x) / boost::math::gamma_p_derivative(a, x, Policy());
  return -x * slope_without_factor(a, x);
}

double beta_p(double a, double b, double x) {
  if (!(a > 0) || !(b > 0) || !(x >= 0) || !(x <= 1)) return kNan;
  if (x == 0 || x == 1) return x;
  if (std::isinf(a) || std::isinf(b)) return kNan;
  return boost::math::ibeta(a, b, x, Policy());
}

}  // namespace panto::special
