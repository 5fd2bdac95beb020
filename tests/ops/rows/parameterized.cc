// Samples of distributions with several parameters, and of Sobol sequences. Their numbers are compared with
// TensorFlow's in replay_test.cc.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/saved.h"
#include "panto/tests/ops/table.h"

namespace panto::test::parameterized_rows {
namespace {

const Array kSeed = list({7, 11});

// To five standard errors.
void check_moments(const std::vector<double>& values, double mean, double deviation) {
  double sum = 0, squares = 0;
  for (const double v : values) {
    sum += v;
    squares += (v - mean) * (v - mean);
  }
  const auto n = static_cast<double>(values.size());
  BOOST_CHECK_SMALL(sum / n - mean, 5 * deviation / std::sqrt(n));
  BOOST_CHECK_CLOSE(std::sqrt(squares / n), deviation, 5);
}

// By both methods, and of what is likelier than not.
void binomial_moments() {
  for (const double p : {0.01, 0.3, 0.5, 0.97}) {
    for (const double count : {7., 60., 5000.}) {
      const Tensor drawn = stateless_random_binomial({20000}, tensor({7, 11}), tensor(count), tensor(p));
      check_moments(to_array(drawn).values, count * p, std::sqrt(count * p * (1 - p)));
    }
  }
}
void binomial_limits() {
  const Tensor counts = tensor({-1., 5., 5., 5.}), probs = tensor({0.5, 0., 1., -1.});
  BOOST_TEST(stateless_random_binomial({4}, tensor({1, 2}), counts, probs).to_vector<int64_t>() ==
             (std::vector<int64_t>{0, 0, 5, 0}));
  const Tensor unknown =
      stateless_random_binomial({1}, tensor({1, 2}), tensor(5.F), tensor(std::nanf("")), {.dtype = kFloat32});
  BOOST_TEST(std::isnan(unknown.to_vector<float>()[0]));
}

// A node draws from the variable that it is given, which goes on as far as TensorFlow's does.
void binomial_saved() {
  const auto draw = [](const Tensor& generator) {
    return generator_binomial(generator, tensor(int64_t{1}), {4, 2}, tensor({10., 20.}), tensor({0.3, 0.6}));
  };
  const auto build = [&] {
    const Variable generator(tensor(std::vector<int64_t>{5, 7, 9}), "generator");
    named("drawn", draw(generator.handle()));
    global_variables_initializer();
  };
  const Tensor eager = to_tensor(variable(list({5, 7, 9})), kInt64);
  const Tensor first = draw(eager), second = draw(eager);
  BOOST_TEST(difference(list({5 + 2. * 179200, 7, 9}), read_variable_op(eager, kInt64), {}) == "");
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    session.run("init");
    BOOST_TEST(difference(first, session.run("drawn")) == "");
    BOOST_TEST(difference(second, session.run("drawn")) == "");
  }
}

// Between the bounds, with the moments that integrals give.
void truncated_moments() {
  struct Case {
    double mean, deviation, low, high;
  };
  for (const Case& k : {Case{0, 1, -3, 1}, Case{1, 2, 0.9, 2.5}, Case{-2, 1, 3, 99}, Case{5, 1, -99, 0}}) {
    double mass = 0, first = 0, second = 0;
    const double low = std::max(k.low, k.mean - 12 * k.deviation), high = std::min(k.high, k.mean + 12 * k.deviation);
    for (int i = 0; i < 100000; ++i) {
      const double x = low + (high - low) * (i + 0.5) / 100000, z = (x - k.mean) / k.deviation;
      const double p = std::exp(-z * z / 2);
      mass += p;
      first += p * x;
      second += p * x * x;
    }
    const double mean = first / mass, deviation = std::sqrt(second / mass - mean * mean);
    const Tensor seed = tensor({7, 11});
    const Tensor drawn = stateless_parameterized_truncated_normal({20000}, seed, tensor(k.mean), tensor(k.deviation),
                                                                  tensor(k.low), tensor(k.high));
    const auto values = to_array(drawn).values;
    check_moments(values, mean, deviation);
    for (const double v : values) BOOST_REQUIRE((v >= k.low && v <= k.high));
  }
}

std::vector<Sample> truncated_samples() {
  return {{.in = {list({3, 2}), scalar(0), scalar(1), scalar(-1), scalar(2)}, .attrs = {{"seed", 3}}},
          {.in = {list({2, 3}), list({0, 1}), list({1}), scalar(-1), list({0.5, 2})}, .attrs = {{"seed", 3}}},
          {.in = {list({0, 3}), scalar(0), scalar(1), scalar(-1), scalar(2)}}};
}
std::vector<ErrorSample> truncated_errors() {
  const auto refused =
      "expected a mean, a standard deviation above 0 and bounds in order, of which one is finite, got ";
  return {
      {.in = {list({2}), scalar(0), scalar(-1), scalar(-1), scalar(2)}, .text = refused + std::string("0, -1")},
      {.in = {list({2}), scalar(0), scalar(1), scalar(3), scalar(2)}, .text = refused + std::string("0, 1 and 3 to 2")},
      {.in = {list({2}), list({1, 2, 3}), scalar(1), scalar(3), scalar(2)},
       .text = "the first dimension of shape and the length of a parameter: expected 2, got 3"},
      {.in = {list({2}), array({1, 1}, {1}), scalar(1), scalar(0), scalar(2)},
       .text = "means: expected a vector, got shape [1,1]"},
      {.in = {list({}), scalar(0), scalar(1), scalar(0), scalar(2)},
       .text = "shape: expected at least one dimension, got none"}};
}

// ---- Sobol -------

// Two dimensions: that of powers of two, and that of the polynomial x + 1.
std::vector<Array> sobol(const Given& g) {
  const int64_t dims = integer(g.in[0]), count = integer(g.in[1]), skip = integer(g.in[2]);
  return {make({count, dims}, [&](const Index& i) {
    const auto number = static_cast<uint64_t>(skip + 1 + i[0]), gray = number ^ number >> 1;
    double x = 0;
    uint64_t sum = 0, direction = 1;
    for (int k = 0; k < 32; ++k) {
      if ((gray >> k & 1) != 0) {
        x += std::ldexp(1.0, -1 - k);
        sum ^= direction << (31 - k);
      }
      direction ^= direction << 1;
    }
    return i[1] == 0 ? x : std::ldexp(static_cast<double>(sum), -32);
  })};
}
// Of 256 points there are as many in each part of the first dimension and of any other, of which 16 and 16 are made.
void evenly_spread() {
  const Tensor points = sobol_sample(2000, 256, 255, {.dtype = kFloat64});
  const auto values = points.to_vector<double>();
  for (const size_t d : {1U, 2U, 77U, 1999U}) {
    std::vector<int> in_part(256, 0);
    for (size_t i = 0; i < 256; ++i) in_part[static_cast<size_t>(values[i * 2000 + d] * 256)] += 1;
    BOOST_TEST(in_part == std::vector<int>(256, 1));
  }
}

const Family parameterized(
    "random",
    {
        {"StatelessRandomBinomial",
         {.samples = {{.in = {list({4, 3}), kSeed, list({5, 40, 7}), list({0.5, 0.25, 1})}},
                      {.in = {list({2, 2, 3}), kSeed, array({2, 1}, {5, 40}), list({0.5, 0.25, 1})}},
                      {.in = {list({0, 2}), kSeed, scalar(2), scalar(0.5)}}},
          .errors = {{.in = {list({4}), kSeed, list({1, 2}), scalar(0.5)},
                      .text = "shape: expected one that ends with [2], that of the parameters, got [4]"},
                     {.in = {list({1}), kSeed, scalar(std::numeric_limits<double>::infinity()), scalar(0.5)},
                      .text = "counts[0]: expected a finite number"},
                     {.in = {list({1}), kSeed, scalar(4), scalar(std::numeric_limits<double>::quiet_NaN())},
                      .attrs = {{"dtype", kInt32}},
                      .text = "probs[0]: expected a number, got nan",
                      .type = kInt32}},
          .own = {{"moments", binomial_moments}, {"limits", binomial_limits}}}},
        {"StatefulRandomBinomial", {.own = {{"saved", binomial_saved}}}},
        {"ParameterizedTruncatedNormal",
         {.samples = truncated_samples(), .errors = truncated_errors(), .random = true}},
        {"StatelessParameterizedTruncatedNormal",
         {.samples = {{.in = {list({4, 3}), kSeed, scalar(0), list({1, 2, 3}), scalar(-1), scalar(2)}},
                      {.in = {list({0}), kSeed, scalar(0), scalar(1), scalar(-1), scalar(2)}}},
          .errors = {{.in = {list({2, 3}), kSeed, list({0, 1}), scalar(1), scalar(-1), scalar(2)},
                      .text = "shape: expected one that ends with [2], that of the parameters, got [2,3]"},
                     {.in = {list({2, 3}), list({1, 2, 3}), scalar(0), scalar(1), scalar(-1), scalar(2)},
                      .text = "length of seed: expected 2, got 3"}},
          .own = {{"moments", truncated_moments}},
          .random = true}},  // other numbers in each type
        {"SobolSample",
         {.samples = {{.in = {scalar(2), scalar(9), scalar(0)}}, {.in = {scalar(1), scalar(4), scalar(1000)}}},
          .reference = sobol,
          .errors = {{.in = {scalar(0), scalar(9), scalar(0)}, .text = "dim: expected at least 1, got 0"},
                     {.in = {scalar(2001), scalar(9), scalar(0)}, .text = "dim: expected at most 2000, got 2001"},
                     {.in = {scalar(1), scalar(0), scalar(0)}, .text = "num_results: expected at least 1, got 0"},
                     {.in = {scalar(1), scalar(9), scalar(-1)}, .text = "skip: expected at least 0, got -1"},
                     {.in = {scalar(1), scalar(9), scalar(2147483640)},
                      .text = "num_results: expected less than 7 with skip, got 9"}},
          .own = {{"evenly_spread", evenly_spread}}}},
    });

}  // namespace
}  // namespace panto::test::parameterized_rows
