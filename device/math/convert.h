// Conversion of an element to another type, as Cast does it. Every case is defined (a plain static_cast is undefined
// for numbers that do not fit), with TensorFlow's results on x86.
#pragma once

#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "panto/device/math/vocabulary.h"
#include "panto/lib/core/tensor/half.h"

namespace panto {

template <class T>
inline constexpr bool is_half_type = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
inline constexpr bool is_complex_type = false;
template <class T>
inline constexpr bool is_complex_type<std::complex<T>> = true;

// The type in which kernels compute for elements of type T. Results are rounded to T once.
template <class T>
using Compute = std::conditional_t<is_half_type<T>, float, T>;

// Rounds towards zero. Numbers that do not fit a 32- or 64-bit signed integer, and NaN, give the smallest one; narrower
// types get its low bits.
template <class To, class From>
PANTO_FN To real_to_integer(From x) {
  using Wide = std::conditional_t<sizeof(To) <= 4, int32_t, int64_t>;
  // 2^31 or 2^63: exact in every floating-point type.
  constexpr From kLimit = static_cast<From>(sizeof(To) <= 4 ? 0x1p31 : 0x1p63);
  constexpr Wide kSmallest = std::numeric_limits<Wide>::min();
  const auto convert = [=](From value) {
    const bool fits = (value >= -kLimit) & (value < kLimit);
    return fits ? static_cast<Wide>(fits ? value : From{0}) : kSmallest;
  };
  const Wide low = convert(x);
  if constexpr (std::is_unsigned_v<To> && sizeof(To) >= 4) {
    // Above the signed range: the distance from its end, with the top bit set.
    const Wide high = convert(x - kLimit);
    return static_cast<To>(low) | static_cast<To>(low < 0 ? high : Wide{0});
  } else {
    return static_cast<To>(low);
  }
}

template <class To, class From>
PANTO_FN To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (is_half_type<From>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (is_complex_type<From>) {
    if constexpr (is_complex_type<To>) {
      using Part = typename To::value_type;
      return To(static_cast<Part>(x.real()), static_cast<Part>(x.imag()));
    } else {
      return convert<To>(x.real());
    }
  } else if constexpr (is_complex_type<To>) {
    return To(convert<typename To::value_type>(x));
  } else if constexpr (is_half_type<To>) {
    return To(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return real_to_integer<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

// F for 16-bit elements: computes in float and rounds the result.
template <class F>
struct Rounded : F {
  template <class T, class... More>
  PANTO_FN auto operator()(T x, More... more) {
    const auto y = F::operator()(convert<Compute<T>>(x), convert<Compute<More>>(more)...);
    if constexpr (std::is_same_v<decltype(y), const bool>) {
      return y;
    } else {
      return convert<T>(y);
    }
  }
};

}  // namespace panto
