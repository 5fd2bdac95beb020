// Size arithmetic on numbers that come from data. Every product or sum that becomes a size goes through here.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "panto/lib/base/error.h"

namespace panto {

inline int64_t checked_mul(int64_t a, int64_t b, const char* what = "size") {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) {
    fail(Code::kInvalidArgument,
         std::string(what) + ": expected a product below 2^63, got " + std::to_string(a) + " * " + std::to_string(b));
  }
  return result;
}

inline int64_t checked_add(int64_t a, int64_t b, const char* what = "size") {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result)) {
    fail(Code::kInvalidArgument,
         std::string(what) + ": expected a sum below 2^63, got " + std::to_string(a) + " + " + std::to_string(b));
  }
  return result;
}

// Converts between integer types; throws where the value does not fit.
template <class To, class From>
To checked_cast(From value, const char* what = "value") {
  static_assert(std::is_integral_v<To> && std::is_integral_v<From>);
  To result;
  if (__builtin_add_overflow(value, From{0}, &result)) {
    fail(Code::kOutOfRange, std::string(what) + ": expected a value that fits " + std::to_string(sizeof(To) * 8) +
                                " bits, got " + std::to_string(value));
  }
  return result;
}

// ceil(a / b) for a >= 0 and b > 0.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

}  // namespace panto
