#include "panto/device/cpu/special/special_functions.h"

#include <math.h>  // lgamma_r

#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/expint.hpp>
#include <cmath>
#include <numbers>

#include "panto/device/cpu/special/policy.h"
#include "panto/device/math/special.h"

namespace panto::special {
namespace {

// Of Boost, for arguments that need no care.
double psi(double x) { return boost::math::digamma(x, Policy()); }
double exponential_integral(double x) { return boost::math::expint(x, Policy()); }
template <int kOrder>
double cyl_j(double x) {
  return boost::math::cyl_bessel_j(kOrder, x, Policy());
}
template <int kOrder>
double cyl_y(double x) {
  return boost::math::cyl_neumann(kOrder, x, Policy());
}
template <int kOrder>
double cyl_i(double x) {
  return boost::math::cyl_bessel_i(kOrder, x, Policy());
}
template <int kOrder>
double cyl_k(double x) {
  return boost::math::cyl_bessel_k(kOrder, x, Policy());
}

}  // namespace

// std::lgamma writes the sign of gamma to a global variable, which is not thread-safe.
double log_gamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

double digamma(double x) { return digamma_of<psi>(x); }
double polygamma(double n, double x) { return polygamma_of<digamma, log_gamma>(n, x); }

double erfinv(double x) {
  if (!(std::fabs(x) <= 1)) return kNan;
  return std::fabs(x) == 1 ? std::copysign(kInf, x) : boost::math::erf_inv(x, Policy());
}

double ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return kNan;
  if (p == 0 || p == 1) return p == 0 ? -kInf : kInf;
  return -std::numbers::sqrt2 * boost::math::erfc_inv(2 * p, Policy());
}

double expint(double x) { return expint_of<exponential_integral>(x); }

double bessel_j0(double x) { return bessel_j<cyl_j<0>, 0>(x); }
double bessel_j1(double x) { return bessel_j<cyl_j<1>, 1>(x); }
double bessel_y0(double x) { return bessel_y<cyl_y<0>>(x); }
double bessel_y1(double x) { return bessel_y<cyl_y<1>>(x); }
double bessel_i0(double x) { return bessel_i<cyl_i<0>, 0>(x); }
double bessel_i1(double x) { return bessel_i<cyl_i<1>, 1>(x); }
double bessel_i0e(double x) { return bessel_ie<cyl_i<0>, 0>(x); }
double bessel_i1e(double x) { return bessel_ie<cyl_i<1>, 1>(x); }
double bessel_k0(double x) { return bessel_k<cyl_k<0>>(x); }
double bessel_k1(double x) { return bessel_k<cyl_k<1>>(x); }
double bessel_k0e(double x) { return bessel_ke<cyl_k<0>, 0>(x); }
double bessel_k1e(double x) { return bessel_ke<cyl_k<1>, 1>(x); }

}  // namespace panto::special
