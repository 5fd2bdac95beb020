// Tracing with real values: what was captured is what the function read, whatever its memory was used for afterwards.
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(trace_)
BOOST_AUTO_TEST_SUITE(with_values)

constexpr size_t kLarge = 200;  // beyond the bytes that lie beside a header

Tensor all(double value, size_t count = kLarge) { return tensor(std::vector<double>(count, value)); }

void expect_all(const Tensor& t, double value) {
  expect_near(t, {static_cast<int64_t>(kLarge)}, std::vector<double>(kLarge, value));
}

// The temporary is read by one op, which could write its result into the same memory.
BOOST_AUTO_TEST_CASE(temporaries_are_captured_as_they_were) {
  const Tensor one = all(1);
  const auto add_twice = [](const Tensor& a) { return a + all(3) * 2.0; };
  expect_all(trace_with(add_twice, {one})(one), 7);
  const auto chain = [](const Tensor& a) { return a * sqrt(square(-all(3))); };
  expect_all(trace_with(chain, {one})(one), 3);
  const auto moved = [](const Tensor& a) {
    Tensor t = all(3);
    Tensor u = exp(std::move(t));
    Tensor v = std::move(u) * 2.0;
    return a + std::move(v) - all(1);
  };
  expect_all(trace_with(moved, {one})(one), 2 * std::exp(3.0));
  const auto lists = [](const Tensor& a) { return a + add_n({all(3) * 2.0, all(4), all(5) - 1.0}); };
  expect_all(trace_with(lists, {one})(one), 15);
  const auto views = [](const Tensor& a) { return a + reshape(reshape(all(3), {2, 100}) * 2.0, {200}); };
  expect_all(trace_with(views, {one})(one), 7);
}

// Under a tape too, whose gradient reuses memory when it adds up.
BOOST_AUTO_TEST_CASE(gradients_inside) {
  const auto fn = [](const Tensor& a) {
    GradientTape tape;
    tape.watch(a);
    const Tensor y = a * all(3) + (all(2) - 1.0) * a * a;
    return tape.gradient(y, a);
  };
  const Tensor at = all(5);
  expect_all(trace_with(fn, {at})(at), 13);
  expect_all(trace_with(fn, {at})(all(1)), 5);
}

BOOST_AUTO_TEST_CASE(a_function_inside) {
  const Function inner = trace([](const Tensor& a) { return a + all(3) * 2.0; }, {TensorSpec(kFloat64, {-1})});
  const Function f =
      trace_with([&](const Tensor& a) { return inner(a) + inner(all(1) * 3.0) * (all(1) + 1.0); }, {all(1)});
  expect_all(f(all(1)), 25);
}

BOOST_AUTO_TEST_CASE(a_variable_that_changes_meanwhile) {
  const Variable v(all(1), "v");
  const auto fn = [&](const Tensor& a) {
    const Tensor before = v.value();
    v.assign_add(all(2) * a);
    return before + v.value() + all(3) * 2.0;
  };
  const Function f = trace_with(fn, {all(1)});
  v.assign(all(10));
  expect_all(f(all(1)), 10 + 12 + 6);
}

// In a graph that is open nothing is computed: temporaries become constants with what they held.
BOOST_AUTO_TEST_CASE(temporaries_in_an_open_graph) {
  Graph g;
  {
    GraphScope in(g);
    Tensor a = placeholder(kFloat64, {200}, "a");
    Tensor t = all(3);
    Tensor y = a + std::move(t) * 2.0;
    Tensor z = named("z", std::move(y) * all(2));
  }
  Session s(g);
  expect_all(s.run("z", {{"a", all(1)}}), 14);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
