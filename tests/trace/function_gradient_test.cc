// Functions under tapes: one record each, with the gradients that the eager function has.
#include <functional>

#include "panto/autograd/tape.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/tests/autograd/orders.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/near.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

const TensorSpec kVector(kFloat64, {-1}, "x");
using List = std::vector<Tensor>;

BOOST_AUTO_TEST_SUITE(trace_)
BOOST_AUTO_TEST_SUITE(function_gradients)

BOOST_AUTO_TEST_CASE(one_record_gives_the_eager_gradient) {
  const auto eager = [](const Tensor& a) { return sum(sin(square(a)) * exp(a)); };
  const Function f = trace(eager, {kVector});
  const Tensor x = tensor({0.5, -1.0, 2.0});
  GradientTape traced, plain;
  traced.watch(x);
  plain.watch(x);
  plain.stop();
  const Tensor y = f(x);
  BOOST_TEST(traced.size() == 1U);
  const Tensor g = traced.gradient(y, x);
  GradientTape tape;
  tape.watch(x);
  const Tensor expected = tape.gradient(eager(x), x);
  expect_near(g, {3}, values_of(expected), 1e-12);
}

BOOST_AUTO_TEST_CASE(several_outputs_and_arguments) {
  const Function f =
      trace([](const Tensor& a, const Tensor& b) { return std::vector<Tensor>{a * b, exp(a), cast(b, kInt32)}; },
            {kVector, kVector});
  const Tensor inputs[] = {tensor({1.0, 2.0}), tensor({3.0, 4.0})};
  GradientTape tape({.persistent = true});
  tape.watch(inputs[0]);
  tape.watch(inputs[1]);
  const auto out = f.call(inputs);
  auto grads = tape.gradient(out[0], {inputs[0], inputs[1]});
  expect_near(grads[0], {2}, {3, 4});
  expect_near(grads[1], {2}, {1, 2});
  const Tensor both = out[0] + out[1] * 10.0;
  grads = tape.gradient(both, {inputs[0], inputs[1]}, tensor({1.0, 0.0}));
  expect_near(grads[0], {2}, {3 + 10 * std::exp(1.0), 0}, 1e-12);
  expect_near(grads[1], {2}, {1, 0});
}

// A call is followed as its body is: what is not made of a watched value has no gradient.
BOOST_AUTO_TEST_CASE(outputs_depend_on_what_they_are_made_of) {
  const auto eager = [](const Tensor& a, const Tensor& b) {
    return List{exp(a), exp(b), stop_gradient(a) * b, cast(cast(a, kInt32), kFloat64), a * b, identity(b)};
  };
  const Function traced = trace(eager, {kVector, kVector});
  const Tensor a = tensor({1.5}), b = tensor({2.0});
  const auto of_itself = [&](const auto& f) {
    std::vector<bool> tracked;
    for (size_t k = 0; k < 6; ++k) {
      GradientTape tape;
      tape.watch(a);
      const Tensor y = f(a, b)[k];
      tracked.push_back(tape.gradient(square(y), y).defined());
    }
    return tracked;
  };
  const std::vector<bool> expected{true, false, false, false, true, false};
  BOOST_TEST(of_itself(eager) == expected, boost::test_tools::per_element());
  BOOST_TEST(of_itself([&](const Tensor& x, const Tensor& y) {
               const Tensor inputs[] = {x, y};
               return traced.call(inputs);
             }) == expected,
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(captured_variables_and_tensors) {
  const Variable w(tensor({{1.0, 2.0}, {3.0, 4.0}}), "w");
  const Tensor b = tensor({0.5, -0.5});
  const Function f =
      trace([&](const Tensor& a) { return sum(tanh(matmul(a, w) + b)); }, {TensorSpec(kFloat64, {-1, 2})});
  const Tensor x = tensor({{0.1, -0.2}});
  GradientTape tape;
  tape.watch(x);
  tape.watch(b);
  const auto grads = tape.gradient(f(x), {x, w, b});
  GradientTape eager;
  eager.watch(x);
  eager.watch(b);
  const auto expected = eager.gradient(sum(tanh(matmul(x, w) + b)), {x, w, b});
  BOOST_REQUIRE_EQUAL(grads.size(), 3U);
  for (size_t i = 0; i < grads.size(); ++i) {
    BOOST_REQUIRE(grads[i].defined());
    expect_near(grads[i], expected[i].shape(), values_of(expected[i]), 1e-12);
  }
}

BOOST_AUTO_TEST_CASE(unknown_shapes_and_broadcasting) {
  const Function f = trace([](const Tensor& a, const Tensor& b) { return a * b + b; },
                           {TensorSpec(kFloat64, PartialShape::of_rank(2)), kVector});
  for (int64_t rows : {int64_t{1}, int64_t{3}}) {
    const Tensor a = fill({rows, 2}, 2.0), b = tensor({3.0, 4.0}), one = tensor({5.0});
    for (const Tensor& right : {b, one}) {
      GradientTape tape;
      tape.watch(a);
      tape.watch(right);
      const auto grads = tape.gradient(f(a, right), {a, right});
      BOOST_TEST(grads[0].shape().to_string() == a.shape().to_string());
      const double each = 3.0 * static_cast<double>(rows);
      if (right.numel() == 2) {
        expect_near(grads[1], {2}, {each, each});
      } else {
        expect_near(grads[1], {1}, {2 * each});
      }
    }
  }
}

// Through inner values that are no outputs of the function.
BOOST_AUTO_TEST_CASE(second_and_third_order) {
  const auto fourth_power = [](const Tensor& a) { return square(square(a)); };
  const Function f = trace(fourth_power, {kVector});
  const Tensor x = tensor({2.0, -1.0});
  const auto [first, second, third] = three_orders(f, x);
  expect_near(first, {2}, {32, -4});
  expect_near(second, {2}, {48, 12});
  expect_near(third, {2}, {48, -24});
}

BOOST_AUTO_TEST_CASE(second_order_by_a_persistent_tape) {
  const Variable w(tensor(3.0), "w");
  const Function f = trace([&](const Tensor& a) { return sin(a * w) * w; }, {kVector});
  const Tensor x = tensor({0.5});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = f(x);
  const Tensor dx = tape.gradient(y, x);
  expect_near(dx, {1}, {9 * std::cos(1.5)}, 1e-12);
  const auto second = tape.gradient(dx, {x, w});
  expect_near(second[0], {1}, {-27 * std::sin(1.5)}, 1e-12);
  // d/dw w^2 cos(x w) = 2 w cos(x w) - x w^2 sin(x w).
  expect_near(second[1], 6 * std::cos(1.5) - 4.5 * std::sin(1.5), 1e-12);
}

BOOST_AUTO_TEST_CASE(inputs_without_a_gradient) {
  const Function f = trace([](const Tensor& a, const Tensor& b) { return stop_gradient(a) * b; }, {kVector, kVector});
  const Tensor a = tensor({2.0}), b = tensor({3.0});
  GradientTape tape;
  tape.watch(a);
  tape.watch(b);
  const auto grads = tape.gradient(f(a, b), {a, b});
  expect_near(grads[1], {1}, {2});
  BOOST_TEST((!grads[0].defined() || values_of(grads[0])[0] == 0));
}

BOOST_AUTO_TEST_CASE(integer_functions_are_not_recorded) {
  const Function f = trace([](const Tensor& a) { return cast(a, kInt32) + 1; }, {kVector});
  const Tensor x = tensor({2.5});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = f(x);
  BOOST_TEST(dtype_name(y.dtype()) == "int32");
  BOOST_TEST(!tape.gradient(cast(y, kFloat64), x).defined());
}

// A training step: traced as a whole, or taken step by step.
BOOST_AUTO_TEST_CASE(gradients_inside_a_trace) {
  const Variable w(tensor({1.0, -1.0}), "w");
  const Function step = trace(
      [&](const Tensor& a) {
        GradientTape tape;
        const Tensor loss = sum(square(w * a - 1.0));
        w.assign_sub(tape.gradient(loss, w) * 0.1);
        return loss;
      },
      {TensorSpec(kFloat64, {2}, "a")});
  const Tensor x = tensor({1.0, 2.0});
  std::vector<double> v{1, -1};
  for (int i = 0; i < 3; ++i) {
    const double r0 = v[0] - 1, r1 = 2 * v[1] - 1;
    expect_near(step(x), r0 * r0 + r1 * r1, 1e-12);
    v[0] -= 0.2 * r0;
    v[1] -= 0.4 * r1;
    expect_near(w.value(), {2}, v, 1e-12);
  }
}

BOOST_AUTO_TEST_CASE(loaded_functions_are_differentiable) {
  const TestFolder folder;
  trace([](const Tensor& a) { return exp(a) * a; }, {kVector}).save(folder / "f.pb");
  const Function f = load(folder / "f.pb");
  const Tensor x = tensor({0.5, 1.0});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  expect_near(tape.gradient(y, x), {2}, {1.5 * std::exp(0.5), 2 * std::exp(1.0)}, 1e-12);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
