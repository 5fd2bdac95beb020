// Traced functions with conditionals and loops in them, called in another trace under a tape of that trace: what the
// tape hears are nodes that were made before anybody wanted gradients of them.
#include <fstream>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/control.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/graph/function_text.h"
#include "panto/tests/near.h"
#include "panto/tests/trace/control/functions.h"
#include "panto/tests/within_a_minute.h"
#include "panto/trace/control/control_flow.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

using test::factorial, test::function_ref, test::power, test::root_or_zero;
using Tensors = std::vector<Tensor>;

BOOST_AUTO_TEST_SUITE(trace_)
BOOST_AUTO_TEST_SUITE(traced_in_traces)

// The gradient of f in a trace, by a tape that is opened there.
template <class F>
auto gradient_in_trace(const F& f) {
  return trace([f](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x);
    return tape.gradient(y, x);
  });
}
// The second one: of that of a persistent tape, which hears its own gradients.
template <class F>
auto second_gradient_in_trace(const F& f) {
  return trace([f](const Tensor& x) {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor y = f(x);
    const Tensor dy = tape.gradient(y, x);
    return tape.gradient(dy, x);
  });
}

BOOST_AUTO_TEST_CASE(of_a_conditional) {
  const auto inner = trace(root_or_zero);
  const auto gradient = gradient_in_trace(inner);
  expect_near(gradient(tensor({1.F, 4.F})), {2}, {0.5, 0.25});
  expect_near(gradient(tensor({-1.F, -4.F})), {2}, {0, 0});
  const auto second = second_gradient_in_trace(inner);
  expect_near(second(tensor({1.F, 4.F})), {2}, {-0.25, -0.03125});
  expect_near(second(tensor({-1.F, -4.F})), {2}, {0, 0});
}

BOOST_AUTO_TEST_CASE(of_a_loop) {
  const auto cube = trace([](const Tensor& x) { return power(x, tensor(3)); });
  expect_near(gradient_in_trace(cube)(tensor({2., -1.})), {2}, {12, 3});
  expect_near(second_gradient_in_trace(cube)(tensor({2., -1.})), {2}, {12, -6});
}

// One that was traced under a tape of its own: what it gives is ready for gradients of one order, and two are asked
// for.
BOOST_AUTO_TEST_CASE(of_gradients) {
  const auto gradient = trace([](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = power(x, tensor(4));
    return tape.gradient(y, x);
  });
  expect_near(gradient_in_trace(gradient)(tensor({2., -1.})), {2}, {48, 12});
  expect_near(second_gradient_in_trace(gradient)(tensor({2., -1.})), {2}, {48, -24});
}

BOOST_AUTO_TEST_CASE(of_branches_that_depend_on_nothing) {
  const auto inner = trace([](const Tensor& x) {
    const auto constant = [&] { return zeros_like(x) + 5.0; };
    return cond(greater(x, 0.0), constant, constant);
  });
  const auto gradient = trace([&](const Tensor& x) {
    GradientTape tape({.unconnected_zero = true});
    tape.watch(x);
    const Tensor y = inner(x) * 2.0;
    return tape.gradient(y, x);
  });
  expect_near(gradient(tensor(3.0)), 0);
}

BOOST_AUTO_TEST_CASE(of_what_is_captured) {
  const Variable w(tensor(3.0), "w");
  const auto inner = trace([&](const Tensor& x) {
    return switch_case(cast(x, kInt32), {[&] { return x * w; }, [&] { return x * w * w; }});
  });
  const auto gradient = trace([&](const Tensor& x) {
    GradientTape tape;
    const Tensor y = inner(x);
    return tape.gradient(y, w);
  });
  expect_near(gradient(tensor(0.5)), 0.5);
  expect_near(gradient(tensor(1.5)), 9);
  w.assign(tensor(2.0));
  expect_near(gradient(tensor(1.5)), 6);
}

// The ops themselves, called by hand in a trace.
BOOST_AUTO_TEST_CASE(of_ops_that_call_functions) {
  const OutputInfo scalar{kFloat64, PartialShape(Shape())};
  const FunctionRef square =
      function_ref("square", {scalar}, [](std::span<const Tensor> in) { return Tensors{in[0] * in[0]}; });
  const FunctionRef twice =
      function_ref("twice", {scalar}, [](std::span<const Tensor> in) { return Tensors{in[0] + in[0]}; });
  const auto gradient = trace([&](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    const Tensors y = stateless_if(greater(x, 1.0), Tensors{x}, {kFloat64}, square, twice);
    return tape.gradient(y[0], x);
  });
  expect_near(gradient(tensor(3.0)), 6);
  expect_near(gradient(tensor(0.5)), 2);
}

// One that calls itself has no gradient as a whole: an error, and no wait for its own.
BOOST_AUTO_TEST_CASE(of_a_function_that_calls_itself) {
  within_a_minute([] {
    std::string text = factorial();
    for (const auto& [from, to] : {std::pair("DT_INT32", "DT_FLOAT"), std::pair("int_val", "float_val")}) {
      text = std::regex_replace(text, std::regex(from), to);
    }
    const TestFolder folder;
    std::ofstream(folder / "f.pbtxt") << text;
    const Function f = load(folder / "f.pbtxt", {"n"}, {"y"});
    expect_near(f.call(Tensors{tensor(5.F)})[0], 120);
    const auto in_trace = [&](const Tensor& x) {
      GradientTape tape;
      tape.watch(x);
      const Tensors y = f.call(Tensors{x});
      return tape.gradient(y[0], x);
    };
    expect_error_begins([&] { trace(in_trace, {TensorSpec(kFloat32, {}, "x")}); },
                        "Unimplemented: gradient: expected a function that does not call itself, got one that does");
  });
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
