// Elementwise kernels of special functions, computed in float64 and rounded once.
#include "panto/device/math/special.h"
#include "panto/device/cpu/elementwise/loops.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/cpu/special/special_functions.h"
#include "panto/lib/ops/math_types.h"
#include "panto/lib/ops/random_types.h"

namespace panto {
namespace {

// `kCost`: cost of an element, in bytes that could be copied in that time.
template <double (*kFunction)(double), int64_t kCost = 400>
struct Special : SpecialFn<kFunction> {
  static constexpr int64_t kWork = kCost;
};
template <double (*kFunction)(double, double)>
struct SpecialOfTwo : SpecialOfTwoFn<kFunction> {
  static constexpr int64_t kWork = 1000;
};

using SpecialOps = OpTable<  //
    ElementwiseOp<"Lgamma", Special<special::log_gamma, 100>>, ElementwiseOp<"Digamma", Special<special::digamma, 100>>,
    ElementwiseOp<"Erfinv", Special<special::erfinv, 100>>, ElementwiseOp<"Ndtri", Special<special::ndtri, 100>>,
    ElementwiseOp<"Expint", Special<special::expint>>, ElementwiseOp<"Dawsn", Special<special::dawson>>,
    ElementwiseOp<"Spence", Special<special::spence>>, ElementwiseOp<"BesselJ0", Special<special::bessel_j0>>,
    ElementwiseOp<"BesselJ1", Special<special::bessel_j1>>, ElementwiseOp<"BesselY0", Special<special::bessel_y0>>,
    ElementwiseOp<"BesselY1", Special<special::bessel_y1>>, ElementwiseOp<"BesselI0", Special<special::bessel_i0>>,
    ElementwiseOp<"BesselI1", Special<special::bessel_i1>>, ElementwiseOp<"BesselI0e", Special<special::bessel_i0e>>,
    ElementwiseOp<"BesselI1e", Special<special::bessel_i1e>>, ElementwiseOp<"BesselK0", Special<special::bessel_k0>>,
    ElementwiseOp<"BesselK1", Special<special::bessel_k1>>, ElementwiseOp<"BesselK0e", Special<special::bessel_k0e>>,
    ElementwiseOp<"BesselK1e", Special<special::bessel_k1e>>,
    ElementwiseOp<"FresnelCos", Special<special::fresnel_cos>>,
    ElementwiseOp<"FresnelSin", Special<special::fresnel_sin>>>;
using SpecialOpsOfTwo = OpTable<  //
    ElementwiseOp<"Polygamma", SpecialOfTwo<special::polygamma>>, ElementwiseOp<"Zeta", SpecialOfTwo<special::zeta>>,
    ElementwiseOp<"Igamma", SpecialOfTwo<special::gamma_p>>, ElementwiseOp<"Igammac", SpecialOfTwo<special::gamma_q>>,
    ElementwiseOp<"IgammaGradA", SpecialOfTwo<special::gamma_p_by_a>>, ElementwiseOp<"NextAfter", NextAfterFn>,
    ElementwiseOp<"RandomGammaGrad", SpecialOfTwo<special::gamma_sample_by_a>>>;

// Each of the three arguments is a scalar or has the result's shape.
struct RunBetainc {
  template <class T>
  static void run(KernelContext& c) {
    const T *a = c.data<T>(0), *b = c.data<T>(1), *x = c.data<T>(2);
    const int64_t n = c.out_numel(0);
    const auto step = [&](int i) -> int64_t { return c.shape(i).rank() == 0 ? 0 : 1; };
    const int64_t da = step(0), db = step(1), dx = step(2);
    T* out = c.out_data<T>(0);
    cpu::parallel_ranges(n, n * 4000, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto at = [i](const T* p, int64_t d) { return static_cast<double>(p[i * d]); };
        out[i] = static_cast<T>(special::beta_p(at(a, da), at(b, db), at(x, dx)));
      }
    });
  }
};

const TableKernels<"CPU", Unary, types::numbers> unary_kernels(SpecialOps{});
const TableKernels<"CPU", Binary, types::numbers> binary_kernels(SpecialOpsOfTwo{});
const CpuKernel betainc_kernel("Betainc", TypeList<float, double>{}, RunBetainc{});

}  // namespace
}  // namespace panto
