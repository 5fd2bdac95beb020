// What reductions compute (the form is described in device/cpu/reduce.h).
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "panto/device/vocabulary.h"

namespace panto::cpu {

// The sum of doubles with what rounding lost on the way (Neumaier).
struct ExactSum {
  double sum = 0;
  double lost = 0;
  ExactSum plus(double x) const {
    const double next = sum + x;
    const double error = std::abs(sum) >= std::abs(x) ? (sum - next) + x : (x - next) + sum;
    return {next, lost + error};
  }
  // Infinities leave NaN in `lost`.
  double value() const { return std::isfinite(sum) ? sum + lost : sum; }
};

// Sums of floats: blocks in float, then double; of doubles: blocks in double, then compensated; of integers: they wrap.
template <class T>
struct SumOf {
  using Element = T;
  using Lane = T;
  using Total =
      std::conditional_t<std::is_same_v<T, double>, ExactSum, std::conditional_t<std::is_same_v<T, float>, double, T>>;
  static Lane lane() { return Lane{0}; }
  static Total total() { return Total{}; }
  static Lane add(Lane a, T x) { return k::add(a, x); }
  static Lane join(Lane a, Lane b) { return k::add(a, b); }
  static Total fold(Total t, Lane x) {
    if constexpr (std::is_same_v<T, double>) {
      return t.plus(x);
    } else {
      return k::add(t, static_cast<Total>(x));
    }
  }
  static Total merge(Total a, Total b) {
    if constexpr (std::is_same_v<T, double>) {
      Total t = a.plus(b.sum);
      t.lost += b.lost;
      return t;
    } else {
      return k::add(a, b);
    }
  }
  // The total as a number.
  static auto value(Total t) {
    if constexpr (std::is_same_v<T, double>) {
      return t.value();
    } else {
      return t;
    }
  }
  static T finish(Total t, int64_t) { return static_cast<T>(value(t)); }
};

template <class T>
struct SquareSumOf : SumOf<T> {
  static T add(T a, T x) { return a + x * x; }
};

template <class T>
struct MeanOf : SumOf<T> {
  static T finish(typename SumOf<T>::Total t, int64_t n) {
    return static_cast<T>(SumOf<T>::value(t) / static_cast<double>(n));
  }
};
// Integers add up in 64 bits; the quotient is truncated, and of nothing 0.
template <>
struct MeanOf<int64_t> : SumOf<int64_t> {
  static int64_t finish(int64_t t, int64_t n) { return n == 0 ? 0 : t / n; }
};
template <>
struct MeanOf<int32_t> : MeanOf<int64_t> {
  using Element = int32_t;
  static int64_t add(int64_t a, int32_t x) { return a + x; }
  static int32_t finish(int64_t t, int64_t n) { return n == 0 ? 0 : static_cast<int32_t>(t / n); }
};

// Complex numbers: real and imaginary parts on their own.
template <class R>
struct ByParts {
  using Part = typename R::Element;
  using Element = std::complex<Part>;
  using Lane = std::complex<typename R::Lane>;
  struct Total {
    typename R::Total real, imag;
  };
  static Lane lane() { return {R::lane(), R::lane()}; }
  static Total total() { return {R::total(), R::total()}; }
  static Lane add(Lane a, Element x) { return {R::add(a.real(), x.real()), R::add(a.imag(), x.imag())}; }
  static Lane join(Lane a, Lane b) { return {R::join(a.real(), b.real()), R::join(a.imag(), b.imag())}; }
  static Total fold(Total t, Lane x) { return {R::fold(t.real, x.real()), R::fold(t.imag, x.imag())}; }
  static Total merge(Total a, Total b) { return {R::merge(a.real, b.real), R::merge(a.imag, b.imag)}; }
  static Element finish(Total t, int64_t n) { return {R::finish(t.real, n), R::finish(t.imag, n)}; }
};
template <class T>
struct SumOf<std::complex<T>> : ByParts<SumOf<T>> {};
template <class T>
struct MeanOf<std::complex<T>> : ByParts<MeanOf<T>> {};

template <class T>
struct ProdOf {
  using Element = T;
  using Lane = std::conditional_t<std::is_floating_point_v<T>, double, T>;
  using Total = Lane;
  static Lane lane() { return Lane{1}; }
  static Total total() { return Total{1}; }
  static Lane add(Lane a, T x) { return k::mul(a, static_cast<Lane>(x)); }
  static Lane join(Lane a, Lane b) { return k::mul(a, b); }
  static Total fold(Total t, Lane x) { return k::mul(t, x); }
  static Total merge(Total a, Total b) { return k::mul(a, b); }
  static T finish(Total t, int64_t) { return static_cast<T>(t); }
};

template <class T>
struct MaxOf {
  using Element = T;
  using Lane = T;
  using Total = T;
  static T lane() {
    if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::lowest();
  }
  static T total() { return lane(); }
  static T add(T a, T x) { return k::max(a, x); }
  static T join(T a, T b) { return k::max(a, b); }
  static T fold(T a, T x) { return k::max(a, x); }
  static T merge(T a, T x) { return k::max(a, x); }
  static T finish(T t, int64_t) { return t; }
};

template <class T>
struct MinOf {
  using Element = T;
  using Lane = T;
  using Total = T;
  static T lane() {
    if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::max();
  }
  static T total() { return lane(); }
  static T add(T a, T x) { return k::min(a, x); }
  static T join(T a, T b) { return k::min(a, b); }
  static T fold(T a, T x) { return k::min(a, x); }
  static T merge(T a, T x) { return k::min(a, x); }
  static T finish(T t, int64_t) { return t; }
};

struct AllOf {
  using Element = bool;
  using Lane = uint8_t;
  using Total = bool;
  static Lane lane() { return 1; }
  static bool total() { return true; }
  static Lane add(Lane a, bool x) { return static_cast<Lane>(a & static_cast<Lane>(x)); }
  static Lane join(Lane a, Lane b) { return static_cast<Lane>(a & b); }
  static bool fold(bool t, Lane x) { return t && x != 0; }
  static bool merge(bool a, bool b) { return a && b; }
  static bool finish(bool t, int64_t) { return t; }
};

struct AnyOf {
  using Element = bool;
  using Lane = uint8_t;
  using Total = bool;
  static Lane lane() { return 0; }
  static bool total() { return false; }
  static Lane add(Lane a, bool x) { return static_cast<Lane>(a | static_cast<Lane>(x)); }
  static Lane join(Lane a, Lane b) { return static_cast<Lane>(a | b); }
  static bool fold(bool t, Lane x) { return t || x != 0; }
  static bool merge(bool a, bool b) { return a || b; }
  static bool finish(bool t, int64_t) { return t; }
};

}  // namespace panto::cpu
