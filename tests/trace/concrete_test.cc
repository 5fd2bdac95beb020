// Functions whose graph is one call on arguments, captures and constants: they run without a frame. Each is called more
// than once, since the first call compiles it.
#include "panto/trace/concrete.h"

#include <cmath>
#include <source_location>
#include <thread>
#include <vector>

#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

const TensorSpec kVector(kFloat64, {-1}, "x");

BOOST_AUTO_TEST_SUITE(trace_)
BOOST_AUTO_TEST_SUITE(one_call)

BOOST_AUTO_TEST_CASE(each_result_is_new_and_of_the_arguments_shape) {
  const Function f = trace([](const Tensor& a, const Tensor& b) { return a - b; }, {kVector, kVector});
  std::vector<Tensor> results;
  for (const double x : {5.0, 7.0}) {
    results.push_back(f(tensor({x, x}), tensor({1.0, 2.0})));
    results.push_back(f(tensor({x, x, x}), tensor({1.0, 2.0, 3.0})));
  }
  expect_near(results[0], {2}, {4, 3});
  expect_near(results[1], {3}, {4, 3, 2});
  expect_near(results[2], {2}, {6, 5});
  expect_near(results[3], {3}, {6, 5, 4});
  BOOST_TEST(results[0].id() != results[2].id());
}

BOOST_AUTO_TEST_CASE(inputs_come_from_anywhere) {
  const Tensor x = tensor({1.0, 2.0}), y = tensor({10.0, 20.0}), captured = tensor({100.0, 200.0});
  const Function swapped = trace([](const Tensor& a, const Tensor& b) { return b - a; }, {kVector, kVector});
  const Function twice = trace([](const Tensor& a) { return a * a; }, {kVector});
  const Function one_of_two = trace([](const Tensor&, const Tensor& b) { return tanh(b); }, {kVector, kVector});
  const Function constant = trace([](const Tensor& a) { return 3.0 - a; }, {kVector});
  const Function outside = trace([&](const Tensor& a) { return captured - a; }, {kVector});
  for (int i = 0; i < 3; ++i) {
    expect_near(swapped(x, y), {2}, {9, 18});
    expect_near(twice(y), {2}, {100, 400});
    expect_near(one_of_two(x, x), {2}, {std::tanh(1.0), std::tanh(2.0)});
    expect_near(constant(x), {2}, {2, 1});
    expect_near(outside(y), {2}, {90, 180});
  }
}

// The loss of even scores on two classes is log(2), and its gradient the half less the label.
BOOST_AUTO_TEST_CASE(several_outputs_in_any_order) {
  const std::vector<TensorSpec> specs = {TensorSpec(kFloat64, {1, 2}), TensorSpec(kFloat64, {1, 2})};
  const auto loss = [](const Tensor& scores, const Tensor& labels) {
    const auto [loss, gradient] = softmax_cross_entropy_and_backprop(scores, labels);
    return std::pair(loss, gradient);
  };
  const Function both = trace(loss, specs);
  const Function reversed = trace(
      [&](const Tensor& scores, const Tensor& labels) {
        const auto [first, second] = loss(scores, labels);
        return std::pair(second, first);
      },
      specs);
  const Tensor arguments[] = {tensor({{3.0, 3.0}}), tensor({{1.0, 0.0}})};
  for (int i = 0; i < 2; ++i) {
    const std::vector<Tensor> forth = both.call(arguments), back = reversed.call(arguments);
    expect_near(forth[0], {1}, {std::log(2.0)});
    expect_near(forth[1], {1, 2}, {-0.5, 0.5});
    expect_near(back[0], {1, 2}, {-0.5, 0.5});
    expect_near(back[1], {1}, {std::log(2.0)});
  }
}

// Before anything runs: an effect must not happen in a call that gives no result.
BOOST_AUTO_TEST_CASE(too_many_outputs_are_found_before_the_run) {
  const Variable count(tensor(1.0), "count");
  const Function f = trace(
      [&](const Tensor& a) {
        count.assign_add(tensor(1.0));
        return std::pair(a, a);
      },
      {kVector});
  expect_error_begins([&] { f(tensor({1.0})); },
                      "FailedPrecondition: function: expected one with at most one output, got 2 (use call)");
  expect_near(count.value(), 1);
}

BOOST_AUTO_TEST_CASE(effects_happen_at_each_call) {
  const Variable count(tensor(1.0), "count");
  const Function f = trace([&](const Tensor& a) { count.assign_add(a); }, {TensorSpec(kFloat64, {}, "a")});
  for (int i = 0; i < 3; ++i) BOOST_TEST(!f(tensor(2.0)).defined());
  expect_near(count.value(), 7);
}

BOOST_AUTO_TEST_CASE(errors_name_the_op_and_the_line_each_time) {
  const TensorSpec number(kInt32, {}, "n");
  const std::source_location here = std::source_location::current();
  const Function f = trace([](const Tensor& a, const Tensor& b) { return floor_div(a, b); }, {number, number});
  const std::string line = std::string(here.file_name()) + ":" + std::to_string(here.line() + 1);
  for (int i = 0; i < 3; ++i) {
    const std::string text = error_text([&] { f(tensor(1), tensor(0)); });
    BOOST_TEST(text.starts_with("InvalidArgument: integer division by zero [in FloorDiv("), text);
    BOOST_TEST(text.find("[at " + line + "]") != std::string::npos, text);
    BOOST_TEST(f(tensor(7), tensor(2)).item<int32_t>() == 3);
  }
  expect_error_begins([&] { f(tensor(1.0), tensor(2)); }, "InvalidArgument: argument 'n': expected int32[], got ");
}

BOOST_AUTO_TEST_CASE(passes_may_change_between_calls) {
  const Function f = trace([](const Tensor& a) { return identity(a) * 1.0; }, {kVector});
  for (const char* passes : {"off", "", "off"}) {
    f.set_optimizer(passes);
    for (int i = 0; i < 2; ++i) expect_near(f(tensor({2.0, 3.0})), {2}, {2, 3});
  }
}

BOOST_AUTO_TEST_CASE(many_threads_at_once) {
  const Function f = trace([](const Tensor& a, const Tensor& b) { return a + b; }, {kVector, kVector});
  std::vector<std::thread> threads;
  std::vector<int> good(4, 0);
  for (size_t t = 0; t < good.size(); ++t) {
    threads.emplace_back([&, t] {
      const auto size = static_cast<int64_t>(1 + t % 2);
      const Tensor x = fill(Shape{size}, static_cast<double>(t)), y = fill(Shape{size}, 0.5);
      for (int i = 0; i < 500; ++i) {
        const std::vector<double> sum = f(x, y).to_vector<double>();
        if (sum == std::vector<double>(static_cast<size_t>(size), static_cast<double>(t) + 0.5)) ++good[t];
      }
    });
  }
  for (auto& t : threads) t.join();
  for (const int n : good) BOOST_TEST(n == 500);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
