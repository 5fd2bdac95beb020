// Moving averages of variables, and gradients that are accumulated: what they keep and refuse. (Values of TensorFlow
// and Keras: optimizers/reference_test.cc.)
#include "panto/nn/training/moving_average.h"

#include <optional>
#include <string>
#include <vector>

#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/training/gradient_accumulator.h"
#include "panto/nn/training/optimizer.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(moving_averages)

BOOST_AUTO_TEST_CASE(applied_and_swapped) {
  const Variable a(tensor({1.F, 2.F}), "a"), b(tensor(4.0), "b");
  ExponentialMovingAverage average({a, b}, {.decay = 0.75});
  a.assign(tensor({5.F, -2.F}));
  b.assign(tensor(0.0));
  average.apply();
  expect_near(average.average(a).value(), {2}, {2, 1});
  expect_near(average.average(b).value(), 3);
  average.swap();
  expect_near(a.value(), {2}, {2, 1});
  expect_near(average.average(a).value(), {2}, {5, -2});
  const Function swap = trace([&] {
    average.swap();
    return b.value();
  });
  swap();
  expect_near(a.value(), {2}, {5, -2});
  expect_near(b.value(), 0);
  expect_near(average.average(b).value(), 3);
  BOOST_TEST(average.averages()[0].name().starts_with(a.name() + "/ExponentialMovingAverage"));
}

BOOST_AUTO_TEST_CASE(of_variables_that_are_named_later) {
  const Variable a(tensor(1.0), "a"), b(tensor(4.0), "b"), i(tensor(1), "i");
  ExponentialMovingAverage average({.decay = 0.5});
  expect_error_begins([&] { average.apply(); },
                      "FailedPrecondition: apply: expected a moving average of some variables, got one of none");
  average.apply({a});
  a.assign(tensor(3.0));
  average.apply({a, b});
  expect_near(average.average(a).value(), 2);
  expect_near(average.average(b).value(), 4);
  BOOST_TEST(average.variables().size() == 2U);
  expect_error([&] { average.average(i); },
               "InvalidArgument: average: expected a variable that has one, got '" + i.name() + "'");
  expect_error_begins([&] { average.apply({i}); },
                      "InvalidArgument: moving average: expected a floating variable, got '" + i.name() + "' of int32");
  expect_error([&] { ExponentialMovingAverage({.decay = 1.5}); },
               "InvalidArgument: decay: expected a number in [0, 1], got 1.5");
  expect_error_begins([&] { ExponentialMovingAverage({.num_updates = Variable(tensor({1.F, 2.F}), "n")}); },
                      "InvalidArgument: num_updates: expected a scalar number, got float32[2]");
}

BOOST_AUTO_TEST_CASE(swapped_in_a_graph) {
  Graph graph;
  std::optional<GraphScope> building(std::in_place, graph);
  const Variable a(tensor({1.F, 2.F}), "a");
  ExponentialMovingAverage average({.decay = 0.75});
  const Operation change = a.assign(tensor({5.F, -2.F}));
  const Operation follow = average.apply();
  const Operation swap = average.swap();
  BOOST_TEST(trainable_variables().size() == 1U);
  const Operation init = global_variables_initializer();
  building.reset();
  Session session(graph);
  session.run(init);
  session.run(change);
  session.run(follow);
  expect_near(session.run(average.average(a)), {2}, {2, 1});
  session.run(swap);
  expect_near(session.run(a), {2}, {2, 1});
  expect_near(session.run(average.average(a)), {2}, {5, -2});
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE(gradient_accumulators)

BOOST_AUTO_TEST_CASE(sums_and_means) {
  for (const bool mean : {false, true}) {
    const Variable v(tensor({0.0, 0.0}), "v"), table(tensor({{0.0}, {0.0}, {0.0}}), "table");
    Sgd sgd({v, table}, {.learning_rate = 0.5});
    GradientAccumulator accumulator(sgd, {.steps = 2, .mean = mean});
    const double factor = mean ? 0.5 : 1;
    const auto apply = [&](const Tensor& g) {
      accumulator.apply(std::vector<Gradient>{
          {.whole = g}, {.indices = tensor({2, 2}), .rows = tensor({{1.0}, {3.0}}), .num_rows = tensor(3)}});
    };
    apply(tensor({1.0, 2.0}));
    expect_near(v.value(), {2}, {0, 0});
    expect_near(accumulator.slots()[0].value(), {2}, {1, 2});
    expect_near(accumulator.slots()[2].value(), 1);
    apply(tensor({3.0, 4.0}));
    expect_near(v.value(), {2}, {-2 * factor, -3 * factor});
    expect_near(table.value(), {3, 1}, {0, 0, -4 * factor});
    expect_near(accumulator.slots()[0].value(), {2}, {0, 0});
    expect_near(accumulator.slots()[2].value(), 0);
  }
}

BOOST_AUTO_TEST_CASE(variables_without_a_gradient_wait) {
  const Variable v(tensor(0.0), "v"), w(tensor(0.0), "w");
  Sgd sgd({v, w}, {.learning_rate = 1});
  GradientAccumulator accumulator(sgd, {.steps = 2, .mean = false});
  const auto apply = [&](const Tensor& g, const Tensor& h) { accumulator.apply(std::vector<Tensor>{g, h}); };
  apply(tensor(1.0), tensor(1.0));
  apply(tensor(1.0), Tensor());
  expect_near(v.value(), -2);
  expect_near(w.value(), 0);
  apply(tensor(1.0), tensor(1.0));
  apply(tensor(1.0), tensor(1.0));
  expect_near(w.value(), -3);
}

BOOST_AUTO_TEST_CASE(misuse) {
  const Variable v(tensor(0.0), "v");
  Sgd sgd({v}), none({.learning_rate = 1});
  expect_error([&] { GradientAccumulator(sgd, {.steps = 0}); },
               "InvalidArgument: steps of a gradient accumulator: expected at least 1, got 0");
  expect_error_begins([&] { GradientAccumulator(none, {.steps = 2}); },
                      "InvalidArgument: gradient accumulator: expected an optimizer that has variables, got one");
  GradientAccumulator accumulator(sgd, {.steps = 2});
  expect_error_begins([&] { accumulator.apply(std::vector<Tensor>{}); },
                      "InvalidArgument: gradients: expected one for each of 1 variables, got 0");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
