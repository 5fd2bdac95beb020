// Size arithmetic on numbers that come from data. Every product or sum that becomes a size goes through here: overflow
// throws InvalidArgument instead of wrapping.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "panto/lib/base/error.h"
#include "panto/lib/base/export.h"

namespace panto {

namespace detail {
[[noreturn]] PANTO_EXPORT void out_of_bounds(const char* what, const char* result, int64_t a, char op, int64_t b);
}  // namespace detail

inline int64_t checked_mul(int64_t a, int64_t b, const char* what = "size") {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) detail::out_of_bounds(what, "product", a, '*', b);
  return result;
}

inline int64_t checked_add(int64_t a, int64_t b, const char* what = "size") {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result)) detail::out_of_bounds(what, "sum", a, '+', b);
  return result;
}

// Converts between integer types. Throws OutOfRange if the value does not fit.
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
