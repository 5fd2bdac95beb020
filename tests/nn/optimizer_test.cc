// Optimizers against NumPy: five steps down a quadratic, v -> 1.5 (v0 - 1)^2 + 0.25 (v1 + 2)^2 + 5 v2^2.
#include "panto/nn/optimizer.h"

#include <cmath>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"

namespace panto {
namespace {

Tensor height(const Variable& v) {
  return sum(square(v - cast(tensor({1.0, -2.0, 0.0}), v.dtype())) * cast(tensor({1.5, 0.25, 5.0}), v.dtype()));
}

void step(Optimizer& optimizer) {
  GradientTape tape;
  const Tensor y = height(optimizer.variables()[0]);
  optimizer.apply(tape.gradient(y, optimizer.variables()));
}

Variable start(DType type) { return Variable(cast(tensor({0.0, 0.0, 1.0}), type), "v"); }

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(optimizers)

BOOST_AUTO_TEST_CASE(sgd) {
  // v <- t + (1 - rate * curvature)^steps * (v - t).
  for (DType type : {kFloat32, kFloat64}) {
    const Variable v = start(type);
    Sgd descent({v}, {.learning_rate = 0.05});
    for (int i = 0; i < 5; ++i) step(descent);
    expect_near(v.value(), {3}, {1 - std::pow(0.85, 5), -2 + 2 * std::pow(0.975, 5), std::pow(0.5, 5)},
                type == kFloat32 ? 1e-6 : 1e-14);
  }
}

BOOST_AUTO_TEST_CASE(adam) {
  // By NumPy in float64, from algorithm 1 of the paper (its efficient form), rate 0.1.
  const std::vector<double> steps[] = {
      {0.09999989459085576, -0.09999968377323398, 0.9000000316227666},
      {0.19958758948031302, -0.1998329698661897, 0.8004122825258162},
      {0.2984134807861952, -0.29937587454351305, 0.7015863457355402},
      {0.39606063674542086, -0.3984942051247412, 0.6039391499021979},
      {0.4920359881136317, -0.49704316922557823, 0.5079637631869968},
  };
  for (DType type : {kFloat32, kFloat64}) {
    const Variable v = start(type);
    Adam adam({v}, {.learning_rate = 0.1});
    for (const auto& expected : steps) {
      step(adam);
      expect_near(v.value(), {3}, expected, type == kFloat32 ? 5e-6 : 1e-13);
    }
  }
}

BOOST_AUTO_TEST_CASE(adam_slots) {
  const Variable a(tensor({1.F, 2.F}), "a"), b(tensor({{3.F}}), "b");
  const Adam adam({a, b}, {.beta1 = 0.5, .beta2 = 0.25});
  const auto& slots = adam.slots();
  BOOST_REQUIRE_EQUAL(slots.size(), 6U);
  BOOST_TEST(slots[0].name() == a.name() + "/m");
  BOOST_TEST(slots[3].name() == b.name() + "/v");
  expect_near(slots[1].value(), {2}, {0, 0});
  expect_near(slots[2].value(), {1, 1}, {0});
  expect_near(slots[4].value(), 0.5);
  expect_near(slots[5].value(), 0.25);
}

BOOST_AUTO_TEST_CASE(variables_without_a_gradient_stay) {
  const Variable a(tensor({1.F}), "a"), b(tensor({2.F}), "b");
  Sgd sgd({a, b}, {.learning_rate = 1});
  sgd.apply(std::vector<Tensor>{Tensor(), tensor({0.5F})});
  expect_near(a.value(), {1}, {1});
  expect_near(b.value(), {1}, {1.5});
  Adam adam({a, b});
  adam.apply(std::vector<Tensor>{tensor({0.5F}), Tensor()});
  expect_near(a.value(), {1}, {1 - 0.001});
  expect_near(b.value(), {1}, {1.5});
}

BOOST_AUTO_TEST_CASE(misuse_changes_nothing) {
  const Variable a(tensor({1.F}), "weight"), b(tensor({2.F}), "b");
  Sgd sgd({a, b}, {.learning_rate = 1});
  const auto apply = [&](std::vector<Tensor> grads) { sgd.apply(grads); };
  expect_error([&] { apply({tensor({1.F})}); },
               "InvalidArgument: gradients: expected one for each of 2 variables, got 1");
  expect_error([&] { apply({tensor({1.F}), tensor({1.F, 2.F})}); },
               "InvalidArgument: gradient of '" + b.name() + "': expected float32[1], got float32[2]");
  expect_error([&] { apply({tensor({1.F}), tensor({1.0})}); },
               "InvalidArgument: gradient of '" + b.name() + "': expected float32[1], got float64[1]");
  expect_near(a.value(), {1}, {1});
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
