// Every 1,021st float against libm in double: the bounds that device/vector_math.h states.
#include "panto/device/vector_math.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

namespace panto {
namespace {

struct Worst {
  double ulps = 0;
  float at = 0;
};

// Largest distance of f(x) from the true value, in units of the last place of the rounded true value.
template <class Function, class Reference>
Worst worst_error(Function f, Reference reference) {
  Worst worst;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 1021) {
    const auto x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    const double expected = reference(static_cast<double>(x));
    const auto rounded = static_cast<float>(expected);
    const float got = f(x);
    if (std::isnan(rounded) || std::isinf(rounded)) {
      BOOST_REQUIRE_MESSAGE(std::isnan(rounded) ? std::isnan(got) : got == rounded, x << " gives " << got);
      continue;
    }
    int exponent = 0;
    std::frexp(rounded, &exponent);
    const double ulps = std::abs(got - expected) / std::ldexp(1., std::max(exponent - 24, -149));
    BOOST_REQUIRE_MESSAGE(std::isfinite(ulps), x << " gives " << got << ", expected " << expected);
    if (ulps > worst.ulps) worst = {ulps, x};
  }
  return worst;
}

#define CHECK_BOUND(function, reference, bound)                                             \
  do {                                                                                      \
    const Worst worst = worst_error([](float x) { return vmath::function(x); }, reference); \
    BOOST_TEST(worst.ulps <= (bound), worst.ulps << " ulp at " << worst.at);                \
  } while (false)

BOOST_AUTO_TEST_SUITE(vector_math)

BOOST_AUTO_TEST_CASE(exp_is_within_its_bound) {
  CHECK_BOUND(exp, [](double x) { return std::exp(x); }, 1.0);
}
BOOST_AUTO_TEST_CASE(log_is_within_its_bound) {
  CHECK_BOUND(log, [](double x) { return std::log(x); }, 0.8);
}
BOOST_AUTO_TEST_CASE(tanh_is_within_its_bound) {
  CHECK_BOUND(tanh, [](double x) { return std::tanh(x); }, 1.3);
}
BOOST_AUTO_TEST_CASE(sigmoid_is_within_its_bound) {
  CHECK_BOUND(sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, 2.4);
}
BOOST_AUTO_TEST_CASE(signs_of_zero_survive) {
  BOOST_TEST(std::signbit(vmath::tanh(-0.f)));
  BOOST_TEST(!std::signbit(vmath::tanh(0.f)));
  BOOST_TEST(vmath::exp(-0.f) == 1.f);
  BOOST_TEST(vmath::sigmoid(-0.f) == 0.5f);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
