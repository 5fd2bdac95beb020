// Special functions, with CUDA's where it has them: computed in float64 and rounded once, as on the CPU. What is
// missing (incomplete gamma and beta functions) has no function there.
#include "panto/device/math/special.h"

#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/math_types.h"

namespace panto {
namespace {

constexpr double kEuler = std::numbers::egamma;

// ---- Of arguments that need no care --------------------------------------------------------------------------------

PANTO_FN double log_gamma(double x) { return std::lgamma(x); }
PANTO_FN double erfinv(double x) { return ::erfinv(x); }
PANTO_FN double ndtri(double p) { return ::normcdfinv(p); }
PANTO_FN double j0(double x) { return ::j0(x); }
PANTO_FN double j1(double x) { return ::j1(x); }
PANTO_FN double y0(double x) { return ::y0(x); }
PANTO_FN double y1(double x) { return ::y1(x); }

// Stirling's series (Abramowitz and Stegun 6.3.18) above 10, to which smaller arguments are raised one by one (6.3.5)
// after negative ones are reflected (6.3.7).
PANTO_FN double psi(double x) {
  double value = 0;
  if (x < 0) {
    value = -special::kPi / std::tan(special::kPi * (x - std::round(x)));
    x = 1 - x;
  }
  for (; x < 10; ++x) value -= 1 / x;
  const double s = 1 / (x * x);
  const double series =
      s * (1. / 12 - s * (1. / 120 - s * (1. / 252 - s * (1. / 240 - s * (1. / 132 - s * (691. / 32760 - s / 12))))));
  return value + std::log(x) - 0.5 / x - series;
}

// The sum of x^k / (k k!) (5.1.10), of which no term is negative, or for large x the asymptotic series (5.1.51).
PANTO_FN double exponential_integral(double x) {
  double sum, term = 1;
  if (x < 40) {
    sum = kEuler + std::log(x);
    for (int k = 1; k < 200; ++k) {
      term *= x / k;
      sum += term / k;
      if (term < std::fabs(sum) * 1e-17) break;
    }
    return sum;
  }
  sum = 1;
  for (int k = 1; k < 40 && term > 1e-17; ++k) {
    term *= k / x;
    sum += term;
  }
  const double half = std::exp(x / 2);  // exp(x) may overflow where the result does not
  return half / x * sum * half;
}

// The sum of (x / 2)^(2k + order) / (k! (k + order)!) (9.6.10), of which no term is negative, or for large x the
// asymptotic series. CUDA's own function can only be called by code for the device, which functors are not.
template <int kOrder>
PANTO_FN double cyl_i(double x) {
  if (x > 30) {
    const double half = std::exp(x / 2);  // exp(x) may overflow where the result does not
    return half * (special::scaled_series(kOrder, x, -1) / std::sqrt(2 * special::kPi * x)) * half;
  }
  const double square = x * x / 4;
  double term = kOrder == 0 ? 1 : x / 2, sum = term;
  for (int k = 1; k < 200 && term > sum * 1e-17; ++k) {
    term *= square / (k * (k + kOrder));
    sum += term;
  }
  return sum;
}

// The integral of exp(-x cosh(t)) cosh(order t) over t > 0 (9.6.24) by the trapezoidal rule, whose error falls
// exponentially with 1 / step; times exp(x).
PANTO_FN double scaled_k(int order, double x) {
  if (x < 1e-9) return (1 + x) * (order == 0 ? -std::log(x / 2) - kEuler : 1 / x);
  const double step = x < 9 ? 0.2 : 0.6 / std::sqrt(x);
  double sum = 0.5;
  for (int n = 1; n < 1000; ++n) {
    const double t = n * step, s = std::sinh(t / 2);
    const double term = std::exp(-2 * x * s * s) * (order == 0 ? 1 : std::cosh(t));
    sum += term;
    if (term < sum * 1e-17) break;
  }
  return sum * step;
}
template <int kOrder>
PANTO_FN double cyl_k(double x) {
  return scaled_k(kOrder, x) * std::exp(-x);
}

// ---- Of all arguments ----------------------------------------------------------------------------------------------

PANTO_FN double digamma(double x) { return special::digamma_of<psi>(x); }
PANTO_FN double polygamma(double n, double x) { return special::polygamma_of<digamma, log_gamma>(n, x); }
PANTO_FN double expint(double x) { return special::expint_of<exponential_integral>(x); }

using SpecialOps = OpTable<  //
    ElementwiseOp<"Lgamma", SpecialFn<log_gamma>>, ElementwiseOp<"Digamma", SpecialFn<digamma>>,
    ElementwiseOp<"Erfinv", SpecialFn<erfinv>>, ElementwiseOp<"Ndtri", SpecialFn<ndtri>>,
    ElementwiseOp<"Expint", SpecialFn<expint>>, ElementwiseOp<"Dawsn", SpecialFn<special::dawson>>,
    ElementwiseOp<"Spence", SpecialFn<special::spence>>, ElementwiseOp<"BesselJ0", SpecialFn<special::bessel_j<j0, 0>>>,
    ElementwiseOp<"BesselJ1", SpecialFn<special::bessel_j<j1, 1>>>,
    ElementwiseOp<"BesselY0", SpecialFn<special::bessel_y<y0>>>,
    ElementwiseOp<"BesselY1", SpecialFn<special::bessel_y<y1>>>,
    ElementwiseOp<"BesselI0", SpecialFn<special::bessel_i<cyl_i<0>, 0>>>,
    ElementwiseOp<"BesselI1", SpecialFn<special::bessel_i<cyl_i<1>, 1>>>,
    ElementwiseOp<"BesselI0e", SpecialFn<special::bessel_ie<cyl_i<0>, 0>>>,
    ElementwiseOp<"BesselI1e", SpecialFn<special::bessel_ie<cyl_i<1>, 1>>>,
    ElementwiseOp<"BesselK0", SpecialFn<special::bessel_k<cyl_k<0>>>>,
    ElementwiseOp<"BesselK1", SpecialFn<special::bessel_k<cyl_k<1>>>>,
    ElementwiseOp<"BesselK0e", SpecialFn<special::bessel_ke<cyl_k<0>, 0>>>,
    ElementwiseOp<"BesselK1e", SpecialFn<special::bessel_ke<cyl_k<1>, 1>>>,
    ElementwiseOp<"FresnelCos", SpecialFn<special::fresnel_cos>>,
    ElementwiseOp<"FresnelSin", SpecialFn<special::fresnel_sin>>>;
using SpecialOpsOfTwo = OpTable<  //
    ElementwiseOp<"Polygamma", SpecialOfTwoFn<polygamma>>, ElementwiseOp<"Zeta", SpecialOfTwoFn<special::zeta>>,
    ElementwiseOp<"NextAfter", NextAfterFn>>;

// ---- Kernels -------------------------------------------------------------------------------------------------------

// One element after the other: these functions take minutes to compile for the loop that reads several at once, and so
// long to compute that it would save nothing. Programs compiled at run time do not have the functors.
template <class F, class T>
struct ComputeUnary {
  const T* x;
  T* y;
  __device__ void operator()(int64_t i) const { y[i] = cuda::FunctorFor<F, T>{}(x[i]); }
};
template <class F>
struct SpecialUnary {
  template <class T>
  static void run(KernelContext& c) {
    cuda::for_each_index(cuda::device_of(c), c.out_numel(0), ComputeUnary<F, T>{c.data<T>(0), c.out_data<T>(0)});
  }
};

template <class F, class T>
struct ComputeBinary {
  cuda::Mapped<2, int64_t> map;
  const T* x;
  const T* y;
  T* z;
  __device__ void operator()(int64_t i) const {
    const cuda::Offsets<2> from = map.at(i);
    z[i] = F{}(x[from.at[0]], y[from.at[1]]);
  }
};
template <class F>
struct SpecialBinary {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    BroadcastMap<2> map;
    make_broadcast_map<2>(c.out_shape(0), {&c.shape(0), &c.shape(1)}, map);
    cuda::for_each_index(
        cuda::device_of(c), c.out_numel(0),
        ComputeBinary<F, T>{cuda::Mapped<2, int64_t>(map), c.data<T>(0), c.data<T>(1), c.out_data<T>(0)});
  }
};

const TableKernels<"GPU", SpecialUnary, types::common> unary_kernels(SpecialOps{});
const TableKernels<"GPU", SpecialBinary, types::floating> binary_kernels(SpecialOpsOfTwo{});

}  // namespace
}  // namespace panto
