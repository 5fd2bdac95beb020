// How exact special functions are, over their domains. The reference is computed in long double: by Boost.Math, or
// where that has no such function by a quadrature or a sum of another kind than the kernel's.
//
// float32: at most 2 units in the last place of the exact value, also near zeros, since kernels compute in float64.
// float64: over the same points no worse than Boost.Math computing in float64 (without widening to long double), in
// units of the exact value, or of `near_zero` where that is smaller: between zeros a value is what is left of larger
// ones, and both are as far from it as from those. A function that is no more than four units off may be worse than
// Boost.Math, and functions that Boost.Math does not have are held to the units that their row says.
#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/expint.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/special_functions/polygamma.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <random>

#include "panto/device/cpu/special/policy.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {
namespace {

namespace bm = boost::math;
using special::Policy;
using Real = long double;
constexpr Real kPi = std::numbers::pi_v<Real>;

constexpr int kPoints = 200;            // of each row
constexpr double kUnits32 = 2;          // of float32
constexpr double kAlwaysAllowed64 = 4;  // of float64, where Boost.Math is better
// Elsewhere than on x86 the compiler makes multiply-adds of either's products and sums, which helps now one, now the
// other.
#ifdef __x86_64__
constexpr double kLuck = 1;
#else
constexpr double kLuck = 1.25;
#endif

// ---- References that Boost.Math does not have -----------------------------------------------------------------------

// By Gauss's rule of 30 points in each part of at most `part`.
template <class F>
Real integral(F f, Real from, Real to, Real part) {
  const int parts = std::max(1, static_cast<int>(std::ceil(std::fabs(to - from) / part)));
  const Real step = (to - from) / parts;
  Real sum = 0;
  for (int i = 0; i < parts; ++i) {
    sum += bm::quadrature::gauss<Real, 30>::integrate(f, from + step * i, i + 1 == parts ? to : from + step * (i + 1));
  }
  return sum;
}
Real fresnel_cos(Real x) {
  return integral([](Real t) { return std::cos(kPi / 2 * t * t); }, 0, x, 0.25L);
}
Real fresnel_sin(Real x) {
  return integral([](Real t) { return std::sin(kPi / 2 * t * t); }, 0, x, 0.25L);
}
// With t = exp(u) the integrand has no pole at zero.
Real spence(Real x) {
  return integral([](Real u) { return u == 0 ? Real(-1) : -u * std::exp(u) / std::expm1(u); }, 0, std::log(x), 0.5L);
}
// Over the distance u from x; what is farther than 40 / x is below all digits.
Real dawson(Real x) {
  const Real a = std::fabs(x), part = 0.5L / std::max(Real(1), a);
  const auto f = [a](Real u) { return std::exp(-u * (2 * a - u)); };
  return std::copysign(integral(f, 0, std::min(a, 40 / a), part), x);
}
// Hurwitz's: the first terms one by one, the rest by Euler and Maclaurin's formula, far enough for two of its terms.
Real zeta(Real s, Real q) {
  constexpr int kTerms = 2000;
  Real sum = 0;
  for (int k = kTerms - 1; k >= 0; --k) sum += std::pow(q + k, -s);
  const Real end = q + kTerms;
  const Real last = std::pow(end, -s);
  return sum + (last * end / (s - 1) + last / 2 + s * last / end / 12 -
                s * (s + 1) * (s + 2) * last / (end * end * end) / 720);
}

// ---- The table ------------------------------------------------------------------------------------------------------

// Points are drawn evenly, or by their logarithm where the range is above zero and wide; or are whole numbers.
struct Range {
  double from, to;
  bool whole = false;

  double draw(std::mt19937& random) const {
    const double part = (static_cast<double>(random()) + 0.5) * 0x1p-32;
    if (from > 0 && to > 100 * from) return from * std::pow(to / from, part);
    const double x = from + (to - from) * part;
    return whole ? std::round(x) : x;
  }
};

struct Row {
  const char* op;
  std::vector<Range> arguments;
  std::function<Real(const std::vector<Real>&)> exact;
  std::function<double(const std::vector<double>&)> boost;  // empty: none
  double units = 0;                                         // of float64, then
  double near_zero = 0;
};

template <class T, class F>
T apply(F f, const std::vector<T>& x) {
  if constexpr (std::is_invocable_v<F, T, T, T>) {
    return f(x[0], x[1], x[2]);
  } else if constexpr (std::is_invocable_v<F, T, T>) {
    return f(x[0], x[1]);
  } else {
    return f(x[0]);
  }
}
// `f`: Boost.Math's, of any type.
template <class F>
Row of(const char* op, std::vector<Range> arguments, F f, double near_zero = 0) {
  return {op,
          std::move(arguments),
          [f](const std::vector<Real>& x) { return apply(f, x); },
          [f](const std::vector<double>& x) { return apply(f, x); },
          0,
          near_zero};
}
template <class F>
Row own(const char* op, std::vector<Range> arguments, F f, double units, double near_zero = 0) {
  return {op, std::move(arguments), [f](const std::vector<Real>& x) { return apply(f, x); }, {}, units, near_zero};
}

template <class T>
T ndtri(T p) {
  return -std::numbers::sqrt2_v<T> * bm::erfc_inv(2 * p, Policy());
}
template <int kOrder>
constexpr auto kJ = [](auto x) { return bm::cyl_bessel_j(kOrder, x, Policy()); };
template <int kOrder>
constexpr auto kY = [](auto x) { return bm::cyl_neumann(kOrder, x, Policy()); };
template <int kOrder>
constexpr auto kI = [](auto x) { return bm::cyl_bessel_i(kOrder, x, Policy()); };
template <int kOrder>
constexpr auto kK = [](auto x) { return bm::cyl_bessel_k(kOrder, x, Policy()); };
template <int kOrder>
constexpr auto kScaledI = [](auto x) { return bm::cyl_bessel_i(kOrder, x, Policy()) * std::exp(-std::fabs(x)); };
template <int kOrder>
constexpr auto kScaledK = [](auto x) { return bm::cyl_bessel_k(kOrder, x, Policy()) * std::exp(x); };

const auto kLgamma = [](auto x) { return bm::lgamma(x, Policy()); };
const auto kDigamma = [](auto x) { return bm::digamma(x, Policy()); };
const auto kExpint = [](auto x) { return bm::expint(x, Policy()); };

std::vector<Row> function_rows() {
  return {
      of("Lgamma", {{1e-6, 0.9}}, kLgamma),
      of("Lgamma", {{0.9, 2.1}}, kLgamma, 0.01),
      of("Lgamma", {{2.1, 1e6}}, kLgamma),
      of("Lgamma", {{-12, -0.01}}, kLgamma, 1),
      of("Digamma", {{1e-6, 1.4}}, kDigamma),
      of("Digamma", {{1.4, 1.6}}, kDigamma, 0.1),
      of("Digamma", {{1.6, 1e6}}, kDigamma),
      of("Digamma", {{-12, -0.01}}, kDigamma, 10),
      of(
          "Polygamma", {{0, 8, true}, {0.05, 60}},
          [](auto n, auto x) { return bm::polygamma(static_cast<int>(n), x, Policy()); }, 0.1),
      own("Zeta", {{1.05, 20}, {0.1, 60}}, zeta, 4),
      of("Igamma", {{0.02, 100}, {0.01, 200}}, [](auto a, auto x) { return bm::gamma_p(a, x, Policy()); }),
      of("Igammac", {{0.02, 100}, {0.01, 80}}, [](auto a, auto x) { return bm::gamma_q(a, x, Policy()); }),
      of("Betainc", {{0.1, 30}, {0.1, 30}, {0.01, 0.99}},
         [](auto a, auto b, auto x) { return bm::ibeta(a, b, x, Policy()); }),
      of("Erf", {{-6, 6}}, [](auto x) { return bm::erf(x, Policy()); }),
      of("Erf", {{1e-30, 1}}, [](auto x) { return bm::erf(x, Policy()); }),
      of("Erfc", {{-6, 9}}, [](auto x) { return bm::erfc(x, Policy()); }),
      of("Erfinv", {{-0.99999, 0.99999}}, [](auto x) { return bm::erf_inv(x, Policy()); }),
      of("Erfinv", {{1e-30, 0.5}}, [](auto x) { return bm::erf_inv(x, Policy()); }),
      of("Ndtri", {{1e-30, 0.4}}, [](auto p) { return ndtri(p); }),
      of(
          "Ndtri", {{0.4, 0.99999}}, [](auto p) { return ndtri(p); }, 0.5),
      of("Expint", {{1e-6, 0.3}}, kExpint),
      of("Expint", {{0.3, 0.5}}, kExpint, 1),
      of("Expint", {{0.5, 85}}, kExpint),
      own("Dawsn", {{-7, 7}}, dawson, 4),
      own("Dawsn", {{1e-20, 1e3}}, dawson, 4),
      own("Spence", {{1e-8, 0.5}}, spence, 4),
      own("Spence", {{0.5, 1e5}}, spence, 8),
      own("FresnelCos", {{-8, 8}}, fresnel_cos, 8),
      own("FresnelCos", {{1e-10, 1}}, fresnel_cos, 4),
      own("FresnelSin", {{-8, 8}}, fresnel_sin, 8),
      own("FresnelSin", {{1e-10, 1}}, fresnel_sin, 4),
      of("BesselJ0", {{-40, 40}}, kJ<0>, 0.5),
      of("BesselJ0", {{40, 1e4}}, kJ<0>, 0.1),
      of("BesselJ1", {{-40, 40}}, kJ<1>, 0.5),
      of("BesselJ1", {{40, 1e4}}, kJ<1>, 0.1),
      of("BesselY0", {{1e-6, 40}}, kY<0>, 0.5),
      of("BesselY0", {{40, 1e4}}, kY<0>, 0.1),
      of("BesselY1", {{1e-6, 40}}, kY<1>, 0.5),
      of("BesselY1", {{40, 1e4}}, kY<1>, 0.1),
      of("BesselI0", {{-85, 85}}, kI<0>),
      of("BesselI1", {{-85, 85}}, kI<1>),
      of("BesselI1", {{1e-20, 1}}, kI<1>),
      of("BesselI0e", {{-500, 500}}, kScaledI<0>),
      of("BesselI1e", {{-500, 500}}, kScaledI<1>),
      of("BesselI0e", {{500, 5000}}, kScaledI<0>),
      of("BesselI1e", {{500, 5000}}, kScaledI<1>),
      of("BesselK0", {{1e-6, 80}}, kK<0>),
      of("BesselK1", {{1e-6, 80}}, kK<1>),
      of("BesselK0e", {{1e-6, 5000}}, kScaledK<0>),
      of("BesselK1e", {{1e-6, 5000}}, kScaledK<1>),
  };
}

// ---- The comparison -------------------------------------------------------------------------------------------------

// One unit in the last place of a number of type T.
template <class T>
Real unit(Real exact) {
  const int exponent = exact == 0 ? std::numeric_limits<T>::min_exponent : std::ilogb(std::fabs(exact)) + 1;
  return std::ldexp(Real(1), std::max(exponent, std::numeric_limits<T>::min_exponent) - std::numeric_limits<T>::digits);
}

struct Worst {
  double units = 0;
  size_t at = 0;

  template <class T>
  void see(size_t i, T got, Real exact, double near_zero) {
    const auto off = static_cast<double>(std::fabs(static_cast<Real>(got) - exact) /
                                         unit<T>(std::max<Real>(std::fabs(exact), near_zero)));
    if (std::isnan(units) || off <= units) return;
    units = off;
    at = i;
  }
};

// Points of a row, by argument.
template <class T>
std::vector<std::vector<T>> points_of(const Row& row) {
  std::mt19937 random(7);
  std::vector<std::vector<T>> points(row.arguments.size());
  for (int i = 0; i < kPoints; ++i) {
    for (size_t k = 0; k < points.size(); ++k) points[k].push_back(static_cast<T>(row.arguments[k].draw(random)));
  }
  return points;
}

template <class T>
void compare(const Row& row) {
  const std::vector<std::vector<T>> points = points_of<T>(row);
  std::vector<Tensor> arguments;
  for (const std::vector<T>& p : points) arguments.push_back(tensor(p));
  const std::vector<T> got = dispatch::call(row.op, arguments)[0].to_vector<T>();
  Worst ours, boosts;
  for (size_t i = 0; i < got.size(); ++i) {
    std::vector<Real> x;
    std::vector<double> doubles;
    for (const std::vector<T>& p : points) {
      x.push_back(p[i]);
      doubles.push_back(p[i]);
    }
    const Real exact = row.exact(x);
    if constexpr (std::is_same_v<T, float>) {
      ours.see(i, got[i], exact, 0);
    } else {
      ours.see(i, got[i], exact, row.near_zero);
      if (row.boost) boosts.see(i, row.boost(doubles), exact, row.near_zero);
    }
  }
  const bool single = std::is_same_v<T, float>;
  const double allowed = single ? kUnits32 : row.boost ? std::max(kAlwaysAllowed64, kLuck * boosts.units) : row.units;
  std::string where;
  for (const std::vector<T>& p : points) where += (where.empty() ? "" : ", ") + std::to_string(p[ours.at]);
  BOOST_TEST(ours.units <= allowed, row.op << (single ? ", float32" : ", float64") << " at (" << where
                                           << "): " << ours.units << " units off, at most " << allowed << " expected");
}

BOOST_AUTO_TEST_SUITE(kernels_special)

BOOST_AUTO_TEST_CASE(exact_to_two_units_in_float32) {
  for (const Row& row : function_rows()) compare<float>(row);
}

BOOST_AUTO_TEST_CASE(no_worse_than_boost_in_float64) {
  for (const Row& row : function_rows()) compare<double>(row);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
