// The 16-bit types, every bit pattern: against their definition, and rounding at and beside every midpoint.
#include "panto/lib/core/tensor/half.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

namespace panto {
namespace {

// IEEE 754 by definition: sign, `exponent_bits` bits of exponent, the rest mantissa.
double by_definition(unsigned bits, int exponent_bits) {
  const int mantissa_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto exponent = static_cast<int>((bits & 0x7fff) >> mantissa_bits);
  const double mantissa = std::ldexp(bits & ((1U << mantissa_bits) - 1), -mantissa_bits);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  return exponent == 0 ? sign * std::ldexp(mantissa, 1 - bias) : sign * std::ldexp(1 + mantissa, exponent - bias);
}

template <class T>
uint16_t bits_of(float value) {
  return T(value).bits;
}

template <class T, int kExponentBits>
void every_pattern_is_what_the_definition_says() {
  int wrong = 0;
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    T value;
    value.bits = static_cast<uint16_t>(bits);
    const double expected = by_definition(bits, kExponentBits);
    const auto got = static_cast<float>(value);
    const bool same = std::isnan(expected)
                          ? std::isnan(got)
                          : static_cast<double>(got) == expected && std::signbit(got) == std::signbit(expected);
    // And back; a NaN stays some NaN of the same sign.
    const uint16_t back = bits_of<T>(got);
    const bool round_trip = std::isnan(expected)
                                ? std::isnan(by_definition(back, kExponentBits)) && (back & 0x8000) == (bits & 0x8000)
                                : back == bits;
    if (!same || !round_trip) ++wrong;
  }
  BOOST_TEST(wrong == 0);
}

template <class T, int kExponentBits>
void rounding_is_to_nearest_even() {
  constexpr unsigned kInfinity = ((1U << kExponentBits) - 1) << (15 - kExponentBits);
  int wrong = 0;
  for (unsigned low = 0; low < kInfinity; ++low) {
    // Between this number and the next: what lies past the largest one rounds as if the numbers went on.
    const double a = by_definition(low, kExponentBits);
    const double b =
        low + 1 < kInfinity ? by_definition(low + 1, kExponentBits) : 2 * a - by_definition(low - 1, kExponentBits);
    const auto middle = static_cast<float>((a + b) / 2);
    if (static_cast<double>(middle) != (a + b) / 2) continue;  // beyond float: infinity of bfloat16
    const unsigned even = (low & 1) == 0 ? low : low + 1;
    const unsigned expected[] = {low, even, low + 1};
    const float values[] = {std::nextafter(middle, 0.F), middle,
                            std::nextafter(middle, std::numeric_limits<float>::infinity())};
    for (int i = 0; i < 3; ++i) {
      if (bits_of<T>(values[i]) != expected[i]) ++wrong;
      if (bits_of<T>(-values[i]) != (expected[i] | 0x8000)) ++wrong;
    }
  }
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_SUITE(half)

BOOST_AUTO_TEST_CASE(float16_values) { every_pattern_is_what_the_definition_says<Half, 5>(); }
BOOST_AUTO_TEST_CASE(bfloat16_values) { every_pattern_is_what_the_definition_says<BFloat16, 8>(); }
BOOST_AUTO_TEST_CASE(float16_rounding) { rounding_is_to_nearest_even<Half, 5>(); }
BOOST_AUTO_TEST_CASE(bfloat16_rounding) { rounding_is_to_nearest_even<BFloat16, 8>(); }

BOOST_AUTO_TEST_CASE(limits) {
  BOOST_TEST(bits_of<Half>(65504.F) == 0x7bff);
  BOOST_TEST(bits_of<Half>(65519.996F) == 0x7bff);
  BOOST_TEST(bits_of<Half>(65520.F) == 0x7c00);
  BOOST_TEST(bits_of<Half>(std::numeric_limits<float>::max()) == 0x7c00);
  BOOST_TEST(bits_of<Half>(0x1p-25F) == 0);
  BOOST_TEST(bits_of<Half>(std::numeric_limits<float>::denorm_min()) == 0);
  BOOST_TEST(bits_of<Half>(-std::numeric_limits<float>::denorm_min()) == 0x8000);
  BOOST_TEST(bits_of<BFloat16>(std::numeric_limits<float>::max()) == 0x7f80);
  // A NaN whose payload is in the lower half only must not become infinity.
  BOOST_TEST(bits_of<BFloat16>(std::bit_cast<float>(0x7f800001U)) == 0x7fc0);
  BOOST_TEST(bits_of<Half>(std::bit_cast<float>(0x7f800001U)) == 0x7e00);
}

BOOST_AUTO_TEST_CASE(equality_is_of_values) {
  BOOST_TEST((Half(0.F) == Half(-0.F)));
  BOOST_TEST(!(Half(std::nanf("")) == Half(std::nanf(""))));
  BOOST_TEST((BFloat16(1.F) == BFloat16(1.001F)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
