// Vectors of 16-bit numbers become floats, and floats those, as single ones do: bit for bit, NaN too.
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <random>
#include <vector>

#include "panto/lib/core/tensor/half.h"
#include "panto/lib/ops/ops.h"

namespace panto {
namespace {

// Numbers of 16 bits, all of them in any order, and then again: `extra` more.
template <class T>
std::vector<T> all_of_16_bits(int64_t extra) {
  std::vector<T> values;
  for (uint32_t i = 0; i < 65536 + static_cast<uint32_t>(extra); ++i) {
    T value;
    value.bits = static_cast<uint16_t>(i * 40503);
    values.push_back(value);
  }
  return values;
}

// Floats of all exponents and signs: any mantissa, those between two 16-bit numbers, and their neighbours.
std::vector<float> floats_around_halves() {
  std::mt19937 random(3);
  std::vector<float> values;
  for (uint32_t high = 0; high < 512; ++high) {
    for (uint32_t i = 0; i < 300; ++i) {
      const uint32_t any = random() & 0x7fffffu;
      const uint32_t tie = (any & 0x7fe000u) | 0x1000u;
      values.push_back(std::bit_cast<float>(high << 23 | (i % 4 == 0 ? any : tie + i % 4 - 2)));
    }
  }
  return values;
}

template <class T>
void check_both_ways(int64_t extra) {
  const std::vector<T> given = all_of_16_bits<T>(extra);
  const std::vector<float> widened = cast(tensor(given), kFloat32).template to_vector<float>();
  int64_t wrong = 0;
  for (size_t i = 0; i < given.size(); ++i) {
    wrong += std::bit_cast<uint32_t>(widened[i]) != std::bit_cast<uint32_t>(static_cast<float>(given[i]));
  }
  BOOST_TEST(wrong == 0);
  const std::vector<float> floats = floats_around_halves();
  const std::vector<T> rounded = cast(tensor(floats), dtype_of<T>).template to_vector<T>();
  for (size_t i = 0; i < floats.size(); ++i) wrong += rounded[i].bits != T(floats[i]).bits;
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_SUITE(half_loops)

BOOST_AUTO_TEST_CASE(vectors_are_what_single_numbers_are) {
  for (const int64_t extra : {0, 1, 7}) {
    check_both_ways<Half>(extra);
    check_both_ways<BFloat16>(extra);
  }
}

// Such results are written past the caches.
BOOST_AUTO_TEST_CASE(large_ones_as_well, *boost::unit_test::label("heavy")) {
  check_both_ways<Half>(20'000'003);
  check_both_ways<BFloat16>(20'000'003);
  const std::vector<float> some = floats_around_halves();
  std::vector<float> many;
  while (many.size() < 40'000'000) many.insert(many.end(), some.begin(), some.end());
  const auto wrong = [&]<class T>(T) {
    const std::vector<T> rounded = cast(tensor(many), dtype_of<T>).template to_vector<T>();
    int64_t count = 0;
    for (size_t i = 0; i < many.size(); ++i) count += rounded[i].bits != T(some[i % some.size()]).bits;
    return count;
  };
  BOOST_TEST(wrong(Half()) == 0);
  BOOST_TEST(wrong(BFloat16()) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
