// The words of device/math/vocabulary.h for complex numbers on GPUs, where std::complex is storage only and CUDA's own
// type computes. Not used by programs that are compiled at run time.
#pragma once

#include <complex>
#include <cuda/std/complex>

namespace panto::k {

template <class R>
__host__ __device__ inline ::cuda::std::complex<R> inner(std::complex<R> z) {
  return {z.real(), z.imag()};
}
template <class R>
__host__ __device__ inline std::complex<R> outer(const ::cuda::std::complex<R>& z) {
  return {z.real(), z.imag()};
}

template <class R>
__host__ __device__ inline std::complex<R> select(bool condition, std::complex<R> a, std::complex<R> b) {
  return condition ? a : b;
}
template <class R>
__host__ __device__ inline std::complex<R> add(std::complex<R> a, std::complex<R> b) {
  return {a.real() + b.real(), a.imag() + b.imag()};
}
template <class R>
__host__ __device__ inline std::complex<R> sub(std::complex<R> a, std::complex<R> b) {
  return {a.real() - b.real(), a.imag() - b.imag()};
}
template <class R>
__host__ __device__ inline std::complex<R> mul(std::complex<R> a, std::complex<R> b) {
  return outer(inner(a) * inner(b));
}
template <class R>
__host__ __device__ inline std::complex<R> div(std::complex<R> a, std::complex<R> b) {
  return outer(inner(a) / inner(b));
}
template <class R>
__host__ __device__ inline std::complex<R> neg(std::complex<R> a) {
  return {-a.real(), -a.imag()};
}
template <class R>
__host__ __device__ inline std::complex<R> conj(std::complex<R> a) {
  return {a.real(), -a.imag()};
}
// Returns a / |a|; 0 for 0.
template <class R>
__host__ __device__ inline std::complex<R> sign(std::complex<R> a) {
  const R size = ::cuda::std::abs(inner(a));
  return size == R{0} ? std::complex<R>(R{0}, R{0}) : std::complex<R>(a.real() / size, a.imag() / size);
}
template <class R>
__host__ __device__ inline std::complex<R> sqrt(std::complex<R> a) {
  return outer(::cuda::std::sqrt(inner(a)));
}
template <class R>
__host__ __device__ inline std::complex<R> exp(std::complex<R> a) {
  return outer(::cuda::std::exp(inner(a)));
}
// As in device/math/complex.h.
template <class R>
__host__ __device__ inline std::complex<R> expm1(std::complex<R> a) {
  const R x = a.real(), y = a.imag();
  const R half = std::sin(y / 2);
  return {std::expm1(x) * std::cos(y) - 2 * half * half, y == R{0} ? y : std::exp(x) * std::sin(y)};
}
template <class R>
__host__ __device__ inline std::complex<R> log(std::complex<R> a) {
  return outer(::cuda::std::log(inner(a)));
}
// As in device/math/complex.h.
template <class R>
__host__ __device__ inline std::complex<R> log1p(std::complex<R> a) {
  const R x = a.real(), y = a.imag();
  if (!(std::fabs(x) < R(0.5) && std::fabs(y) < R{1})) return k::log(std::complex<R>(R{1} + x, y));
  return {std::log1p(x * (2 + x) + y * y) / 2, std::atan2(y, 1 + x)};
}
template <class R>
__host__ __device__ inline std::complex<R> sin(std::complex<R> a) {
  return outer(::cuda::std::sin(inner(a)));
}
template <class R>
__host__ __device__ inline std::complex<R> cos(std::complex<R> a) {
  return outer(::cuda::std::cos(inner(a)));
}
template <class R>
__host__ __device__ inline std::complex<R> tanh(std::complex<R> a) {
  return outer(::cuda::std::tanh(inner(a)));
}
template <class R>
__host__ __device__ inline std::complex<R> tan(std::complex<R> a) {
  return outer(::cuda::std::tan(inner(a)));
}
template <class R>
__host__ __device__ inline std::complex<R> asin(std::complex<R> a) {
  return outer(::cuda::std::asin(inner(a)));
}
template <class R>
__host__ __device__ inline std::complex<R> acos(std::complex<R> a) {
  return outer(::cuda::std::acos(inner(a)));
}
template <class R>
__host__ __device__ inline std::complex<R> atan(std::complex<R> a) {
  return outer(::cuda::std::atan(inner(a)));
}
template <class R>
__host__ __device__ inline std::complex<R> sinh(std::complex<R> a) {
  return outer(::cuda::std::sinh(inner(a)));
}
template <class R>
__host__ __device__ inline std::complex<R> cosh(std::complex<R> a) {
  return outer(::cuda::std::cosh(inner(a)));
}
template <class R>
__host__ __device__ inline std::complex<R> asinh(std::complex<R> a) {
  return outer(::cuda::std::asinh(inner(a)));
}
template <class R>
__host__ __device__ inline std::complex<R> acosh(std::complex<R> a) {
  return outer(::cuda::std::acosh(inner(a)));
}
template <class R>
__host__ __device__ inline std::complex<R> atanh(std::complex<R> a) {
  return outer(::cuda::std::atanh(inner(a)));
}
template <class R>
__host__ __device__ inline std::complex<R> sigmoid(std::complex<R> a) {
  return outer(::cuda::std::complex<R>(R{1}) / (R{1} + ::cuda::std::exp(-inner(a))));
}
// As for real numbers, a^0 is 1 and 0^b is 0 for a positive real part of b.
template <class R>
__host__ __device__ inline std::complex<R> pow(std::complex<R> a, std::complex<R> b) {
  if (b.real() == R{0} && b.imag() == R{0}) return {R{1}, R{0}};
  if (a.real() == R{0} && a.imag() == R{0} && b.real() > R{0}) return {R{0}, R{0}};
  return outer(::cuda::std::pow(inner(a), inner(b)));
}

}  // namespace panto::k
