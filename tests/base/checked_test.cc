#include "panto/lib/base/checked.h"

#include <limits>

#include "panto/tests/expect.h"

namespace panto {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

BOOST_AUTO_TEST_SUITE(checked)

BOOST_AUTO_TEST_CASE(products_and_sums_that_fit) {
  BOOST_TEST(checked_mul(int64_t{1} << 31, int64_t{1} << 31) == int64_t{1} << 62);
  BOOST_TEST(checked_mul(0, kMax) == 0);
  BOOST_TEST(checked_mul(-1, kMax) == -kMax);
  BOOST_TEST(checked_add(kMax - 1, 1) == kMax);
  BOOST_TEST(checked_add(kMin, kMax) == -1);
}

BOOST_AUTO_TEST_CASE(products_and_sums_that_do_not) {
  expect_error([] { checked_mul(int64_t{1} << 32, int64_t{1} << 31); },
               "InvalidArgument: size: expected a product below 2^63, got 4294967296 * 2147483648");
  expect_error([] { checked_mul(-1, kMin, "bytes"); },
               "InvalidArgument: bytes: expected a product below 2^63, got -1 * -9223372036854775808");
  expect_error([] { checked_add(kMax, 1, "end"); },
               "InvalidArgument: end: expected a sum below 2^63, got 9223372036854775807 + 1");
}

BOOST_AUTO_TEST_CASE(casts) {
  BOOST_TEST(checked_cast<int32_t>(int64_t{-2147483648LL}) == std::numeric_limits<int32_t>::min());
  BOOST_TEST(checked_cast<uint8_t>(255) == 255);
  BOOST_TEST(checked_cast<uint64_t>(kMax) == static_cast<uint64_t>(kMax));
  expect_error([] { checked_cast<int32_t>(int64_t{1} << 31, "index"); },
               "OutOfRange: index: expected a value that fits 32 bits, got 2147483648");
  expect_error([] { checked_cast<uint8_t>(-1); }, "OutOfRange: value: expected a value that fits 8 bits, got -1");
  expect_error([] { checked_cast<int64_t>(std::numeric_limits<uint64_t>::max()); },
               "OutOfRange: value: expected a value that fits 64 bits, got 18446744073709551615");
}

BOOST_AUTO_TEST_CASE(division_rounded_up) {
  BOOST_TEST(ceil_div(0, 3) == 0);
  BOOST_TEST(ceil_div(1, 3) == 1);
  BOOST_TEST(ceil_div(3, 3) == 1);
  BOOST_TEST(ceil_div(kMax, 2) == kMax / 2 + 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
