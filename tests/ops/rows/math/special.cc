// Samples of special functions. Reference values: the C++ standard library's own (expint, cyl_bessel_*), inverses by
// Newton's method, sums that are added until nothing changes. Poles and ends of domains: tests/reference.
#include <cmath>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test {
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

}  // namespace
}  // namespace panto::test
