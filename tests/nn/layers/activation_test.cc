// Activations from functions, names and lambdas, beside <cmath> and `using namespace std`.
#include "panto/nn/layers/activation.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/nn/layers/layer.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"

using namespace std;    // NOLINT(google-build-using-namespace): what users write
using namespace panto;  // NOLINT(google-build-using-namespace)

namespace {

const Tensor& x() {
  static const Tensor value = tensor({-1.0, 0.0, 2.0});
  return value;
}

// By hand, in float64.
struct Row {
  const char* name;
  Activation activation;
  double (*expected)(double);
};

double logistic(double v) { return 1 / (1 + std::exp(-v)); }

BOOST_AUTO_TEST_SUITE(activations)

BOOST_AUTO_TEST_CASE(functions_and_names) {
  const Row rows[] = {
      {"relu", relu, [](double v) { return v > 0 ? v : 0.0; }},
      {"sigmoid", sigmoid, logistic},
      {"tanh", tanh, [](double v) { return std::tanh(v); }},
      {"exp", exp, [](double v) { return std::exp(v); }},
      {"softplus", softplus, [](double v) { return std::log1p(std::exp(v)); }},
      {"silu", silu, [](double v) { return v * logistic(v); }},
      {"swish", "swish", [](double v) { return v * logistic(v); }},
      {"gelu", gelu, [](double v) { return v * std::erfc(-v / std::sqrt(2.0)) / 2; }},
      {"gelu_tanh", gelu_tanh,
       [](double v) { return v / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))); }},
  };
  for (const Row& row : rows) {
    BOOST_TEST_CONTEXT(row.name) {
      for (const Activation& a : {row.activation, Activation(row.name), Activation(std::string(row.name))}) {
        const std::vector<double> got = a(x()).to_vector<double>();
        for (int i = 0; i < 3; ++i) {
          BOOST_TEST(std::abs(got[i] - row.expected(x()[i].item<double>())) < 1e-12);
        }
      }
    }
  }
  expect_near(Activation(softmax)(tensor({0.0, 0.0})), {2}, {0.5, 0.5});
  expect_near(Activation("log_softmax")(tensor({0.0, 0.0})), {2}, {-0.6931471805599453, -0.6931471805599453});
}

BOOST_AUTO_TEST_CASE(lambdas_none_and_what_there_is_not) {
  const Activation doubled = [](const Tensor& t) { return t * 2.0; };
  expect_near(doubled(x()), {3}, {-2, 0, 4});
  BOOST_TEST(!Activation());
  BOOST_TEST(!Activation(nullptr));
  BOOST_TEST(!Activation("linear"));
  expect_error_begins([] { Activation("rleu"); }, "InvalidArgument: activation: expected one of relu, sigmoid, ");
}

BOOST_AUTO_TEST_CASE(in_layers) {
  const Dense by_function(3, 2, {.activation = tanh});
  const Dense by_name(3, 2, {.activation = "tanh", .kernel_initializer = constant_initializer(1)});
  const Dense by_lambda(3, 2, {.activation = [](const Tensor& t) { return tanh(t); }});
  expect_near(by_name(tensor({{-1.f, 0.f, 2.f}})), {1, 2}, {std::tanh(1.0), std::tanh(1.0)}, 1e-6);
  expect_near(Lambda(tanh)(tensor({1.0})), {1}, {std::tanh(1.0)});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
