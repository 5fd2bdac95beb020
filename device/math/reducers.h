// The reducers of reductions, on every device (device/cpu/reduce/reduce.h describes their members).
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "panto/device/math/convert.h"
#include "panto/device/math/vocabulary.h"

namespace panto {

// A compensated sum of doubles: `lost` collects the rounding errors (Neumaier).
struct ExactSum {
  double sum = 0;
  double lost = 0;
  PANTO_FN ExactSum plus(double x) const {
    const double next = sum + x;
    const double error = std::abs(sum) >= std::abs(x) ? (sum - next) + x : (x - next) + sum;
    return {next, lost + error};
  }
  // An infinite sum leaves NaN in `lost`, which is ignored then.
  PANTO_FN double value() const { return std::isfinite(sum) ? sum + lost : sum; }
};

// Floats are summed in float within blocks, then in double; doubles within blocks, then compensated; integers wrap.
template <class T>
struct SumOf {
  using Element = T;
  using Lane = T;
  using Total =
      std::conditional_t<std::is_same_v<T, double>, ExactSum, std::conditional_t<std::is_same_v<T, float>, double, T>>;
  PANTO_FN static Lane lane() { return Lane{0}; }
  PANTO_FN static Total total() { return Total{}; }
  PANTO_FN static Lane add(Lane a, T x) { return k::add(a, x); }
  PANTO_FN static Lane join(Lane a, Lane b) { return k::add(a, b); }
  PANTO_FN static Total fold(Total t, Lane x) {
    if constexpr (std::is_same_v<T, double>) {
      return t.plus(x);
    } else {
      return k::add(t, static_cast<Total>(x));
    }
  }
  PANTO_FN static Total merge(Total a, Total b) {
    if constexpr (std::is_same_v<T, double>) {
      Total t = a.plus(b.sum);
      t.lost += b.lost;
      return t;
    } else {
      return k::add(a, b);
    }
  }
  // The total as a number.
  PANTO_FN static auto value(Total t) {
    if constexpr (std::is_same_v<T, double>) {
      return t.value();
    } else {
      return t;
    }
  }
  PANTO_FN static T finish(Total t, int64_t) { return static_cast<T>(value(t)); }
};

template <class T>
struct SquareSumOf : SumOf<T> {
  PANTO_FN static T add(T a, T x) { return a + x * x; }
};

template <class T>
struct MeanOf : SumOf<T> {
  using Core = SumOf<T>;
  PANTO_FN static T finish(typename SumOf<T>::Total t, int64_t n) {
    return static_cast<T>(SumOf<T>::value(t) / static_cast<double>(n));
  }
};
// Integers are summed in 64 bits; the quotient is truncated; the mean of nothing is 0.
template <class T>
  requires std::is_integral_v<T>
struct MeanOf<T> : SumOf<std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>> {
  using Element = T;
  using Total = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  using Core = std::conditional_t<std::is_same_v<T, Total>, SumOf<T>, MeanOf>;
  PANTO_FN static Total add(Total a, T x) { return k::add(a, static_cast<Total>(x)); }
  PANTO_FN static T finish(Total t, int64_t n) { return n == 0 ? T{0} : static_cast<T>(t / static_cast<Total>(n)); }
};

// Complex numbers: real and imaginary parts are reduced separately.
template <class Part>
struct ComplexTotal {
  Part real, imag;
};
template <class R>
struct ByParts {
  using Part = typename R::Element;
  using Element = std::complex<Part>;
  using Lane = std::complex<typename R::Lane>;
  using Total = ComplexTotal<typename R::Total>;
  PANTO_FN static Lane lane() { return {R::lane(), R::lane()}; }
  PANTO_FN static Total total() { return {R::total(), R::total()}; }
  PANTO_FN static Lane add(Lane a, Element x) { return {R::add(a.real(), x.real()), R::add(a.imag(), x.imag())}; }
  PANTO_FN static Lane join(Lane a, Lane b) { return {R::join(a.real(), b.real()), R::join(a.imag(), b.imag())}; }
  PANTO_FN static Total fold(Total t, Lane x) { return {R::fold(t.real, x.real()), R::fold(t.imag, x.imag())}; }
  PANTO_FN static Total merge(Total a, Total b) { return {R::merge(a.real, b.real), R::merge(a.imag, b.imag)}; }
  PANTO_FN static Element finish(Total t, int64_t n) { return {R::finish(t.real, n), R::finish(t.imag, n)}; }
};
template <class T>
struct SumOf<std::complex<T>> : ByParts<SumOf<T>> {};
template <class T>
struct MeanOf<std::complex<T>> : ByParts<MeanOf<T>> {
  using Core = SumOf<std::complex<T>>;
};

template <class T>
struct ProdOf {
  using Element = T;
  using Lane = std::conditional_t<std::is_floating_point_v<T>, double, T>;
  using Total = Lane;
  PANTO_FN static Lane lane() { return Lane{1}; }
  PANTO_FN static Total total() { return Total{1}; }
  PANTO_FN static Lane add(Lane a, T x) { return k::mul(a, static_cast<Lane>(x)); }
  PANTO_FN static Lane join(Lane a, Lane b) { return k::mul(a, b); }
  PANTO_FN static Total fold(Total t, Lane x) { return k::mul(t, x); }
  PANTO_FN static Total merge(Total a, Total b) { return k::mul(a, b); }
  PANTO_FN static T finish(Total t, int64_t) { return static_cast<T>(t); }
};

template <class T>
struct MaxOf {
  using Element = T;
  using Lane = T;
  using Total = T;
  PANTO_FN static T lane() {
    if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::lowest();
  }
  PANTO_FN static T total() { return lane(); }
  PANTO_FN static T add(T a, T x) { return k::max(a, x); }
  PANTO_FN static T join(T a, T b) { return k::max(a, b); }
  PANTO_FN static T fold(T a, T x) { return k::max(a, x); }
  PANTO_FN static T merge(T a, T x) { return k::max(a, x); }
  PANTO_FN static T finish(T t, int64_t) { return t; }
};

template <class T>
struct MinOf {
  using Element = T;
  using Lane = T;
  using Total = T;
  PANTO_FN static T lane() {
    if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::max();
  }
  PANTO_FN static T total() { return lane(); }
  PANTO_FN static T add(T a, T x) { return k::min(a, x); }
  PANTO_FN static T join(T a, T b) { return k::min(a, b); }
  PANTO_FN static T fold(T a, T x) { return k::min(a, x); }
  PANTO_FN static T merge(T a, T x) { return k::min(a, x); }
  PANTO_FN static T finish(T t, int64_t) { return t; }
};

// The float reducer R for elements of a 16-bit type T. The result is rounded once.
template <class R, class T>
struct RoundedOf : R {
  using Element = T;
  PANTO_FN static typename R::Lane add(typename R::Lane a, T x) { return R::add(a, convert<float>(x)); }
  PANTO_FN static T finish(typename R::Total t, int64_t n) { return convert<T>(R::finish(t, n)); }
};
// R for elements of type T, in the type that T is computed in.
template <template <class> class R, class T>
using ReducerFor = std::conditional_t<is_half_type<T>, RoundedOf<R<Compute<T>>, T>, R<Compute<T>>>;

// The orders of ArgMax and ArgMin. A NaN is never better than anything, so it never becomes the best.
struct Greater {
  template <class T>
  PANTO_FN static bool better(T x, T best) {
    return x > best;
  }
  template <class T>
  PANTO_FN static T worst() {
    return MaxOf<T>::lane();
  }
};
struct Less {
  template <class T>
  PANTO_FN static bool better(T x, T best) {
    return x < best;
  }
  template <class T>
  PANTO_FN static T worst() {
    return MinOf<T>::lane();
  }
};

// The type of a running sum: double for floats, so that many small numbers do not get lost; float for 16-bit types.
template <class T>
using Running = std::conditional_t<std::is_floating_point_v<T>, double, Compute<T>>;

// The operators of Cumsum, Cumprod and CumulativeLogsumexp.
struct RunningSum {
  template <class R>
  PANTO_FN static R nothing() {
    return R(0);
  }
  template <class R>
  PANTO_FN static R join(R a, R b) {
    return k::add(a, b);
  }
};
struct RunningProduct {
  template <class R>
  PANTO_FN static R nothing() {
    return R(1);
  }
  template <class R>
  PANTO_FN static R join(R a, R b) {
    return k::mul(a, b);
  }
};
struct RunningLogSum {
  template <class R>
  PANTO_FN static R nothing() {
    return -std::numeric_limits<R>::infinity();
  }
  template <class R>
  PANTO_FN static R join(R a, R b) {
    const R largest = k::max(a, b);  // NaN if one of them is
    return std::isinf(largest) ? largest : largest + std::log1p(std::exp(-std::abs(a - b)));
  }
};

struct AllOf {
  using Element = bool;
  using Lane = uint8_t;
  using Total = bool;
  PANTO_FN static Lane lane() { return 1; }
  PANTO_FN static bool total() { return true; }
  PANTO_FN static Lane add(Lane a, bool x) { return static_cast<Lane>(a & static_cast<Lane>(x)); }
  PANTO_FN static Lane join(Lane a, Lane b) { return static_cast<Lane>(a & b); }
  PANTO_FN static bool fold(bool t, Lane x) { return t && x != 0; }
  PANTO_FN static bool merge(bool a, bool b) { return a && b; }
  PANTO_FN static bool finish(bool t, int64_t) { return t; }
};

struct AnyOf {
  using Element = bool;
  using Lane = uint8_t;
  using Total = bool;
  PANTO_FN static Lane lane() { return 0; }
  PANTO_FN static bool total() { return false; }
  PANTO_FN static Lane add(Lane a, bool x) { return static_cast<Lane>(a | static_cast<Lane>(x)); }
  PANTO_FN static Lane join(Lane a, Lane b) { return static_cast<Lane>(a | b); }
  PANTO_FN static bool fold(bool t, Lane x) { return t || x != 0; }
  PANTO_FN static bool merge(bool a, bool b) { return a || b; }
  PANTO_FN static bool finish(bool t, int64_t) { return t; }
};

}  // namespace panto
