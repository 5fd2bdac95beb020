// Making complex numbers from real ones, and extracting parts of them.
#include <cmath>
#include <complex>

#include "panto/device/cpu/elementwise/loops.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/math_types.h"

namespace panto {
namespace {

struct ComplexFn {
  static constexpr bool kScalar = true;
  template <class T>
  std::complex<T> operator()(T re, T im) const {
    return {re, im};
  }
};
struct RealFn {
  static constexpr bool kScalar = true;
  template <class T>
  T operator()(std::complex<T> z) const {
    return z.real();
  }
};
struct ImagFn {
  static constexpr bool kScalar = true;
  template <class T>
  T operator()(std::complex<T> z) const {
    return z.imag();
  }
};
struct AngleFn {
  static constexpr bool kScalar = true;
  static constexpr int64_t kWork = 100;
  template <class T>
  T operator()(std::complex<T> z) const {
    return std::atan2(z.imag(), z.real());
  }
};
struct ComplexAbsFn {
  static constexpr bool kScalar = true;
  static constexpr int64_t kWork = 20;
  template <class T>
  T operator()(std::complex<T> z) const {
    return std::hypot(z.real(), z.imag());
  }
};

const CpuKernel complex_kernel("Complex", types::floating{}, Binary<ComplexFn>{});
const CpuKernel real_kernel("Real", types::of<"Real">{}, Unary<RealFn>{});
const CpuKernel imag_kernel("Imag", types::of<"Imag">{}, Unary<ImagFn>{});
const CpuKernel angle_kernel("Angle", types::of<"Angle">{}, Unary<AngleFn>{});
const CpuKernel complex_abs_kernel("ComplexAbs", types::of<"ComplexAbs">{}, Unary<ComplexAbsFn>{});

}  // namespace
}  // namespace panto
