// Special functions of float64, with which elementwise kernels such as Lgamma and BesselJ0 compute an element. Values
// at poles and outside of domains are those of TensorFlow's CPU kernels. More of them are in device/math/special.h.
// Internal.
#pragma once

namespace panto::special {

double log_gamma(double x);                    // log |gamma(x)|
double digamma(double x);                      // its derivative
double polygamma(double n, double x);          // derivative n of digamma; NaN unless n is a whole number of at least 0
double erfinv(double x);                       // erf(erfinv(x)) = x
double ndtri(double p);                        // the p-quantile of the standard normal distribution
double expint(double x);                       // Ei(x); NaN below zero
double gamma_p(double a, double x);            // the regularized lower incomplete gamma function
double gamma_q(double a, double x);            // the upper one, 1 - gamma_p
double gamma_p_by_a(double a, double x);       // the derivative of gamma_p by a
double gamma_sample_by_a(double a, double x);  // the derivative by a of the x at which gamma_p(a, x) has a fixed value
double beta_p(double a, double b, double x);   // the regularized incomplete beta function
double bessel_j0(double x);
double bessel_j1(double x);
double bessel_y0(double x);
double bessel_y1(double x);
double bessel_i0(double x);
double bessel_i1(double x);
double bessel_i0e(double x);  // exp(-|x|) I0(x)
double bessel_i1e(double x);
double bessel_k0(double x);
double bessel_k1(double x);
double bessel_k0e(double x);  // exp(x) K0(x)
double bessel_k1e(double x);

}  // namespace panto::special
