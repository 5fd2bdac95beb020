// The kernels that are made of device/vector_math.h against libm in double: the bounds that it states.
#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "panto/lib/ops/ops.h"

namespace panto {
namespace {

struct Worst {
  double ulps = 0;
  float at = 0;
};

// Every 1,021st float.
const Tensor& floats() {
  static const auto* all = [] {
    std::vector<float> values;
    for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 1021) {
      values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    }
    return new Tensor(tensor(values));
  }();
  return *all;
}

// Largest distance of f(x) from the true value, in units of the last place of the rounded true value.
template <class Function, class Reference>
Worst worst_error(Function f, Reference reference) {
  Worst worst;
  const Tensor results = f(floats());
  const std::span<const float> in = floats().data<float>(), out = results.data<float>();
  for (size_t i = 0; i < in.size(); ++i) {
    const float x = in[i], got = out[i];
    const double expected = reference(static_cast<double>(x));
    const auto rounded = static_cast<float>(expected);
    if (std::isnan(rounded) || std::isinf(rounded)) {
      if (std::isnan(rounded) ? !std::isnan(got) : got != rounded) BOOST_FAIL(x << " gives " << got);
      continue;
    }
    int exponent = 0;
    std::frexp(rounded, &exponent);
    const double ulps = std::abs(got - expected) / std::ldexp(1., std::max(exponent - 24, -149));
    if (!std::isfinite(ulps)) BOOST_FAIL(x << " gives " << got << ", expected " << expected);
    if (ulps > worst.ulps) worst = {ulps, x};
  }
  return worst;
}

#define CHECK_BOUND(function, reference, bound)                              \
  do {                                                                       \
    const Worst worst = worst_error(function, reference);                    \
    BOOST_TEST(worst.ulps <= (bound), worst.ulps << " ulp at " << worst.at); \
  } while (false)

BOOST_AUTO_TEST_SUITE(vector_math)

BOOST_AUTO_TEST_CASE(exp_is_within_its_bound) {
  CHECK_BOUND([](const Tensor& x) { return panto::exp(x); }, [](double x) { return std::exp(x); }, 1.0);
}
BOOST_AUTO_TEST_CASE(log_is_within_its_bound) {
  CHECK_BOUND([](const Tensor& x) { return panto::log(x); }, [](double x) { return std::log(x); }, 0.8);
}
BOOST_AUTO_TEST_CASE(expm1_is_within_its_bound) {
  CHECK_BOUND([](const Tensor& x) { return panto::expm1(x); }, [](double x) { return std::expm1(x); }, 1.7);
}
BOOST_AUTO_TEST_CASE(log1p_is_within_its_bound) {
  CHECK_BOUND([](const Tensor& x) { return panto::log1p(x); }, [](double x) { return std::log1p(x); }, 1.6);
}
BOOST_AUTO_TEST_CASE(erf_is_within_its_bound) {
  CHECK_BOUND([](const Tensor& x) { return panto::erf(x); }, [](double x) { return std::erf(x); }, 2.0);
}
BOOST_AUTO_TEST_CASE(tanh_is_within_its_bound) {
  CHECK_BOUND([](const Tensor& x) { return panto::tanh(x); }, [](double x) { return std::tanh(x); }, 2.5);
}
BOOST_AUTO_TEST_CASE(sigmoid_is_within_its_bound) {
  CHECK_BOUND([](const Tensor& x) { return panto::sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }, 2.4);
}
BOOST_AUTO_TEST_CASE(signs_of_zero_survive) {
  const Tensor zeros = tensor({-0.f, 0.f});
  for (const Tensor& y : {erf(zeros), expm1(zeros), log1p(zeros), tanh(zeros)}) {
    BOOST_TEST(std::signbit(y.data<float>()[0]));
    BOOST_TEST(!std::signbit(y.data<float>()[1]));
  }
  BOOST_TEST(exp(zeros).data<float>()[0] == 1.f);
  BOOST_TEST(sigmoid(zeros).data<float>()[0] == 0.5f);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
