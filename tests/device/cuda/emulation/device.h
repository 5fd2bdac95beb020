// CUDA's words for device code, as the host's compiler reads them: compile.py includes this before a .cu file.
#pragma once

#include <cuda_runtime_api.h>
#include <vector_functions.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numbers>
#include <type_traits>

#include "panto/tests/device/cuda/emulation/grid.h"

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __launch_bounds__
#define __global__
#define __device__
#define __host__
#define __shared__ static  // one grid runs at a time
#define __launch_bounds__(...)

#define threadIdx (::panto::emulation::position.thread)
#define blockIdx (::panto::emulation::position.block)
#define blockDim (::panto::emulation::position.threads)
#define gridDim (::panto::emulation::position.blocks)

inline void __syncthreads() { ::panto::emulation::wait_for_block(); }
inline uint32_t __shfl_sync(unsigned, uint32_t word, int from) { return ::panto::emulation::exchange(word, from); }
inline uint32_t __shfl_up_sync(unsigned, uint32_t word, unsigned distance) {
  return ::panto::emulation::exchange(word, ::panto::emulation::lane() - static_cast<int>(distance));
}
inline uint32_t __shfl_down_sync(unsigned, uint32_t word, unsigned distance) {
  return ::panto::emulation::exchange(word, ::panto::emulation::lane() + static_cast<int>(distance));
}

template <class T>
T atomicCAS(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> wanted) {
  const T old = *at;
  if (old == expected) *at = wanted;
  return old;
}

inline uint32_t __umulhi(uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t{a} * b >> 32); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }

template <class A, class B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  return b < a ? b : a;
}
template <class A, class B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  return a < b ? b : a;
}

// What CUDA's mathematics has beyond the standard library's, by Newton's method: near the middle of erf, elsewhere of
// the logarithm of the tail, which is concave.
double normcdfinv(double p);
inline double erfinv(double x) {
  if (!(std::fabs(x) < 0.5)) return std::copysign(-normcdfinv((1 - std::fabs(x)) / 2) / std::numbers::sqrt2, x);
  double y = x;
  for (int i = 0; i < 50; ++i) y += (x - std::erf(y)) * std::exp(y * y) / (2 * std::numbers::inv_sqrtpi);
  return y;
}
inline double normcdfinv(double p) {
  const double tail = p < 0.5 ? p : 1 - p;
  if (tail > 0.25) return std::numbers::sqrt2 * erfinv(2 * p - 1);
  if (!(tail > 0)) return tail < 0 || p != p ? NAN : p == 0 ? -INFINITY : INFINITY;
  double z = std::sqrt(-2 * std::log(tail));
  for (int i = 0; i < 50; ++i) {
    const double there = std::erfc(z / std::numbers::sqrt2) / 2;
    const double density = std::exp(-z * z / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    z += std::log(there / tail) * there / density;
  }
  return p < 0.5 ? -z : z;
}
