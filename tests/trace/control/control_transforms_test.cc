// Conditionals and loops over slices, under vmap and jvp.
#include "panto/ops/lists.h"
#include "panto/trace/control/control_flow.h"

#include <cmath>

#include "panto/lib/core/call/scopes.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/tests/trace/control/functions.h"

namespace panto {
namespace {

using test::power, test::root_or_zero;

BOOST_AUTO_TEST_SUITE(trace_)
BOOST_AUTO_TEST_SUITE(control_flow)

// ---- Slices -------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(functions_over_slices) {
  const Tensor rows = tensor({{1.F, 2.F}, {3.F, 4.F}, {5.F, 6.F}});
  const auto plus = [](const Tensor& total, const Tensor& row) { return total * 0.5F + row; };
  const auto zero = [] { return zeros({2}); };
  const auto check = [&](const auto& fn, const Shape& shape, const std::vector<double>& expected) {
    expect_near(fn(rows), shape, expected);
    expect_near(trace(fn)(rows), shape, expected);
    const auto of_any_length = trace(fn, {TensorSpec(kFloat32, {-1, 2}, "rows")});
    expect_near(of_any_length(rows), shape, expected);
  };
  check([&](const Tensor& x) { return foldl(plus, x, zero()); }, {2}, {6.75, 8.5});
  check([&](const Tensor& x) { return foldr(plus, x, zero()); }, {2}, {3.75, 5.5});
  check([&](const Tensor& x) { return scan(plus, x, zero()); }, {3, 2}, {1, 2, 3.5, 5, 6.75, 8.5});
  check([&](const Tensor& x) { return scan(plus, x, zero(), {.reverse = true}); }, {3, 2}, {3.75, 5.5, 5.5, 7, 5, 6});
  check([&](const Tensor& x) { return map_fn([](const Tensor& row) { return sum(row) * row; }, x); }, {3, 2},
        {3, 6, 21, 28, 55, 66});
  const auto carry = [&](const Tensor& x) {
    auto [last, all] =
        scan([](const Tensor& h, const Tensor& row) { return std::pair(h + row, sum(h * row)); }, x, zero());
    return concat({last, all}, 0);
  };
  check(carry, {5}, {9, 12, 0, 11, 56});
}

BOOST_AUTO_TEST_CASE(no_slices) {
  const auto twice = [](const Tensor& x) { return map_fn([](const Tensor& row) { return row * 2.F; }, x); };
  expect_near(twice(zeros({0, 3})), {0, 3}, {});
  expect_near(trace(twice)(zeros({0, 3})), {0, 3}, {});
  expect_error_begins([&] { twice(tensor(1.F)); },
                      "InvalidArgument: elems 0: expected at least one dimension, got a scalar");
}

BOOST_AUTO_TEST_CASE(gradients_over_slices) {
  const Tensor rows = tensor({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}});
  const auto fn = [](const Tensor& x) {
    const Tensor states =
        scan([](const Tensor& h, const Tensor& row) { return tanh(h * 0.5 + row * 0.1); }, x, zeros({2}, kFloat64));
    return sum(states * map_fn([](const Tensor& row) { return row * sum(row); }, x));
  };
  GradientTape eager;
  eager.watch(rows);
  const Tensor expected = eager.gradient(fn(rows), rows);
  GradientTape tape;
  tape.watch(rows);
  const auto f = trace(fn, {TensorSpec(kFloat64, {-1, 2}, "x")});
  expect_near(tape.gradient(f(rows), rows), {3, 2}, values_of(expected), 1e-12);
}

// ---- Transforms ---------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(vmap_of_cond) {
  const Tensor x = tensor({{1.F, 4.F}, {-1.F, -4.F}, {9.F, 16.F}});
  const std::vector<double> expected = {1, 2, 0, 0, 3, 4};
  expect_near(vmap(root_or_zero)(x), {3, 2}, expected);
  const auto f = trace([](const Tensor& x) { return vmap(root_or_zero)(x); });
  expect_near(f(x), {3, 2}, expected);
  expect_near(vmap(trace(root_or_zero))(x), {3, 2}, expected);
  // The same choice for all examples.
  const auto by_flag = [](const Tensor& x, const Tensor& flag) {
    return cond(flag, [&] { return x + 1.F; }, [&] { return x * 0.F; });
  };
  const auto both = vmap(trace(by_flag), {.in_axes = {0, kNoBatch}});
  expect_near(both(tensor({1.F, 2.F}), tensor(true)), {2}, {2, 3});
  expect_near(both(tensor({1.F, 2.F}), tensor(false)), {2}, {0, 0});
}

BOOST_AUTO_TEST_CASE(vmap_of_cases) {
  const auto pick = [](const Tensor& i, const Tensor& x) {
    return switch_case(i, {[&] { return x; }, [&] { return -x; }, [&] { return x * x; }});
  };
  const Tensor i = tensor({0, 1, 2, 5});
  const Tensor x = tensor({2.F, 3.F, 4.F, 5.F});
  expect_near(vmap(pick)(i, x), {4}, {2, -3, 16, 25});
  expect_near(vmap(trace(pick))(i, x), {4}, {2, -3, 16, 25});
}

BOOST_AUTO_TEST_CASE(vmap_of_loops) {
  const Tensor x = tensor({{2.F, 3.F}, {4.F, 5.F}});
  // One length for all examples; then one for each.
  const auto same = vmap(power, {.in_axes = {0, kNoBatch}});
  expect_near(same(x, tensor(3)), {2, 2}, {8, 27, 64, 125});
  expect_near(vmap(power)(x, tensor({2, 3})), {2, 2}, {4, 9, 64, 125});
  expect_near(vmap(trace(power))(x, tensor({2, 3})), {2, 2}, {4, 9, 64, 125});
  const auto f = trace([](const Tensor& x, const Tensor& n) { return vmap(power)(x, n); });
  expect_near(f(x, tensor({0, 1})), {2, 2}, {1, 1, 4, 5});
}

BOOST_AUTO_TEST_CASE(tangents_of_cond_and_loops) {
  const Tensor x = tensor({1.0, 4.0}), v = tensor({1.0, 0.5});
  {
    const auto [y, dy] = jvp(root_or_zero, x, v);
    expect_near(y, {2}, {1, 2});
    expect_near(dy, {2}, {0.5, 0.125});
  }
  {
    const auto [y, dy] = jvp(trace(root_or_zero), x, v);
    expect_near(dy, {2}, {0.5, 0.125});
  }
  const auto cube = [](const Tensor& x) { return power(x, tensor(3)); };
  {
    const auto [y, dy] = jvp(cube, x, v);
    expect_near(y, {2}, {1, 64});
    expect_near(dy, {2}, {3, 24});
  }
  {
    const auto [y, dy] = jvp(trace(cube), x, v);
    expect_near(y, {2}, {1, 64});
    expect_near(dy, {2}, {3, 24});
  }
}

// linearize and checkpoint through a branch, a loop, a scan (whose results are in a list) and a call, beside the
// derivative by hand: of sqrt(x) x^3 and of what the scan gives, 0.5^(2 - i) for each x[i] in the last sum.
BOOST_AUTO_TEST_CASE(linearize_and_checkpoint_of_control_flow) {
  const Tensor x = tensor({1.F, 4.F, 9.F}), v = tensor({1.F, -2.F, 0.5F});
  const Tensor three = tensor(3);
  const Function call = trace([&](const Tensor& t) { return root_or_zero(t) * power(t, three); });
  const auto f = [&](const Tensor& t) {
    const auto halved = [](const Tensor& total, const Tensor& item) { return total * 0.5F + item; };
    return call(t) + scan(halved, t, zeros({}))[-1];
  };
  std::vector<double> slopes, derivative;
  const auto xs = x.to_vector<float>(), vs = v.to_vector<float>();
  double of_scan = 0;
  for (size_t i = 0; i < 3; ++i) of_scan += std::pow(0.5, 2 - static_cast<double>(i)) * vs[i];
  for (size_t i = 0; i < 3; ++i) {
    const double slope = 3.5 * std::pow(xs[i], 2.5);
    derivative.push_back(slope * vs[i] + of_scan);
    slopes.push_back(slope + 3 * std::pow(0.5, 2 - static_cast<double>(i)));  // of the sum of f
  }
  const std::vector<double> value = {1 + 11.25, 128 + 11.25, 2187 + 11.25};
  const Function traced = trace(f);
  const auto check = [&](const auto& fn) {
    const auto [y, tangent] = linearize(fn, x);
    expect_near(y, {3}, value, 1e-3);
    for (int i = 0; i < 2; ++i) expect_near(tangent(v), {3}, derivative, 1e-3);
    expect_near(jvp(fn, x, v).second, {3}, derivative, 1e-3);
    const auto light = [&](const Tensor& t) { return sum(checkpoint(fn)(t)); };
    expect_near(grad(light)(x), {3}, slopes, 1e-3);
    expect_near(trace([&](const Tensor& t) { return grad(light)(t); })(x), {3}, slopes, 1e-3);
    expect_near(vmap(grad(light))(expand_dims(x, 0)), {1, 3}, slopes, 1e-3);
  };
  check(f);
  check([&](const Tensor& t) { return traced(t); });
}

BOOST_AUTO_TEST_CASE(effects_in_what_transforms_call_twice) {
  const Variable count(tensor(0.F), "count");
  const auto f = trace([&](const Tensor& x) {
    return cond(
        x > 0.F,
        [&] {
          count.assign_add(tensor(1.F));
          return x;
        },
        [&] { return -x; });
  });
  expect_error_begins([&] { vmap(f)(tensor({1.F, -1.F})); },
                      "Unimplemented: vmap of a condition that differs by example: expected functions without effects, "
                      "got 'then' that writes, prints or draws numbers");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
