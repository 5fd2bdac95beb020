// GradientTape and variables: watched by themselves, assigned between reads.
#include "panto/autograd/tape.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(tape)
BOOST_AUTO_TEST_SUITE(variables)

BOOST_AUTO_TEST_CASE(are_watched_when_read) {
  const Variable v(tensor({2.0, 3.0}), "v");
  GradientTape tape;
  const Tensor y = v * v + 1.0;
  expect_near(tape.gradient(y, v), {2}, {4, 6});
}

BOOST_AUTO_TEST_CASE(by_value_and_as_arguments) {
  const Variable w(tensor({{1.0, 2.0}, {3.0, 4.0}}), "w");
  GradientTape tape;
  const Tensor y = matmul(w, w.value());
  // d sum(W W) / dW = 1 W^T + W^T 1, 1 the matrix of ones.
  expect_near(tape.gradient(y, w), {2, 2}, {3 + 4, 7 + 4, 3 + 6, 7 + 6});
}

BOOST_AUTO_TEST_CASE(copies_and_handles_are_one_variable) {
  const Variable v(tensor(3.0), "v");
  const Variable copy = v;
  GradientTape tape({.persistent = true});
  const Tensor y = v * copy;
  expect_near(tape.gradient(y, v), 6);
  expect_near(tape.gradient(y, copy), 6);
}

BOOST_AUTO_TEST_CASE(not_without_the_option) {
  const Variable v(tensor(3.0), "v"), w(tensor(4.0), "w");
  GradientTape tape({.watch_variables = false});
  tape.watch(w);
  const Tensor y = v * w;
  const auto grads = tape.gradient(y, {v, w});
  BOOST_TEST(!grads[0].defined());
  expect_near(grads[1], 3);
}

BOOST_AUTO_TEST_CASE(of_integers_are_left_alone) {
  const Variable steps(tensor(int64_t{3}), "steps");
  GradientTape tape;
  const Tensor y = cast(steps, kFloat64) * 2.0;
  BOOST_TEST(tape.size() == 0U);
  BOOST_TEST(!tape.gradient(y, steps).defined());
}

BOOST_AUTO_TEST_CASE(assigned_between_reads) {
  const Variable v(tensor(2.0), "v");
  GradientTape tape({.persistent = true});
  const Tensor before = v.value();
  const Tensor squared = square(v);
  v.assign(tensor(5.0));
  const Tensor after = v.value();
  const Tensor y = squared * after;  // 2^2 * 5
  // All reads count, each with the value it saw: d = 2 * 2 * 5 + 4.
  expect_near(tape.gradient(y, v), 24);
  BOOST_TEST(!tape.gradient(y, before).defined());  // `squared` is made of another read
}

// An update in place must not reach what a tape keeps.
BOOST_AUTO_TEST_CASE(updates_do_not_change_what_was_kept) {
  for (int64_t n : {int64_t{3}, int64_t{1000}}) {
    const Variable v(fill({n}, 2.0), "v");
    GradientTape tape;
    const Tensor y = sum(square(v));
    v.assign_add(fill({n}, 100.0));
    v.assign_sub(fill({n}, 1.0));
    resource_apply_gradient_descent(v, 1.0, fill({n}, 1.0));
    const Tensor g = tape.gradient(y, v);
    expect_near(g, {n}, std::vector<double>(static_cast<size_t>(n), 4));
    expect_near(v.value(), {n}, std::vector<double>(static_cast<size_t>(n), 100));
  }
}

// No gradient flows through an assignment: what is read afterwards is the variable's.
BOOST_AUTO_TEST_CASE(assignments_cut) {
  const Variable v(tensor(2.0), "v");
  const Tensor x = tensor(3.0);
  GradientTape tape;
  tape.watch(x);
  v.assign(square(x));
  const Tensor y = v * x;
  const auto grads = tape.gradient(y, {x, v});
  expect_near(grads[0], 9);
  expect_near(grads[1], 3);
}

BOOST_AUTO_TEST_CASE(second_order) {
  const Variable v(tensor(2.0), "v");
  GradientTape outer;
  Tensor first;
  {
    GradientTape inner;
    first = inner.gradient(v * v * v, v);
  }
  expect_near(first, 12);
  expect_near(outer.gradient(first, v), 12);
}

BOOST_AUTO_TEST_CASE(a_training_step_under_the_tape) {
  const Variable v(tensor(2.0), "v");
  GradientTape tape({.persistent = true});
  Tensor loss = square(v);
  v.assign_sub(tape.gradient(loss, v) * 0.25);  // 2 - 1
  loss = square(v);
  expect_near(loss, 1);
  expect_near(tape.gradient(loss, v), 2);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(value_and_gradient)

BOOST_AUTO_TEST_CASE(of_tensors_and_variables) {
  const Variable k(tensor({1.0, -2.0}), "k");
  const Tensor x = tensor({3.0, 4.0});
  const auto f = value_and_grad([](const Tensor& a, const Variable& b) { return sum(a * b * b); });
  const auto [value, grads] = f(x, k);
  expect_near(value, 3 + 16);
  BOOST_REQUIRE_EQUAL(grads.size(), 2U);
  expect_near(grads[0], {2}, {1, 4});
  expect_near(grads[1], {2}, {6, -16});
}

BOOST_AUTO_TEST_CASE(of_an_unused_argument) {
  const auto [value, grads] =
      value_and_grad([](const Tensor& a, const Tensor&) { return a * a; })(tensor(3.0), tensor(1.0));
  expect_near(value, 9);
  expect_near(grads[0], 6);
  BOOST_TEST(!grads[1].defined());
}

// Each argument has its own gradient, as in mathematics.
BOOST_AUTO_TEST_CASE(of_one_tensor_given_twice) {
  const Tensor x = tensor(3.0);
  const auto f = [](const Tensor& a, const Tensor& b) { return a * a * b; };
  const auto [value, grads] = value_and_grad(f)(x, x);
  expect_near(value, 27);
  expect_near(grads[0], 18);
  expect_near(grads[1], 9);
}

BOOST_AUTO_TEST_CASE(can_be_nested) {
  const auto f = [](const Tensor& x) { return x * x * x; };
  const auto slope = [f](const Tensor& x) { return value_and_grad(f)(x).second[0]; };
  const auto [value, grads] = value_and_grad(slope)(tensor(2.0));
  expect_near(value, 12);
  expect_near(grads[0], 12);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
