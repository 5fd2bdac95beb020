// Elementwise kernels of special functions, computed in float64 and rounded once.
#include "panto/device/cpu/elementwise/loops.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/special/special_functions.h"

namespace panto {
namespace {

// `kCost`: of an element, in bytes that could be moved meanwhile.
template <double (*kFunction)(double), int64_t kCost = 400>
struct Special {
  static constexpr bool kScalar = true;
  static constexpr int64_t kWork = kCost;
  template <class T>
  T operator()(T x) const {
    return static_cast<T>(kFunction(static_cast<double>(x)));
  }
};
template <double (*kFunction)(double, double)>
struct SpecialOfTwo {
  static constexpr bool kScalar = true;
  static constexpr int64_t kWork = 1000;
  template <class T>
  T operator()(T x, T y) const {
    return static_cast<T>(kFunction(static_cast<double>(x), static_cast<double>(y)));
  }
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
    ElementwiseOp<"BesselK1e", Special<special::bessel_k1e>>>;
using SpecialOpsOfTwo = OpTable<ElementwiseOp<"Polygamma", SpecialOfTwo<special::polygamma>>,
                                ElementwiseOp<"Zeta", SpecialOfTwo<special::zeta>>>;

const TableKernels<"CPU", Unary, types::numbers> unary_kernels(SpecialOps{});
const TableKernels<"CPU", Binary, types::numbers> binary_kernels(SpecialOpsOfTwo{});

}  // namespace
}  // namespace panto
