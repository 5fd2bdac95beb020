// Functors that make complex numbers of real ones, and take parts of them. Programs compiled at run time have none.
#pragma once

#include <cmath>
#include <complex>

#include "panto/device/math/rare_functors.h"

namespace panto {

struct ComplexFn : Scalar {
  template <class T>
  PANTO_FN std::complex<T> operator()(T re, T im) const {
    return {re, im};
  }
};
struct RealFn : Scalar {
  template <class T>
  PANTO_FN T operator()(std::complex<T> z) const {
    return z.real();
  }
};
struct ImagFn : Scalar {
  template <class T>
  PANTO_FN T operator()(std::complex<T> z) const {
    return z.imag();
  }
};
struct AngleFn : Scalar {
  static constexpr int64_t kWork = 100;
  template <class T>
  PANTO_FN T operator()(std::complex<T> z) const {
    return std::atan2(z.imag(), z.real());
  }
};
struct ComplexAbsFn : Scalar {
  static constexpr int64_t kWork = 20;
  template <class T>
  PANTO_FN T operator()(std::complex<T> z) const {
    return std::hypot(z.real(), z.imag());
  }
};

}  // namespace panto
