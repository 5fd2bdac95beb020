// Samples of special functions. Reference values: the C++ standard library's own (expint, cyl_bessel_*), inverses by
// Newton's method, sums that are added until nothing changes. Poles and ends of domains: tests/reference.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::special_rows {
namespace {

// psi(x) = psi(x + n) - 1/x - ... - 1/(x + n - 1), with the first terms of the asymptotic series at x + n.
double digamma(double x) {
  if (x <= 0 && x == std::floor(x)) return NAN;  // its poles
  double sum = 0;
  for (; x < 60; ++x) sum -= 1 / x;
  const double y = 1 / (x * x);
  return sum + std::log(x) - 0.5 / x - y * (1. / 12 - y * (1. / 120 - y / 252));
}
// The sum of (q + k)^-s, and the integral over what is left of it, corrected.
double zeta(double s, double q) {
  double sum = 0;
  for (int k = 0; k < 4000; ++k, ++q) sum += std::pow(q, -s);
  return sum + std::pow(q, 1 - s) / (s - 1) + std::pow(q, -s) / 2 + s * std::pow(q, -s - 1) / 12;
}
double polygamma(double n, double x) {
  if (n == 0) return digamma(x);
  return (std::fmod(n, 2) == 0 ? -1 : 1) * std::tgamma(n + 1) * zeta(n + 1, x);
}
// A function of positive numbers, and what TensorFlow's functions are at the ends and below.
struct Ends {
  double below, at_zero, at_infinity;
};
template <class F>
double of_positive(double x, Ends ends, F f) {
  if (std::isnan(x)) return x;
  if (x <= 0) return x == 0 ? ends.at_zero : ends.below;
  return std::isinf(x) ? ends.at_infinity : f(x);
}
// An even or odd function: of |x|, with the sign of x.
template <class F>
double even(double x, double at_infinity, F f) {
  return std::isinf(x) ? at_infinity : f(std::abs(x));
}
template <class F>
double odd(double x, double at_infinity, F f) {
  return std::copysign(1, x) * even(x, at_infinity, f);
}

double erfinv(double x) {
  if (!(std::abs(x) < 1)) return std::abs(x) == 1 ? std::copysign(INFINITY, x) : NAN;
  double y = x;
  for (int i = 0; i < 60; ++i) y -= (std::erf(y) - x) * std::sqrt(M_PI) / 2 * std::exp(y * y);
  return y;
}
double ndtri(double p) {
  if (!(p > 0 && p < 1)) return p == 0 ? -INFINITY : p == 1 ? INFINITY : NAN;
  double y = 0;
  for (int i = 0; i < 100; ++i)
    y -= (std::erf(y / M_SQRT2) / 2 - (p - 0.5)) * std::sqrt(2 * M_PI) * std::exp(y * y / 2);
  return y;
}
// By Gauss and Legendre's rule of five points, in 1000 parts.
template <class F>
double integral(F f, double from, double to) {
  constexpr int kParts = 1000;
  constexpr double kNear = 0.538469310105683091, kFar = 0.906179845938663993;
  constexpr double kMiddleWeight = 0.568888888888888889, kNearWeight = 0.478628670499366468,
                   kFarWeight = 0.236926885056189088;
  const double half = (to - from) / kParts / 2;
  double sum = 0;
  for (int i = 0; i < kParts; ++i) {
    const double middle = from + (2 * i + 1) * half;
    sum += kMiddleWeight * f(middle) + kNearWeight * (f(middle - kNear * half) + f(middle + kNear * half)) +
           kFarWeight * (f(middle - kFar * half) + f(middle + kFar * half));
  }
  return sum * half;
}
double dawson(double x) {
  return odd(x, 0, [](double a) { return integral([a](double t) { return std::exp((t - a) * (t + a)); }, 0, a); });
}
double spence(double x) {
  return of_positive(x, {NAN, M_PI * M_PI / 6, NAN}, [](double a) {
    return integral([](double t) { return std::abs(t - 1) < 1e-9 ? -1 : std::log(t) / (1 - t); }, 1, a);
  });
}
double bessel_i(int order, double x) { return std::cyl_bessel_i(order, x); }
double scaled_i(int order, double x) { return std::cyl_bessel_i(order, x) * std::exp(-x); }
double bessel_k(int order, double x) { return std::cyl_bessel_k(order, x); }
double scaled_k(int order, double x) { return std::cyl_bessel_k(order, x) * std::exp(x); }

template <int kOrder>
double bessel_j_row(double x) {
  const auto f = [](double a) { return std::cyl_bessel_j(kOrder, a); };
  return kOrder == 0 ? even(x, NAN, f) : odd(x, NAN, f);
}
template <int kOrder>
double bessel_y_row(double x) {
  return of_positive(x, {-INFINITY, -INFINITY, NAN}, [](double a) { return std::cyl_neumann(kOrder, a); });
}
template <int kOrder, double (*kFunction)(int, double), bool kScaled = false>
double bessel_i_row(double x) {
  const auto f = [](double a) { return kFunction(kOrder, a); };
  return kOrder == 0 ? even(x, kScaled ? 0 : NAN, f) : odd(x, kScaled ? 0 : NAN, f);
}
template <int kOrder, double (*kFunction)(int, double)>
double bessel_k_row(double x) {
  return of_positive(x, {INFINITY, INFINITY, 0}, [](double a) { return kFunction(kOrder, a); });
}

// Near a root (of psi, J and Y) the reference is as far from it as from the values around.
// Where the density is below all numbers, and so is the slope; soon.
void far_slopes() {
  const Tensor a = tensor({2., 1e5, 0.5, 900.}), x = tensor({1e300, 1e200, 1e308, 1e16});
  const std::vector<Tensor> in = {a, x};
  BOOST_TEST(difference(list({0, 0, 0, 0}), dispatch::call("IgammaGradA", in)[0], {}) == "");
  // x changes as its mean, which is a: for large x by log(x) more, and more.
  const std::vector<double> by_a = to_array(dispatch::call("RandomGammaGrad", in)[0]).values;
  BOOST_TEST(std::ranges::all_of(by_a, [](double v) { return std::isfinite(v) && v > 0; }));
}

const Family special(
    "math",
    {
        {"Lgamma", real(0.2, 9), [](double x) { return std::lgamma(x); }, {.units = 8}},
        {"Lgamma", real(-0.9, -0.1), [](double x) { return std::lgamma(x); }, {.label = "negative", .units = 16}},
        {"Digamma", real(0.3, 9), digamma, {.units = 1024}},
        {"Erfinv", real(-0.9, 0.9), erfinv, {.units = 16}},
        {"Ndtri", real(0.05, 0.95), ndtri, {.units = 32}},
        {"Expint",
         real(0.3, 6),
         [](double x) { return of_positive(x, {NAN, -INFINITY, NAN}, [](double a) { return std::expint(a); }); },
         {.units = 64}},
        {"Dawsn", real(-6, 6), dawson, {.units = 256}},
        {"Dawsn", real(6, 12), dawson, {.label = "far", .units = 512}},
        {"Spence", real(0.2, 5), spence, {.units = 512}},
        {"BesselJ0", real(-9, 9), bessel_j_row<0>, {.units = 1024}},
        {"BesselJ1", real(-9, 9), bessel_j_row<1>, {.units = 1024}},
        {"BesselY0", real(0.5, 9), bessel_y_row<0>, {.units = 1024}},
        {"BesselY1", real(0.5, 9), bessel_y_row<1>, {.units = 1024}},
        {"BesselI0", real(-4, 4), bessel_i_row<0, bessel_i>, {.units = 64}},
        {"BesselI1", real(-4, 4), bessel_i_row<1, bessel_i>, {.units = 64}},
        {"BesselI0e", real(-9, 9), bessel_i_row<0, scaled_i, true>, {.units = 64, .second_order = false}},
        {"BesselI1e", real(-9, 9), bessel_i_row<1, scaled_i, true>, {.units = 64, .second_order = false}},
        {"BesselI0e",
         real(590, 690),
         bessel_i_row<0, scaled_i, true>,
         {.label = "large", .types = {kFloat64, kFloat32}, .units = 4096, .floor = 0.01, .second_order = false}},
        {"BesselK0", real(0.3, 6), bessel_k_row<0, bessel_k>, {.units = 64}},
        {"BesselK1", real(0.3, 6), bessel_k_row<1, bessel_k>, {.units = 64}},
        {"BesselK0e", real(0.3, 6), bessel_k_row<0, scaled_k>, {.units = 64}},
        {"BesselK1e", real(0.3, 6), bessel_k_row<1, scaled_k>, {.units = 64}},
    });

std::vector<Array> each_pair(const Given& g, double (*f)(double, double)) {
  Array z = g.in[1];
  for (size_t i = 0; i < z.values.size(); ++i) {
    z.values[i] = f(g.in[0].values.size() == 1 ? g.in[0].values[0] : g.in[0].values[i], g.in[1].values[i]);
  }
  return {z};
}
// The gradient with respect to the order is missing, as in TensorFlow.
const Family of_two("math", {
                                {"Polygamma",
                                 {.samples = {{.in = {list({0, 1, 2, 3}), list({0.5, 1.5, 2.5, 3.5})}},
                                              {.in = {scalar(1), draw({2, 3}, 0.5, 6)}},
                                              {.in = {scalar(2), draw({37}, 0.5, 6)}}},
                                  .reference = [](const Given& g) { return each_pair(g, polygamma); },
                                  .units = 256,
                                  .gradient = false}},
                                {"Zeta",
                                 {.samples = {{.in = {list({2, 3, 1.5, 4}), list({0.5, 1.5, 2.5, 3.5})}},
                                              {.in = {scalar(2), draw({2, 3}, 0.5, 6)}},
                                              {.in = {scalar(3.5), draw({37}, 0.5, 6)}}},
                                  .reference = [](const Given& g) { return each_pair(g, zeta); },
                                  .units = 4096,
                                  .gradient = false}},
                            });

// ---- Incomplete functions: integrals of their densities ----------------------------------------------------------

double fresnel_cos(double x) {
  return odd(x, 0.5, [](double a) { return integral([](double t) { return std::cos(M_PI / 2 * t * t); }, 0, a); });
}
double fresnel_sin(double x) {
  return odd(x, 0.5, [](double a) { return integral([](double t) { return std::sin(M_PI / 2 * t * t); }, 0, a); });
}
// t = s^16, so that the integrand is smooth at 0.
double gamma_integral(double a, double x) {
  return integral([a](double s) { return 16 * std::pow(s, 16 * a - 1) * std::exp(-std::pow(s, 16)); }, 0,
                  std::pow(x, 1. / 16));
}
double gamma_p(double a, double x) { return gamma_integral(a, x) / std::tgamma(a); }
// The derivative under the integral, and that of 1 / gamma(a).
double gamma_p_by_a(double a, double x) {
  const double inner = integral(
      [a](double s) { return s == 0 ? 0 : 256 * std::log(s) * std::pow(s, 16 * a - 1) * std::exp(-std::pow(s, 16)); },
      0, std::pow(x, 1. / 16));
  return inner / std::tgamma(a) - digamma(a) * gamma_p(a, x);
}
double gamma_density(double a, double x) { return std::pow(x, a - 1) * std::exp(-x) / std::tgamma(a); }
double beta_p(double a, double b, double x) {
  const double inner =
      integral([=](double s) { return 16 * std::pow(s, 16 * a - 1) * std::pow(1 - std::pow(s, 16), b - 1); }, 0,
               std::pow(x, 1. / 16));
  return inner * std::tgamma(a + b) / (std::tgamma(a) * std::tgamma(b));
}

const std::vector<Sample> kGammas = {{.in = {list({0.5, 1, 2.5, 4}), list({0.25, 3, 2, 9})}},
                                     {.in = {scalar(1.5), draw({2, 3}, 0.25, 6)}},
                                     {.in = {draw({37}, 0.5, 5, 1), draw({37}, 0.25, 8)}}};

const Family incomplete(
    "math",
    {
        {"FresnelCos", real(-2, 2), fresnel_cos, {.units = 256}},
        {"FresnelSin", real(-2, 2), fresnel_sin, {.units = 256}},
        {"FresnelCos", real(-6, 6), fresnel_cos, {.label = "far", .types = {kFloat64, kFloat32}, .units = 512}},
        {"FresnelSin", real(-6, 6), fresnel_sin, {.label = "far", .types = {kFloat64, kFloat32}, .units = 512}},
        {"Igamma",
         {.samples = kGammas,
          .reference = [](const Given& g) { return each_pair(g, gamma_p); },
          .units = 64,
          .second_order = false}},
        {"Igammac",
         {.samples = kGammas,
          .reference =
              [](const Given& g) { return each_pair(g, [](double a, double x) { return 1 - gamma_p(a, x); }); },
          .units = 64,
          .second_order = false}},
        {"IgammaGradA",
         {.samples = kGammas,
          .reference = [](const Given& g) { return each_pair(g, gamma_p_by_a); },
          .own = {{"far", far_slopes}},
          .units = 256}},
        {"RandomGammaGrad",
         {.samples = kGammas,
          .reference =
              [](const Given& g) {
                return each_pair(g, [](double a, double x) { return -gamma_p_by_a(a, x) / gamma_density(a, x); });
              },
          .units = 4096}},
        {"Betainc",
         {.samples = {{.in = {list({1, 2, 0.5, 3.5}), list({1, 2, 3, 2}), list({0.25, 0.5, 0.25, 0.75})}},
                      {.in = {scalar(2), scalar(3), draw({2, 3}, 0.125, 0.875)}},
                      {.in = {draw({37}, 0.5, 5, 1), scalar(2), scalar(0.25)}}},
          .reference =
              [](const Given& g) {
                size_t longest = 0;
                for (size_t i = 1; i < 3; ++i) {
                  if (g.in[i].values.size() > g.in[longest].values.size()) longest = i;
                }
                Array z = g.in[longest];
                const auto of = [&](size_t i, size_t k) { return g.in[i].values[g.in[i].dims.empty() ? 0 : k]; };
                for (size_t k = 0; k < z.values.size(); ++k) z.values[k] = beta_p(of(0, k), of(1, k), of(2, k));
                return std::vector<Array>{z};
              },
          .errors = {{.in = {list({1, 2}), list({1, 2, 3}), scalar(0.5)},
                      .text = "b: expected a scalar or shape [2], got [3]"}},
          .units = 256,
          .gradient = false}},
    });

}  // namespace
}  // namespace panto::test::special_rows
