// panto::k, the basic operations that functors (device/math/functors.h) are written with, so that the same functor
// serves scalars on the CPU, CUDA threads and, with further overloads, SIMD vectors. A ternary does not compile for a
// SIMD mask, `std::max` does not compile for the device.
//
// Integer arithmetic wraps: overflow is defined here, as it is in TensorFlow.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

// `fast` has exp and similar functions: the device's own on CUDA, the vectorising ones on the CPU.
#ifdef __CUDACC__
#define PANTO_FN __host__ __device__ inline
#ifndef __CUDACC_RTC__
#include "panto/device/cuda/elementwise/complex.cuh"
#endif
#else
#include "panto/device/math/complex.h"
#include "panto/device/math/vector_math.h"
// Always inlined: a loop is compiled for several instruction sets by inlining everything into it.
#define PANTO_FN [[gnu::always_inline]] inline
#endif

namespace panto::k {

#ifdef __CUDACC__
namespace fast {
using std::cos;
using std::erf;
using std::erfc;
using std::exp;
using std::expm1;
using std::log;
using std::log1p;
using std::pow;
using std::sin;
using std::tanh;
template <class T>
PANTO_FN T sigmoid(T x) {
  return T{1} / (T{1} + std::exp(-x));
}
template <class T>
PANTO_FN T softplus(T x) {
  return (x < T{0} ? T{0} : x) + std::log1p(std::exp(-std::fabs(x)));
}
// Only the CPU's row loops use the bounded versions.
using BoundedCos = void;
using BoundedFloorMod = void;
using BoundedPow = void;
using BoundedSin = void;
}  // namespace fast
#else
namespace fast = vmath;
#endif

template <class T>
PANTO_FN T select(bool condition, T a, T b) {
  return condition ? a : b;
}

// The unsigned type in which T's arithmetic wraps; never one that is promoted to int.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) < sizeof(uint32_t), uint32_t, std::make_unsigned_t<T>>;

template <class T>
PANTO_FN T add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  } else {
    return a + b;
  }
}
template <class T>
PANTO_FN T sub(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  } else {
    return a - b;
  }
}
template <class T>
PANTO_FN T mul(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  } else {
    return a * b;
  }
}
template <class T>
PANTO_FN T neg(T a) {
  if constexpr (std::is_integral_v<T>) {
    return sub(T{0}, a);
  } else {
    return -a;
  }
}
template <class T>
PANTO_FN T div(T a, T b) {
  return static_cast<T>(a / b);
}
template <class T>
PANTO_FN bool is_negative(T a) {
  if constexpr (std::is_unsigned_v<T>) {
    return false;
  } else {
    return a < T{0};
  }
}
template <class T>
PANTO_FN T abs(T a) {
  if constexpr (std::is_integral_v<T>) {
    return select(is_negative(a), neg(a), a);
  } else {
    return std::fabs(a);
  }
}
// A NaN stays NaN; both zeros give +0.
template <class T>
PANTO_FN T sign(T a) {
  const T sign = select(a > T{0}, T{1}, select(is_negative(a), static_cast<T>(-1), T{0}));
  return select(a != a, a, sign);
}
// A real number is its own conjugate.
template <class T>
PANTO_FN T conj(T a) {
  return a;
}

// A NaN on either side wins. Of two equal values (zeros may differ in sign) the first is returned.
template <class T>
PANTO_FN T max(T a, T b) {
  return select((a < b) | (b != b), b, a);
}
template <class T>
PANTO_FN T min(T a, T b) {
  return select((b < a) | (b != b), b, a);
}

// Integers are whole already.
template <class T>
PANTO_FN T floor(T x) {
  if constexpr (std::is_integral_v<T>)
    return x;
  else
    return std::floor(x);
}
template <class T>
PANTO_FN T ceil(T x) {
  if constexpr (std::is_integral_v<T>)
    return x;
  else
    return std::ceil(x);
}
// To the nearest integer, ties to the even one.
template <class T>
PANTO_FN T rint(T x) {
  if constexpr (std::is_integral_v<T>)
    return x;
  else
    return std::rint(x);
}

template <class T>
PANTO_FN T sqrt(T x) {
  return std::sqrt(x);
}
template <class T>
PANTO_FN T exp(T x) {
  return fast::exp(x);
}
template <class T>
PANTO_FN T expm1(T x) {
  return fast::expm1(x);
}
template <class T>
PANTO_FN T log(T x) {
  return fast::log(x);
}
template <class T>
PANTO_FN T log1p(T x) {
  return fast::log1p(x);
}
template <class T>
PANTO_FN T sin(T x) {
  return fast::sin(x);
}
template <class T>
PANTO_FN T cos(T x) {
  return fast::cos(x);
}
template <class T>
PANTO_FN T tanh(T x) {
  return fast::tanh(x);
}
template <class T>
PANTO_FN T sigmoid(T x) {
  return fast::sigmoid(x);
}
template <class T>
PANTO_FN T softplus(T x) {
  return fast::softplus(x);
}
template <class T>
PANTO_FN T erf(T x) {
  return fast::erf(x);
}
template <class T>
PANTO_FN T erfc(T x) {
  return fast::erfc(x);
}
template <class T>
PANTO_FN T tan(T x) {
  return std::tan(x);
}
template <class T>
PANTO_FN T asin(T x) {
  return std::asin(x);
}
template <class T>
PANTO_FN T acos(T x) {
  return std::acos(x);
}
template <class T>
PANTO_FN T atan(T x) {
  return std::atan(x);
}
template <class T>
PANTO_FN T sinh(T x) {
  return std::sinh(x);
}
template <class T>
PANTO_FN T cosh(T x) {
  return std::cosh(x);
}
template <class T>
PANTO_FN T asinh(T x) {
  return std::asinh(x);
}
template <class T>
PANTO_FN T acosh(T x) {
  return std::acosh(x);
}
template <class T>
PANTO_FN T atanh(T x) {
  return std::atanh(x);
}
template <class T>
PANTO_FN T atan2(T y, T x) {
  return std::atan2(y, x);
}
template <class T>
PANTO_FN T fmod(T x, T y) {
  return std::fmod(x, y);
}

// x to the power y; integer powers by squaring, for y >= 0.
template <class T>
PANTO_FN T pow(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    T result{1};
    for (; y > T{0}; y = static_cast<T>(y >> 1)) {
      if ((y & T{1}) != 0) result = mul(result, x);
      x = mul(x, x);
    }
    return result;
  } else {
    return fast::pow(x, y);
  }
}

}  // namespace panto::k
