// Of a function's gradients only what is asked for is computed, and must be possible. Ops are defined here for what the
// library's have not.
#include <cmath>
#include <functional>

#include "panto/autograd/tape.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/op/kernel.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

int counted = 0;  // runs of TestCounted

void copy_elements(KernelContext& c) {
  for (int64_t i = 0; i < c.numel(0); ++i) c.out_data<double>(0)[i] = c.data<double>(0)[i];
}
void multiply_elements(KernelContext& c) {
  for (int64_t i = 0; i < c.numel(0); ++i) c.out_data<double>(0)[i] = c.data<double>(0)[i] * c.data<double>(1)[i];
}
void count_elements(KernelContext& c) {
  ++counted;
  copy_elements(c);
}

const Op& kWithoutKernel =
    define_op("TestWithoutKernel(x: T; T: float64) -> (y: T)",
              {.doc = "x, which nothing computes.", .shape = shapes::same_as_input, .no_gradient = "it is a test's"});
const Op& kNeedsKernel =
    define_op("TestNeedsKernel(x: T; T: float64) -> (y: T)", {.doc = "x; what its gradient is made of has no kernel.",
                                                              .shape = shapes::same_as_input,
                                                              .gradient = [](GradContext& g) {
                                                                const Tensor* dy[] = {&g.dy()};
                                                                g.set(0, dispatch::call(kWithoutKernel, dy, {})[0]);
                                                              }});
const Op& kUngraded =
    define_op("TestUngraded(x: T; T: float64) -> (y: T)",
              {.doc = "x, and its block says nothing of a gradient.", .shape = shapes::same_as_input});
const Op& kCounted =
    define_op("TestCounted(x: T; T: float64) -> (y: T)",
              {.doc = "x; runs are counted.", .shape = shapes::same_as_input, .no_gradient = "it is a test's"});
const Op& kCounting = define_op(
    "TestCounting(x: T; T: float64) -> (y: T)",
    {.doc = "x; its gradient's runs are counted.", .shape = shapes::same_as_input, .gradient = [](GradContext& g) {
       const Tensor* dy[] = {&g.dy()};
       g.set(0, dispatch::call(kCounted, dy, {})[0]);
     }});
const Op& kFirstOnly = define_op("TestFirstOnly(x: T, y: T; T: float64) -> (z: T)",
                                 {.doc = "x * y; there is a gradient with respect to x alone.",
                                  .shape = shapes::same_as_input,
                                  .saves = {in(1)},
                                  .gradient = [](GradContext& g) {
                                    if (g.needs(1)) fail(Code::kUnimplemented, "y: expected no question, got one");
                                    g.set(0, g.dy() * g.in(1));
                                  }});
const Op& kReadsOther = define_op("TestReadsOther(x: T, y: T, same_as_y: T; T: float64) -> (z: T)",
                                  {.doc = "x * y; what its gradient reads depends on what is asked.",
                                   .shape = shapes::same_as_input,
                                   .saves = {in(0), in(1), in(2)},
                                   .gradient = [](GradContext& g) {
                                     const bool both = g.needs(0) && g.needs(1);
                                     if (g.needs(0)) g.set(0, g.dy() * (both ? g.in(1) : g.in(2)));
                                     if (g.needs(1)) g.set(1, g.dy() * g.in(0));
                                   }});
const KernelEntry kernels[] = {
    {"TestNeedsKernel", "CPU", kFloat64, {copy_elements}},   {"TestUngraded", "CPU", kFloat64, {copy_elements}},
    {"TestCounted", "CPU", kFloat64, {count_elements}},      {"TestCounting", "CPU", kFloat64, {copy_elements}},
    {"TestFirstOnly", "CPU", kFloat64, {multiply_elements}}, {"TestReadsOther", "CPU", kFloat64, {multiply_elements}},
};

Tensor call(const Op& op, std::initializer_list<Tensor> inputs) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : inputs) pointers.push_back(&t);
  return dispatch::call(op, pointers, {})[0];
}

const TensorSpec kVector(kFloat64, {-1}, "x");

// What an error says before where it happened.
std::string leaf(const std::function<void()>& body) {
  const std::string text = error_text(body);
  return text.substr(0, text.find(" ["));
}

BOOST_AUTO_TEST_SUITE(trace_)
BOOST_AUTO_TEST_SUITE(partial_gradients)

BOOST_AUTO_TEST_CASE(kernels_are_needed_only_for_what_is_asked) {
  const auto eager = [](const Tensor& a, const Tensor& x) { return call(kNeedsKernel, {a}) * (x + square(x)); };
  const Function f = trace(eager, {kVector, kVector});
  const Tensor a = tensor({4.0, 9.0}), x = tensor({1.0, 2.0});
  for (const bool persistent : {false, true}) {
    GradientTape tape({.persistent = persistent});
    tape.watch(a);
    tape.watch(x);
    expect_near(tape.gradient(f(a, x), x), {2}, {4 + 2 * 4 * 1, 9 + 2 * 9 * 2}, 1e-6);
    GradientTape traced({.persistent = persistent}), plain({.persistent = persistent});
    traced.watch(a);
    plain.watch(a);
    const std::string expected = leaf([&] { plain.gradient(eager(a, x), a); });
    BOOST_TEST(expected.starts_with("Unimplemented: kernel on CPU for float64"));
    BOOST_TEST(leaf([&] { traced.gradient(f(a, x), a); }) == expected);
  }
}

BOOST_AUTO_TEST_CASE(a_missing_gradient_is_missed_when_it_is_asked_for) {
  const auto eager = [](const Tensor& a, const Tensor& b) { return call(kUngraded, {a}) * square(b); };
  const Function f = trace(eager, {kVector, kVector});
  const Tensor a = tensor({3.0}), b = tensor({5.0});
  for (const bool persistent : {false, true}) {
    GradientTape first({.persistent = persistent});
    first.watch(a);
    first.watch(b);
    expect_near(first.gradient(f(a, b), b), {1}, {30});
    GradientTape traced({.persistent = persistent}), plain({.persistent = persistent});
    traced.watch(a);
    plain.watch(a);
    const Tensor y = f(a, b), z = eager(a, b);
    const std::string expected = leaf([&] { plain.gradient(z, a); });
    BOOST_TEST(expected == "Unimplemented: gradient of TestUngraded: expected its block to have one, got none");
    BOOST_TEST(leaf([&] { traced.gradient(y, a); }) == expected);
  }
}

// Nothing else has a gradient there: the call is recorded all the same.
BOOST_AUTO_TEST_CASE(a_function_of_nothing_but_a_missing_gradient) {
  const Function f = trace([](const Tensor& a) { return call(kUngraded, {a}); }, {kVector});
  const Tensor a = tensor({3.0});
  GradientTape tape;
  tape.watch(a);
  const Tensor y = f(a);
  BOOST_TEST(leaf([&] { tape.gradient(y, a); }).starts_with("Unimplemented: gradient of TestUngraded"));
}

BOOST_AUTO_TEST_CASE(a_missing_gradient_with_respect_to_one_input_alone) {
  const Function f =
      trace([](const Tensor& a, const Tensor& b) { return call(kFirstOnly, {sin(a), exp(b)}); }, {kVector, kVector});
  const Tensor a = tensor({0.5}), b = tensor({0.25});
  GradientTape tape({.persistent = true});
  tape.watch(a);
  tape.watch(b);
  const Tensor y = f(a, b);
  expect_near(tape.gradient(y, a), {1}, {std::cos(0.5) * std::exp(0.25)}, 1e-12);
  BOOST_TEST(leaf([&] { tape.gradient(y, b); }) == "Unimplemented: y: expected no question, got one");
  expect_near(tape.gradient(y, a), {1}, {std::cos(0.5) * std::exp(0.25)}, 1e-12);
}

BOOST_AUTO_TEST_CASE(outputs_that_do_not_count_ask_nothing) {
  const Function f =
      trace([](const Tensor& a, const Tensor& b) { return std::vector<Tensor>{call(kUngraded, {a}), a * b, log(b)}; },
            {kVector, kVector});
  const Tensor inputs[] = {tensor({3.0}), tensor({0.0})};
  GradientTape tape({.persistent = true});
  tape.watch(inputs[0]);
  tape.watch(inputs[1]);
  const auto out = f.call(inputs);
  const auto grads = tape.gradient(out[1], {inputs[0], inputs[1]});
  expect_near(grads[0], {1}, {0});
  expect_near(grads[1], {1}, {3});  // not 3 + 0 * (1 / 0)
  BOOST_TEST(!tape.gradient(out[2], inputs[0]).defined());
}

BOOST_AUTO_TEST_CASE(gradients_that_nobody_asked_for_are_not_computed) {
  const Function f =
      trace([](const Tensor& a, const Tensor& b) { return call(kCounting, {a}) * b; }, {kVector, kVector});
  const Tensor a = tensor({3.0}), b = tensor({5.0});
  counted = 0;
  const auto ask = [&](const Tensor& source) {
    GradientTape tape;
    tape.watch(a);
    tape.watch(b);
    return tape.gradient(f(a, b), source);
  };
  expect_near(ask(b), {1}, {3});
  BOOST_TEST(counted == 0);
  expect_near(ask(a), {1}, {5});
  BOOST_TEST(counted == 1);
  expect_near(ask(b), {1}, {3});
  BOOST_TEST(counted == 1);
}

// exp(b), which the gradient by `a` alone reads, is not what both gradients read.
BOOST_AUTO_TEST_CASE(gradients_that_read_other_values_when_less_is_asked) {
  const Function f =
      trace([](const Tensor& a,
               const Tensor& b) { return std::vector<Tensor>{call(kReadsOther, {sin(a), exp(b), exp(b)}), a * 3.0}; },
            {kVector, kVector});
  const Tensor inputs[] = {tensor({0.5}), tensor({0.25})};
  GradientTape tape({.persistent = true});
  tape.watch(inputs[0]);
  tape.watch(inputs[1]);
  const auto out = f.call(inputs);
  expect_near(tape.gradient(out[0], inputs[0]), {1}, {std::cos(0.5) * std::exp(0.25)}, 1e-12);
  const auto both = tape.gradient(out[0], {inputs[0], inputs[1]});
  expect_near(both[0], {1}, {std::cos(0.5) * std::exp(0.25)}, 1e-12);
  expect_near(both[1], {1}, {std::sin(0.5) * std::exp(0.25)}, 1e-12);
}

BOOST_AUTO_TEST_CASE(second_order_of_a_part) {
  const Function f =
      trace([](const Tensor& a, const Tensor& b) { return sin(a * b) + call(kUngraded, {b}); }, {kVector, kVector});
  const Tensor a = tensor({0.5}), b = tensor({3.0});
  GradientTape tape({.persistent = true});
  tape.watch(a);
  tape.watch(b);
  const Tensor da = tape.gradient(f(a, b), a);
  expect_near(da, {1}, {3 * std::cos(1.5)}, 1e-12);
  const auto second = tape.gradient(da, {a, b});
  expect_near(second[0], {1}, {-9 * std::sin(1.5)}, 1e-12);
  expect_near(second[1], {1}, {std::cos(1.5) - 1.5 * std::sin(1.5)}, 1e-12);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
