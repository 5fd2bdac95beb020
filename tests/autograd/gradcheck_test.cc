// gradcheck: passes what is right and tells all about what is not. The wrong gradients are those of ops defined here.
#include "panto/autograd/gradcheck.h"

#include <cmath>

#include "panto/autograd/tape.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/op/kernel.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"

namespace panto {
namespace {

void square_elements(KernelContext& c) {
  for (int64_t i = 0; i < c.numel(0); ++i) c.out_data<double>(0)[i] = c.data<double>(0)[i] * c.data<double>(0)[i];
}

// All of these square their input; names that begin with Test are left out of questions about the library's ops.
const Op& kHalf = define_op("TestHalfGradient(x: T; T: float64) -> (y: T)",
                            {.doc = "x * x; its gradient forgets the factor 2.",
                             .shape = shapes::same_as_input,
                             .saves = {in(0)},
                             .gradient = [](GradContext& g) { g.set(0, g.dy() * g.in(0)); }});
const Op& kOne = define_op("TestOneElement(x: T; T: float64) -> (y: T)",
                           {.doc = "x * x; the last element's gradient is wrong.",
                            .shape = shapes::same_as_input,
                            .saves = {in(0)},
                            .gradient = [](GradContext& g) {
                              const std::vector<int64_t> last(1, g.in(0).numel() - 1);
                              g.set(0, g.dy() * (2.0 * g.in(0) + one_hot(tensor(last), g.in(0).numel(), 0.25, 0.0)(0)));
                            }});
const Op& kFirstOrder =
    define_op("TestFirstOrderOnly(x: T; T: float64) -> (y: T)",
              {.doc = "x * x; its gradient is right, that one's is not.",
               .shape = shapes::same_as_input,
               .saves = {in(0)},
               .gradient = [](GradContext& g) { g.set(0, g.dy() * (g.in(0) + stop_gradient(g.in(0)))); }});
const Op& kNoGradient =
    define_op("TestNoGradient(x: T; T: float64) -> (y: T)",
              {.doc = "x * x, and its block says nothing of a gradient.", .shape = shapes::same_as_input});
const Op& kFailing =
    define_op("TestFailingGradient(x: T; T: float64) -> (y: T)",
              {.doc = "x * x; the gradient multiplies matrices that do not fit.",
               .shape = shapes::same_as_input,
               .saves = {in(0)},
               .gradient = [](GradContext& g) { g.set(0, matmul(g.in(0), tensor({{1.0, 2.0, 3.0}}))); }});
const KernelEntry kernels[] = {
    {"TestHalfGradient", "CPU", kFloat64, {square_elements}},    {"TestOneElement", "CPU", kFloat64, {square_elements}},
    {"TestFirstOrderOnly", "CPU", kFloat64, {square_elements}},  {"TestNoGradient", "CPU", kFloat64, {square_elements}},
    {"TestFailingGradient", "CPU", kFloat64, {square_elements}},
};

GradcheckFunction calling(const Op& op) {
  return [&op](std::span<const Tensor> x) {
    const Tensor* inputs[] = {&x[0]};
    return std::move(dispatch::call(op, inputs, {})[0]);
  };
}

Tensor call(const Op& op, const Tensor& x) { return calling(op)({&x, 1}); }

BOOST_AUTO_TEST_SUITE(gradients_checked)

BOOST_AUTO_TEST_CASE(right_ones_pass) {
  const Tensor x = tensor({{0.3, -1.2}, {2.0, 0.7}}), w = tensor({{1.5}, {-0.4}});
  const auto f = [](std::span<const Tensor> in) { return tanh(matmul(in[0], in[1])) * exp(in[1]); };
  const Tensor inputs[] = {x, w};
  const GradcheckResult first = gradcheck(f, inputs);
  BOOST_TEST(first.ok, first.report);
  BOOST_TEST(first.report.empty());
  BOOST_TEST(first.worst < 1e-5);
  const GradcheckResult second = gradcheck_second_order(f, inputs);
  BOOST_TEST(second.ok, second.report);
}

BOOST_AUTO_TEST_CASE(a_wrong_one_is_told_in_full) {
  const Tensor inputs[] = {tensor({1.0, -3.0})};
  const GradcheckResult r = gradcheck(calling(kHalf), inputs);
  BOOST_TEST(!r.ok);
  BOOST_TEST(std::fabs(r.worst - (3 - 6e-3)) < 1e-6);
  BOOST_TEST(r.report.starts_with("input 0: d y[1] / d x[1]: expected -6"), r.report);
  BOOST_TEST(r.report.find(" (central differences), got -3 (tape)\nnumeric Jacobian:\n") != std::string::npos,
             r.report);
  BOOST_TEST(r.report.find("tape's Jacobian:\n[[ 1. -0.]\n [ 0. -3.]]\n") != std::string::npos, r.report);
}

BOOST_AUTO_TEST_CASE(one_wrong_element_is_found) {
  const Tensor inputs[] = {tensor({1.0, 2.0, 3.0, 4.0})};
  const GradcheckResult r = gradcheck(calling(kOne), inputs);
  BOOST_TEST(!r.ok);
  BOOST_TEST(r.report.starts_with("input 0: d y[3] / d x[3]: expected 8"), r.report);
  BOOST_TEST(r.report.find("got 8.25 (tape)") != std::string::npos, r.report);
}

BOOST_AUTO_TEST_CASE(a_wrong_second_order_is_found) {
  const Tensor inputs[] = {tensor({1.0, 2.0})};
  BOOST_TEST(gradcheck(calling(kFirstOrder), inputs).ok);
  const GradcheckResult r = gradcheck_second_order(calling(kFirstOrder), inputs);
  BOOST_TEST(!r.ok);
  BOOST_TEST(r.report.starts_with("gradient with respect to input 0:\ninput 0: d y["), r.report);
}

BOOST_AUTO_TEST_CASE(a_missing_dependence_is_found) {
  const Tensor inputs[] = {tensor({1.0, 2.0}), tensor({3.0, 4.0})};
  const GradcheckResult r = gradcheck([](std::span<const Tensor> x) { return x[0] * stop_gradient(x[1]); }, inputs);
  BOOST_TEST(!r.ok);
  BOOST_TEST(r.report.starts_with("input 1: d y["), r.report);
}

BOOST_AUTO_TEST_CASE(a_nan_is_never_right) {
  const Tensor inputs[] = {tensor({0.0, 1.0})};
  const GradcheckResult r = gradcheck([](std::span<const Tensor> x) { return x[0] * log(x[0]) * 1.0; }, inputs);
  BOOST_TEST(!r.ok);
}

BOOST_AUTO_TEST_CASE(integers_are_held_fixed) {
  const Tensor inputs[] = {tensor({{1.0, 2.0}, {3.0, 4.0}}), tensor({1, 1, 0})};
  const GradcheckResult r = gradcheck([](std::span<const Tensor> x) { return square(gather(x[0], x[1], 0)); }, inputs);
  BOOST_TEST(r.ok, r.report);
}

BOOST_AUTO_TEST_CASE(one_tensor_may_be_given_twice) {
  const Tensor x = tensor({1.0, 2.0});
  const Tensor inputs[] = {x, x};
  const auto f = [](std::span<const Tensor> in) { return in[0] * in[0] * in[1]; };
  const GradcheckResult first = gradcheck(f, inputs);
  BOOST_TEST(first.ok, first.report);
  const GradcheckResult second = gradcheck_second_order(f, inputs);
  BOOST_TEST(second.ok, second.report);
}

BOOST_AUTO_TEST_CASE(empty_inputs_and_outputs) {
  const Tensor inputs[] = {tensor(std::vector<double>{}, Shape{0, 2}), tensor(2.0)};
  const auto f = [](std::span<const Tensor> x) { return square(x[0]) * x[1]; };
  BOOST_TEST(gradcheck(f, inputs).ok);
  BOOST_TEST(gradcheck_second_order(f, inputs).ok);
}

BOOST_AUTO_TEST_CASE(misuse) {
  const auto f = [](std::span<const Tensor> x) { return x[0] * 2.F; };
  const Tensor floats[] = {tensor({1.F})};
  expect_error([&] { gradcheck(f, floats); },
               "InvalidArgument: gradcheck: expected at least one float64 input, got none");
  const Tensor doubles[] = {tensor({1.0})};
  expect_error([&] { gradcheck([](std::span<const Tensor> x) { return cast(x[0], kFloat32); }, doubles); },
               "InvalidArgument: gradcheck: expected a float64 output, got float32");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(tape)

BOOST_AUTO_TEST_CASE(an_op_without_a_gradient_is_named) {
  const Tensor x = tensor({{1.0, 2.0}});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = call(kNoGradient, x);
  expect_error_begins([&] { tape.gradient(y, x); },
                      "Unimplemented: gradient of TestNoGradient: expected its block to have one, got none [at ");
  // It matters only where a gradient has to flow through it.
  const Tensor z = stop_gradient(y) + x;
  expect_near(tape.gradient(z, x), {1, 2}, {1, 1});
}

BOOST_AUTO_TEST_CASE(errors_in_gradients_name_the_op_and_the_users_line) {
  const Tensor x = tensor({{1.0, 2.0}});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = call(kFailing, x);
  const std::source_location here = std::source_location::current();
  const std::string text = error_text([&] { tape.gradient(y, x); });
  BOOST_TEST(text ==
             "InvalidArgument: inner dimensions: expected 2, got 1 [in MatMul(a: float64[1,2], b: float64[1,3])] "
             "[in the gradient of TestFailingGradient] [at " +
                 std::string(here.file_name()) + ":" + std::to_string(here.line() + 1) + "]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
