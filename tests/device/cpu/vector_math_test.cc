// The kernels that are made of device/math/vector_math.h against libm in double: the bounds that it states.
#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "panto/device/math/functors.h"
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

// Largest distance of results from the true values, in units of the last place of the rounded true value.
template <class Reference>
Worst worst_error(std::span<const float> in, const Tensor& results, Reference reference) {
  Worst worst;
  const std::span<const float> out = results.data<float>();
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

// How many results have other bits than the functor has for one element, compiled here: without vectors and without
// fused multiply-adds. Which NaN it is, is nobody's promise.
template <class Functor>
int64_t unlike_one_element(const Tensor& results, Functor f, std::span<const float> x) {
  int64_t count = 0;
  const std::span<const float> got = results.data<float>();
  for (size_t i = 0; i < x.size(); ++i) {
    const float expected = f(x[i]);
    const bool both_nan = std::isnan(got[i]) && std::isnan(expected);
    count += !both_nan && std::bit_cast<uint32_t>(got[i]) != std::bit_cast<uint32_t>(expected);
  }
  return count;
}

#define CHECK_BOUND(function, reference, bound)                                               \
  do {                                                                                        \
    const Worst worst = worst_error(floats().data<float>(), (function)(floats()), reference); \
    BOOST_TEST(worst.ulps <= (bound), worst.ulps << " ulp at " << worst.at);                  \
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
  CHECK_BOUND([](const Tensor& x) { return panto::erf(x); }, [](double x) { return std::erf(x); }, 2.6);
}
BOOST_AUTO_TEST_CASE(tanh_is_within_its_bound) {
  CHECK_BOUND([](const Tensor& x) { return panto::tanh(x); }, [](double x) { return std::tanh(x); }, 2.5);
}
BOOST_AUTO_TEST_CASE(sigmoid_is_within_its_bound) {
  CHECK_BOUND([](const Tensor& x) { return panto::sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }, 2.4);
}
BOOST_AUTO_TEST_CASE(sin_and_cos_are_within_their_bound) {
  CHECK_BOUND([](const Tensor& x) { return panto::sin(x); }, [](double x) { return std::sin(x); }, 0.6);
  CHECK_BOUND([](const Tensor& x) { return panto::cos(x); }, [](double x) { return std::cos(x); }, 0.6);
}
// The floats on both sides of every multiple of pi / 2 up to where libm takes over: the results closest to zero.
BOOST_AUTO_TEST_CASE(sin_and_cos_are_within_their_bound_near_their_zeros) {
  std::vector<float> near;
  for (double k = 1; k * M_PI_2 < 4194304.; ++k) {
    const auto x = static_cast<float>(k * M_PI_2);
    near.insert(near.end(), {std::nextafter(x, 0.f), x, std::nextafter(x, HUGE_VALF)});
  }
  BOOST_TEST(near.size() == 3u * 2670176);
  const Worst of_sin = worst_error(near, panto::sin(tensor(near)), [](double x) { return std::sin(x); });
  BOOST_TEST(of_sin.ulps <= 0.501, of_sin.ulps << " ulp at " << of_sin.at);
  const Worst of_cos = worst_error(near, panto::cos(tensor(near)), [](double x) { return std::cos(x); });
  BOOST_TEST(of_cos.ulps <= 0.501, of_cos.ulps << " ulp at " << of_cos.at);
}
BOOST_AUTO_TEST_CASE(sin_cos_and_erfc_have_the_same_bits_everywhere) {
  const std::span<const float> x = floats().data<float>();
  BOOST_TEST(unlike_one_element(sin(floats()), SinFn{}, x) == 0);
  BOOST_TEST(unlike_one_element(cos(floats()), CosFn{}, x) == 0);
  BOOST_TEST(unlike_one_element(erfc(floats()), ErfcFn{}, x) == 0);
  // Arguments for libm here and there: blocks with and without, and of every length.
  std::vector<float> mixed;
  for (int i = 0; i < 5000; ++i) mixed.push_back(static_cast<float>(i % 1300 == 77 ? 1e7 * i : i * 0.37 - 900));
  for (size_t n = 1; n <= mixed.size(); n += 1 + n / 3) {
    const std::vector<float> part(mixed.end() - static_cast<int64_t>(n), mixed.end());
    BOOST_TEST(unlike_one_element(sin(tensor(part)), SinFn{}, part) == 0);
    BOOST_TEST(unlike_one_element(cos(tensor(part)), CosFn{}, part) == 0);
  }
}
BOOST_AUTO_TEST_CASE(erfc_is_within_its_bound) {
  CHECK_BOUND([](const Tensor& x) { return panto::erfc(x); }, [](double x) { return std::erfc(x); }, 0.54);
}
BOOST_AUTO_TEST_CASE(softplus_is_within_its_bound) {
  const auto reference = [](double x) { return std::max(x, 0.) + std::log1p(std::exp(-std::abs(x))); };
  CHECK_BOUND([](const Tensor& x) { return panto::softplus(x); },
              [&](double x) { return std::isnan(x) ? x : reference(x); }, 2.5);
}
// All pairs of special numbers, then random ones: of any bits; with results within range; integer powers; near one.
BOOST_AUTO_TEST_CASE(pow_is_within_its_bound) {
  const std::vector<float> special = {
      0.f,        1.f,   2.f,        3.f,        0.5f,         1.5f,       1e-45f,       1.1754944e-38f,
      3.4e38f,    1e30f, 16777216.f, 16777215.f, 8388609.f,    8388607.5f, 4194303.5f,   0.99999994f,
      1.0000001f, 149.f, 128.f,      127.f,      2147483648.f, HUGE_VALF,  std::nanf("")};
  std::vector<float> x, y;
  for (float a : special) {
    for (float b : special) {
      x.insert(x.end(), {a, -a, a, -a});
      y.insert(y.end(), {b, b, -b, -b});
    }
  }
  std::mt19937 rng(1);
  const auto uniform = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(rng); };
  const auto any = [&] { return std::bit_cast<float>(static_cast<uint32_t>(rng())); };
  for (int i = 0; i < 200000; ++i) {
    const double base = std::exp2(uniform(-149, 128));
    x.insert(x.end(), {any(), static_cast<float>(base), any(), static_cast<float>(1 + uniform(-1e-3, 1e-3))});
    y.insert(y.end(), {any(), static_cast<float>(uniform(-150, 128) / std::log2(base)),
                       static_cast<float>(std::round(uniform(-20, 20))), static_cast<float>(uniform(-1e5, 1e5))});
  }
  const std::vector<float> got = pow(tensor(x), tensor(y)).to_vector<float>();
  Worst worst;
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = std::pow(static_cast<double>(x[i]), static_cast<double>(y[i]));
    const auto rounded = static_cast<float>(expected);
    if (!std::isfinite(rounded) || rounded == 0) {
      const bool same =
          std::isnan(rounded) ? std::isnan(got[i]) : got[i] == rounded && std::signbit(got[i]) == std::signbit(rounded);
      if (!same) BOOST_ERROR(x[i] << " to the power " << y[i] << " gives " << got[i] << ", expected " << rounded);
      continue;
    }
    int exponent = 0;
    std::frexp(rounded, &exponent);
    const double ulps = std::abs(got[i] - expected) / std::ldexp(1., std::max(exponent - 24, -149));
    if (!std::isfinite(ulps)) BOOST_ERROR(x[i] << " to the power " << y[i] << " gives " << got[i]);
    if (ulps > worst.ulps) worst = {ulps, x[i]};
  }
  BOOST_TEST(worst.ulps <= 0.51, worst.ulps << " ulp at " << worst.at);
}
// Blocks of positive numbers and moderate powers have a loop of their own.
BOOST_AUTO_TEST_CASE(pow_has_the_same_bits_beside_a_special_number) {
  std::mt19937 rng(3);
  std::vector<float> x, y;
  for (int i = 0; i < 1 << 18; ++i) {
    const auto exponent = std::uniform_real_distribution<double>(-126, 128)(rng);
    x.push_back(i % 9 == 0 ? 1.f : static_cast<float>(std::exp2(i % 2 == 0 ? exponent : exponent / 64)));
    y.push_back(i % 7 == 0 ? 0.f : std::uniform_real_distribution<float>(-7, 7)(rng));
  }
  const std::vector<float> expected = pow(tensor(x), tensor(y)).to_vector<float>();
  for (size_t i = 100; i < x.size(); i += 512) x[i] = -x[i];
  const std::vector<float> got = pow(tensor(x), tensor(y)).to_vector<float>();
  int64_t other = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    other += i % 512 != 100 && std::bit_cast<uint32_t>(got[i]) != std::bit_cast<uint32_t>(expected[i]);
  }
  BOOST_TEST(other == 0);
}
// The bits of fmod and the sum after it: quotients of every size around those for which fmod is called, exact multiples
// and their neighbours, whole blocks of them and mixed ones.
BOOST_AUTO_TEST_CASE(floor_mod_is_exact) {
  const auto reference = [](float x, float y) {
    const float rest = std::fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
  };
  constexpr float kLeast = 1e-45f, kMost = 3.40282347e+38f;
  const float special[] = {0.f,  -0.f,  kLeast, -kLeast,   1.1754944e-38f, 1.f,
                           -3.f, kMost, -kMost, HUGE_VALF, -HUGE_VALF,     std::nanf("")};
  std::mt19937 rng(2);
  const auto any = [&] { return std::bit_cast<float>(static_cast<uint32_t>(rng())); };
  std::vector<float> x, y;
  for (int block = 0; block < 800; ++block) {
    for (int i = 0; i < 512; ++i) {
      float divisor = any();
      float dividend = any();
      switch (block % 4) {
        case 0: break;
        case 1:  // quotients up to 2^28, and beyond where there is room
          dividend = static_cast<float>(divisor * std::exp2(std::uniform_real_distribution<double>(-3, 28)(rng)));
          break;
        case 2:  // next to a multiple
          divisor = std::ldexp(1.f + static_cast<float>(rng() % 1000) / 1024.f, static_cast<int>(rng() % 40) - 20);
          dividend = static_cast<float>(rng() % 16384) * divisor;
          dividend = std::nextafter(dividend, rng() % 2 == 0 ? HUGE_VALF : -HUGE_VALF);
          if (rng() % 2 == 0) divisor = -divisor;
          break;
        default: dividend = special[rng() % std::size(special)]; divisor = special[rng() % std::size(special)];
      }
      x.push_back(dividend);
      y.push_back(divisor);
    }
  }
  const std::vector<float> got = floor_mod(tensor(x), tensor(y)).to_vector<float>();
  int64_t wrong = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const float expected = reference(x[i], y[i]);
    if (std::isnan(expected) ? std::isnan(got[i])
                             : std::bit_cast<uint32_t>(got[i]) == std::bit_cast<uint32_t>(expected))
      continue;
    if (wrong++ < 5) BOOST_ERROR(x[i] << " mod " << y[i] << " gives " << got[i] << ", expected " << expected);
  }
  BOOST_TEST(wrong == 0);
}
BOOST_AUTO_TEST_CASE(signs_of_zero_survive) {
  const Tensor zeros = tensor({-0.f, 0.f});
  for (const Tensor& y : {erf(zeros), expm1(zeros), log1p(zeros), sin(zeros), tanh(zeros)}) {
    BOOST_TEST(std::signbit(y.data<float>()[0]));
    BOOST_TEST(!std::signbit(y.data<float>()[1]));
  }
  BOOST_TEST(exp(zeros).data<float>()[0] == 1.f);
  BOOST_TEST(sigmoid(zeros).data<float>()[0] == 0.5f);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
