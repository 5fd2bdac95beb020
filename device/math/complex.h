// The operations of device/math/vocabulary.h for complex numbers. CPU only.
#pragma once

#include <cmath>
#include <complex>

#include "panto/lib/core/tensor/dtype.h"

namespace panto {

namespace types {
using complex = TypeList<std::complex<float>, std::complex<double>>;
}  // namespace types

namespace k {

template <class R>
std::complex<R> conj(std::complex<R> z) {
  return std::conj(z);
}
// z / |z|; 0 for 0.
template <class R>
std::complex<R> sign(std::complex<R> z) {
  const R size = std::abs(z);
  return size == 0 ? std::complex<R>(0) : z / size;
}
template <class R>
std::complex<R> sqrt(std::complex<R> z) {
  return std::sqrt(z);
}
template <class R>
std::complex<R> exp(std::complex<R> z) {
  return std::exp(z);
}
// exp(x) (cos(y) + i sin(y)) - 1, where cos(y) = 1 - 2 sin(y / 2)^2: nothing cancels near zero.
template <class R>
std::complex<R> expm1(std::complex<R> z) {
  const R x = z.real(), y = z.imag();
  const R half = std::sin(y / 2);
  return {std::expm1(x) * std::cos(y) - 2 * half * half, y == 0 ? y : std::exp(x) * std::sin(y)};
}
template <class R>
std::complex<R> log(std::complex<R> z) {
  return std::log(z);
}
// Near zero |1 + z|^2 = 1 + x (2 + x) + y^2 is exact enough. Elsewhere that formula may cancel or overflow, and
// log(1 + z) is accurate.
template <class R>
std::complex<R> log1p(std::complex<R> z) {
  const R x = z.real(), y = z.imag();
  if (!(std::abs(x) < R(0.5) && std::abs(y) < 1)) return std::log(R{1} + z);
  return {std::log1p(x * (2 + x) + y * y) / 2, std::atan2(y, 1 + x)};
}
template <class R>
std::complex<R> sin(std::complex<R> z) {
  return std::sin(z);
}
template <class R>
std::complex<R> cos(std::complex<R> z) {
  return std::cos(z);
}
template <class R>
std::complex<R> tanh(std::complex<R> z) {
  return std::tanh(z);
}
template <class R>
std::complex<R> tan(std::complex<R> z) {
  return std::tan(z);
}
template <class R>
std::complex<R> asin(std::complex<R> z) {
  return std::asin(z);
}
template <class R>
std::complex<R> acos(std::complex<R> z) {
  return std::acos(z);
}
template <class R>
std::complex<R> atan(std::complex<R> z) {
  return std::atan(z);
}
template <class R>
std::complex<R> sinh(std::complex<R> z) {
  return std::sinh(z);
}
template <class R>
std::complex<R> cosh(std::complex<R> z) {
  return std::cosh(z);
}
template <class R>
std::complex<R> asinh(std::complex<R> z) {
  return std::asinh(z);
}
template <class R>
std::complex<R> acosh(std::complex<R> z) {
  return std::acosh(z);
}
template <class R>
std::complex<R> atanh(std::complex<R> z) {
  return std::atanh(z);
}
template <class R>
std::complex<R> sigmoid(std::complex<R> z) {
  return R{1} / (R{1} + std::exp(-z));
}
// As for real numbers, x^0 is 1 and 0^y is 0 for a positive real part of y; the formula with log would give NaN.
template <class R>
std::complex<R> pow(std::complex<R> x, std::complex<R> y) {
  if (y == R{0}) return R{1};
  if (x == R{0} && y.real() > 0) return R{0};
  return std::pow(x, y);
}

}  // namespace k
}  // namespace panto
