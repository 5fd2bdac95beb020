// Regularizers and constraints against Keras, and at their edges.
#include "panto/autograd/gradcheck.h"
#include "panto/autograd/tape.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/nn/layers/weights/constraints.h"
#include "panto/nn/layers/weights/regularizers.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/tests/nn/training/training_reference.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(weights)

BOOST_AUTO_TEST_CASE(regularizers_as_keras) {
  const Tensor kernel = loss_reference("input/kernel");
  const auto check = [&](const std::string& name, const Regularizer& regularizer) {
    BOOST_TEST_CONTEXT(name) {
      const double expected = values_of(loss_reference("regularizer/" + name))[0];
      const double tolerance = name.starts_with("orthogonal") ? 2e-6 : 1e-13;
      expect_near(regularizer(kernel), expected, tolerance);
      expect_near(regularizer(Variable(cast(kernel, kFloat32), "kernel")), expected, 2e-6);
      const auto traced = trace([&](const Tensor& x) { return regularizer(x); }, {TensorSpec(kFloat64, {-1, -1})});
      expect_near(traced(kernel), expected, tolerance);
      const auto f = [&](std::span<const Tensor> in) { return regularizer(in[0]); };
      const Tensor inputs[] = {tensor({{0.5, -1.5}, {2.0, 0.25}, {-0.75, 1.0}})};
      const GradcheckResult result = gradcheck(f, inputs);
      BOOST_TEST(result.ok, result.report);
    }
  };
  check("l1", regularizers::l1(0.125));
  check("l2", regularizers::l2(0.0625));
  check("l1_l2", regularizers::l1_l2(0.125, 0.0625));
  check("orthogonal_rows", regularizers::orthogonal_regularizer(0.25));
  check("orthogonal_columns", regularizers::orthogonal_regularizer(0.25, "columns"));
  expect_near(regularizers::orthogonal_regularizer()(ones({1, 3})), 0);
}

BOOST_AUTO_TEST_CASE(constraints_as_keras) {
  const Tensor kernel = loss_reference("input/kernel");
  const auto check = [&](const std::string& name, const Constraint& constraint) {
    BOOST_TEST_CONTEXT(name) {
      const std::vector<double> expected = values_of(loss_reference("constraint/" + name));
      expect_near(constraint(kernel), {4, 3}, expected, 1e-12);
      expect_near(constraint(Variable(cast(kernel, kFloat32), "kernel")), {4, 3}, expected, 2e-6);
      const auto traced = trace([&](const Tensor& x) { return constraint(x); }, {TensorSpec(kFloat64, {-1, 3})});
      expect_near(traced(kernel), {4, 3}, expected, 1e-12);
    }
  };
  check("max_norm", constraints::max_norm());
  check("max_norm_1", constraints::max_norm(0.75, {1}));
  check("min_max_norm", constraints::min_max_norm({.min_value = 0.5, .max_value = 1.5, .rate = 0.75, .axis = {0, 1}}));
  check("min_max_norm_defaults", constraints::min_max_norm());
  check("non_neg", constraints::non_neg());
  check("unit_norm", constraints::unit_norm());
}

BOOST_AUTO_TEST_CASE(of_ones_own) {
  const Regularizer doubled = [](const Tensor& w) { return 2.F * sum(w); };
  expect_near(doubled(ones({3})), 6);
  const Constraint halves = [](const Tensor& w) { return w * 0.5F; };
  const Variable v(ones({2}), "v");
  v.assign(halves(v));
  expect_near(v.value(), {2}, {0.5, 0.5});
  BOOST_TEST(!Regularizer());
  BOOST_TEST(!Constraint(nullptr));
}

BOOST_AUTO_TEST_CASE(misuse) {
  const auto expect_invalid = [](const auto& f, const std::string& text) {
    expect_error_begins(f, "InvalidArgument: " + text);
  };
  expect_invalid([] { regularizers::l1(-1); }, "l1: expected a finite number of at least 0, got -1");
  expect_invalid([] { regularizers::orthogonal_regularizer(1, "diagonal"); },
                 "mode: expected \"rows\" or \"columns\", got \"diagonal\"");
  expect_invalid([] { regularizers::orthogonal_regularizer()(ones({2})); },
                 "orthogonal_regularizer: expected a matrix, got shape [2]");
  expect_invalid([] { regularizers::l2()(tensor({1})); }, "weights: expected a floating tensor, got int32");
  expect_invalid([] { constraints::max_norm(-2); }, "max_value: expected a finite number of at least 0, got -2");
  expect_invalid([] { constraints::min_max_norm({.min_value = 2}); }, "min_value: expected at most max_value 1, got 2");
  expect_invalid([] { constraints::min_max_norm({.rate = 2}); }, "rate: expected a number in [0, 1], got 2");
  expect_invalid([] { constraints::non_neg()(Tensor()); }, "weights: expected a floating tensor, got none");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
