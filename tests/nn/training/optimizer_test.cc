// Optimizers against NumPy: five steps down a quadratic, v -> 1.5 (v0 - 1)^2 + 0.25 (v1 + 2)^2 + 5 v2^2.
#include "panto/nn/training/optimizer.h"

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/layers/normalization.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

Tensor height(const Variable& v) {
  return sum(square(v - cast(tensor({1.0, -2.0, 0.0}), v.dtype())) * cast(tensor({1.5, 0.25, 5.0}), v.dtype()));
}

void step(Optimizer& optimizer) {
  GradientTape tape;
  const Tensor y = height(optimizer.variables()[0]);
  optimizer.apply(tape.gradient(y, optimizer.variables()));
}

Variable start(DType type) { return Variable(cast(tensor({0.0, 0.0, 1.0}), type), "v"); }

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(optimizers)

BOOST_AUTO_TEST_CASE(sgd) {
  // v <- t + (1 - rate * curvature)^steps * (v - t).
  for (DType type : {kFloat32, kFloat64}) {
    const Variable v = start(type);
    Sgd descent({v}, {.learning_rate = 0.05});
    for (int i = 0; i < 5; ++i) step(descent);
    expect_near(v.value(), {3}, {1 - std::pow(0.85, 5), -2 + 2 * std::pow(0.975, 5), std::pow(0.5, 5)},
                type == kFloat32 ? 1e-6 : 1e-14);
  }
}

BOOST_AUTO_TEST_CASE(adam) {
  // By NumPy in float64, from algorithm 1 of the paper (its efficient form), rate 0.1.
  const std::vector<double> steps[] = {
      {0.09999989459085576, -0.09999968377323398, 0.9000000316227666},
      {0.19958758948031302, -0.1998329698661897, 0.8004122825258162},
      {0.2984134807861952, -0.29937587454351305, 0.7015863457355402},
      {0.39606063674542086, -0.3984942051247412, 0.6039391499021979},
      {0.4920359881136317, -0.49704316922557823, 0.5079637631869968},
  };
  for (DType type : {kFloat32, kFloat64}) {
    const Variable v = start(type);
    Adam adam({v}, {.learning_rate = 0.1});
    for (const auto& expected : steps) {
      step(adam);
      expect_near(v.value(), {3}, expected, type == kFloat32 ? 5e-6 : 1e-13);
    }
  }
}

std::vector<std::string> names(const std::vector<Variable>& variables) {
  std::vector<std::string> all;
  for (const Variable& v : variables) all.push_back(v.name());
  return all;
}

// Whatever the process has called variables before, a name ends so or with a number behind it.
void expect_names(const Optimizer& optimizer, const std::vector<std::string>& expected) {
  const std::vector<std::string> got = names(optimizer.slots());
  BOOST_REQUIRE_EQUAL(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) BOOST_TEST(got[i].starts_with(expected[i]), got[i] + ": " + expected[i]);
}

BOOST_AUTO_TEST_CASE(slots) {
  const Variable a(tensor({1.F, 2.F}), "a"), b(tensor({{3.F}}), "b");
  const auto& of_a = a.name();
  const auto& of_b = b.name();
  const Adam adam({a, b}, {.beta1 = 0.5, .beta2 = 0.25});
  expect_names(adam,
               {of_a + "/m", of_a + "/v", of_b + "/m", of_b + "/v", "beta1_power", "beta2_power", "learning_rate"});
  const std::vector<Variable> slots = adam.slots();
  expect_near(slots[1].value(), {2}, {0, 0});
  expect_near(slots[2].value(), {1, 1}, {0});
  expect_near(slots[4].value(), 0.5);
  expect_near(slots[5].value(), 0.25);
  expect_near(slots[6].value(), 0.001);
  expect_names(Sgd({a, b}), {"learning_rate"});
  expect_names(Sgd({a, b}, {.learning_rate = exponential_decay(1, 1, 0.5), .momentum = 0.5}),
               {of_a + "/momentum", of_b + "/momentum", "step"});
  expect_names(RMSprop({a}), {of_a + "/ms", of_a + "/mom", "learning_rate"});
  expect_names(RMSprop({a}, {.centered = true}), {of_a + "/ms", of_a + "/mom", of_a + "/mg", "learning_rate"});
  expect_names(Adagrad({a}), {of_a + "/accumulator", "learning_rate"});
  expect_near(Adagrad({a}, {.initial_accumulator = 0.5}).slots()[0].value(), {2}, {0.5, 0.5});
}

// The types of what all variables share: float64 if one of them is, int64 of a step.
BOOST_AUTO_TEST_CASE(variables_of_several_types) {
  const Variable a(tensor({0.F}), "a"), b(tensor({0.0}), "b");
  Adam adam({a, b}, {.learning_rate = 0.125});
  for (const Variable& shared : std::vector<Variable>{adam.slots()[4], adam.slots()[6]}) {
    BOOST_TEST(dtype_name(shared.dtype()) == "float64");
  }
  adam.apply(std::vector<Tensor>{tensor({1.F}), tensor({1.0})});
  for (const Variable& v : adam.variables()) expect_near(v.value(), {1}, {-0.125}, 1e-5);
  const Sgd scheduled({a}, {.learning_rate = exponential_decay(1, 1, 0.5)});
  BOOST_TEST(dtype_name(scheduled.slots()[0].dtype()) == "int64");
}

// What is kept is all that a later run needs.
BOOST_AUTO_TEST_CASE(slots_are_all_that_is_kept) {
  const auto make = [](const Variable& v, int kind) -> std::unique_ptr<Optimizer> {
    const Schedule rate = cosine_decay(0.1, 8, {.warmup_steps = 2});
    switch (kind) {
      case 0: return std::make_unique<Sgd>(std::vector{v}, SgdOptions{.learning_rate = rate, .momentum = 0.9});
      case 1: return std::make_unique<AdamW>(std::vector{v}, AdamWOptions{.learning_rate = rate});
      case 2: return std::make_unique<RMSprop>(std::vector{v}, RMSpropOptions{.learning_rate = rate, .centered = true});
      default: return std::make_unique<Adagrad>(std::vector{v}, AdagradOptions{.learning_rate = rate});
    }
  };
  for (int kind = 0; kind < 4; ++kind) {
    const Variable v = start(kFloat64), again = start(kFloat64);
    const auto first = make(v, kind), second = make(again, kind);
    for (int i = 0; i < 3; ++i) step(*first);
    again.assign(v.value());
    for (size_t i = 0; i < first->slots().size(); ++i) second->slots()[i].assign(first->slots()[i].value());
    for (int i = 0; i < 3; ++i) {
      step(*first);
      step(*second);
    }
    expect_near(again.value(), {3}, values_of(v.value()), 0);
  }
}

BOOST_AUTO_TEST_CASE(the_rate_can_be_changed) {
  const Variable v(tensor(0.0), "v");
  Sgd sgd({v}, {.learning_rate = 0.5});
  const auto step = [&] { sgd.apply(std::vector<Tensor>{tensor(1.0)}); };
  const Function traced = trace([&] {
    step();
    return v.value();
  });
  Graph graph;
  {
    const GraphScope building(graph);
    sgd.minimize(v.value(), "train");
  }
  Session session(graph);
  BOOST_TEST(sgd.learning_rate() == 0.5);
  step();
  traced();
  session.run("train");
  expect_near(v.value(), -1.5);
  sgd.set_learning_rate(0.25);
  BOOST_TEST(sgd.learning_rate() == 0.25);
  step();
  traced();
  session.run("train");
  expect_near(v.value(), -2.25);
  sgd.set_learning_rate(0);
  step();
  expect_near(v.value(), -2.25);
}

BOOST_AUTO_TEST_CASE(a_schedule_follows_the_steps) {
  const Variable v(tensor(0.0), "v");
  Sgd sgd({v}, {.learning_rate = [](const Tensor& step) { return 1.0 / (cast(step, kFloat32) + 1.0); }});
  const auto step = [&] { sgd.apply(std::vector<Tensor>{tensor(1.0)}); };
  const Function traced = trace([&] {
    step();
    return v.value();
  });
  BOOST_TEST(sgd.learning_rate() == 1);
  step();
  BOOST_TEST(sgd.learning_rate() == 0.5);
  expect_near(traced(), -1.5);
  expect_near(traced(), -1.5 - 1. / 3);
  step();
  expect_near(v.value(), -1.75 - 1. / 3);
  BOOST_TEST(sgd.learning_rate() == 0.2, boost::test_tools::tolerance(1e-6));
  expect_error([&] { sgd.set_learning_rate(1); },
               "FailedPrecondition: set_learning_rate: expected an optimizer made with a number, got a schedule");
}

BOOST_AUTO_TEST_CASE(some_variables_do_not_decay) {
  const Variable kernel(tensor(1.0), "kernel"), bias(tensor(1.0), "bias"), still(tensor(1.0), "still");
  AdamW adam({kernel, bias, still}, {.learning_rate = 0.5, .weight_decay = 0.5});
  adam.exclude_from_weight_decay({bias});
  adam.apply(std::vector<Tensor>{tensor(0.0), tensor(0.0), Tensor()});
  expect_near(kernel.value(), 0.75);
  expect_near(bias.value(), 1);
  expect_near(still.value(), 1);
  const Variable other(tensor(1.0), "other");
  expect_error(
      [&] { adam.exclude_from_weight_decay({other}); },
      "InvalidArgument: exclude_from_weight_decay: expected a variable of the optimizer, got '" + other.name() + "'");
}

BOOST_AUTO_TEST_CASE(options_out_of_range) {
  const std::vector<Variable> v = {Variable(tensor(1.0), "v")};
  const double nan = std::nan("");
  const auto expect_invalid = [](const auto& make, const std::string& text) {
    expect_error(make, "InvalidArgument: " + text);
  };
  expect_invalid([&] { Sgd(v, {.learning_rate = -1}); },
                 "learning rate: expected a finite number of at least 0, got -1");
  expect_invalid([&] { Sgd(v).set_learning_rate(nan); },
                 "learning rate: expected a finite number of at least 0, got nan");
  expect_invalid([&] { Sgd(v, {.learning_rate = Schedule::Function()}); },
                 "learning-rate schedule: expected a number or a function of the step, got an empty function");
  expect_invalid([&] { Sgd(v, {.momentum = 1.5}); }, "momentum: expected a number in [0, 1], got 1.5");
  expect_invalid([&] { Sgd(v, {.nesterov = true}); }, "nesterov: expected a momentum above 0, got 0");
  expect_invalid([&] { Sgd(v, {.weight_decay = -0.5}); },
                 "weight_decay: expected a finite number of at least 0, got -0.5");
  expect_invalid([&] { Adam(v, {.beta1 = 1}); }, "beta1: expected a number in [0, 1), got 1");
  expect_invalid([&] { AdamW(v, {.beta2 = nan}); }, "beta2: expected a number in [0, 1), got nan");
  expect_invalid([&] { Adam(v, {.epsilon = -1}); }, "epsilon: expected a finite number of at least 0, got -1");
  expect_invalid([&] { RMSprop(v, {.rho = 1}); }, "rho: expected a number in [0, 1), got 1");
  expect_invalid([&] { Adagrad(v, {.initial_accumulator = -1}); },
                 "initial_accumulator: expected a finite number of at least 0, got -1");
}

// A schedule that gives no rate is found out before anything changes.
BOOST_AUTO_TEST_CASE(schedules_that_give_no_rate) {
  const Variable v(tensor(1.0), "v");
  const auto apply = [&v](const Schedule::Function& f) {
    Sgd sgd({v}, {.learning_rate = f, .weight_decay = 0.5});
    sgd.apply(std::vector<Tensor>{tensor(1.0)});
  };
  const std::string expected = "InvalidArgument: learning-rate schedule: expected a floating scalar, got ";
  expect_error_begins([&] { apply([](const Tensor&) { return Tensor(); }); }, expected + "none");
  expect_error_begins([&] { apply([](const Tensor& step) { return step; }); }, expected + "int64[]");
  expect_error_begins([&] { apply([](const Tensor&) { return tensor({0.5, 0.5}); }); }, expected + "float64[2]");
  expect_near(v.value(), 1);
}

BOOST_AUTO_TEST_CASE(rates_that_are_nodes) {
  Graph graph;
  const GraphScope building(graph);
  const Variable v(tensor(1.0), "v");
  const std::string expected =
      "FailedPrecondition: learning_rate: expected an optimizer made outside of a GraphScope, got one whose rate is a "
      "node";
  expect_error([&] { Sgd({v}, {.learning_rate = exponential_decay(1, 1, 0.5)}).learning_rate(); }, expected);
  expect_error([&] { Sgd({v}, {.learning_rate = placeholder(kFloat32, {})}).learning_rate(); }, expected);
  expect_error([&] { Sgd({.learning_rate = exponential_decay(1, 1, 0.5)}).learning_rate(); }, expected);
  BOOST_TEST(Sgd({v}, {.learning_rate = 0.25}).learning_rate() == 0.25);
}

// As TensorFlow 1's: no variable beside the model's, so that an initializer made before is enough.
BOOST_AUTO_TEST_CASE(a_rate_that_is_a_number_is_a_constant_of_a_graph) {
  Graph graph;
  std::optional<GraphScope> building(std::in_place, graph);
  const Variable w(tensor({1.F, 2.F}), "w"), unused(tensor({1.F}), "unused");
  const Variable count(tensor(int64_t{0}), "count");  // of no type that is trained
  const Operation init = global_variables_initializer();
  Sgd sgd({.learning_rate = 0.5});
  sgd.set_learning_rate(0.25);
  const Operation train = sgd.minimize(sum(square(w)));
  BOOST_TEST(sgd.slots().empty());
  BOOST_TEST(sgd.variables().size() == 2U);
  BOOST_TEST(sgd.learning_rate() == 0.25);
  expect_error_begins(
      [&] { sgd.set_learning_rate(0.125); },
      "FailedPrecondition: set_learning_rate: expected to be called before the graph's steps are built");
  building.reset();
  Session session(graph);
  session.run(init);
  session.run(train);
  expect_near(session.run(w), {2}, {0.5, 1});  // w - 0.25 * 2 w
}

BOOST_AUTO_TEST_CASE(a_rate_that_is_fed_or_assigned) {
  Graph graph;
  std::optional<GraphScope> building(std::in_place, graph);
  const Variable w(tensor({1.F}), "w"), rate(tensor(0.5F), "rate");
  const Operation init = global_variables_initializer();
  const Tensor fed = placeholder(kFloat32, {}, "fed");
  const Operation by_feed = Sgd({w}, {.learning_rate = fed}).minimize(sum(w));
  const Operation by_variable = Sgd({w}, {.learning_rate = rate}).minimize(sum(w));
  building.reset();
  Session session(graph);
  session.run(init);
  session.run(by_feed, {{fed, tensor(0.125F)}});
  expect_near(session.run(w), {1}, {0.875});
  session.run(by_feed, {{fed, tensor(0.25F)}});
  expect_near(session.run(w), {1}, {0.625});
  session.run(by_variable);
  expect_near(session.run(w), {1}, {0.125});

  const Variable v(tensor(0.0), "v"), own(tensor(0.5), "own");
  Sgd sgd({v}, {.learning_rate = own});
  BOOST_TEST(sgd.slots().empty());
  BOOST_TEST(sgd.learning_rate() == 0.5);
  const Function step = trace([&] {
    sgd.apply({tensor(1.0)});
    return v.value();
  });
  expect_near(step(), -0.5);
  own.assign(tensor(0.25));
  expect_near(step(), -0.75);
  BOOST_TEST(Sgd({v}, {.learning_rate = tensor(0.5F)}).learning_rate() == 0.5);
  expect_error_begins([&] { Sgd({v}, {.learning_rate = tensor({1.F, 2.F})}); },
                      "InvalidArgument: learning rate: expected a floating scalar, got float32[2]");
  expect_error_begins([&] { Sgd({v}, {.learning_rate = Variable(tensor(1), "i")}); },
                      "InvalidArgument: learning rate: expected a floating scalar, got int32[]");
}

// Whatever the optimizer: the variables of the graph are those that were made for it, not what optimizers and layers
// keep beside them, and the steps are those of an optimizer that was told.
BOOST_AUTO_TEST_CASE(without_variables_those_of_the_graph_are_trained) {
  using Make = std::function<std::unique_ptr<Optimizer>(std::vector<Variable>)>;
  const auto row = []<class O, class Options>(std::in_place_type_t<O>, const Options& options) -> Make {
    return [options](std::vector<Variable> v) -> std::unique_ptr<Optimizer> {
      return v.empty() ? std::make_unique<O>(options) : std::make_unique<O>(std::move(v), options);
    };
  };
  const Make rows[] = {
      row(std::in_place_type<Sgd>, SgdOptions{.momentum = 0.5}),
      row(std::in_place_type<Adam>, AdamOptions{}),
      row(std::in_place_type<AdamW>, AdamWOptions{.weight_decay = 0.5}),
      row(std::in_place_type<RMSprop>, RMSpropOptions{.centered = true}),
      row(std::in_place_type<Adagrad>, AdagradOptions{.learning_rate = exponential_decay(0.5, 2, 0.5)}),
  };
  for (const Make& make : rows) {
    std::vector<Tensor> ends;
    for (const bool told : {false, true}) {
      Graph graph;
      std::optional<GraphScope> building(std::in_place, graph);
      const Variable a(tensor({1.F, 2.F}), "a"), b(tensor(3.F), "b");
      const BatchNorm norm(1);
      const Adam other({a});
      const auto optimizer =
          make(told ? std::vector{a, b, norm.variables()[0], norm.variables()[1]} : std::vector<Variable>());
      const Operation train = optimizer->minimize(sum(square(a)) * b);
      BOOST_TEST(optimizer->variables().size() == 4U);
      const Operation init = global_variables_initializer();
      building.reset();
      Session session(graph);
      session.run(init);
      for (int i = 0; i < 3; ++i) session.run(train);
      ends.push_back(session.run(a));
      ends.push_back(session.run(b));
    }
    BOOST_TEST(ends[0].to_vector<float>() == ends[2].to_vector<float>(), boost::test_tools::per_element());
    BOOST_TEST(ends[1].item<float>() == ends[3].item<float>());
    BOOST_TEST(ends[1].item<float>() != 3.F);
  }
}

BOOST_AUTO_TEST_CASE(an_optimizer_without_variables) {
  const std::vector<Variable> none;
  expect_error_begins(
      [&] { Sgd(none, {.learning_rate = 0.5}); },
      "InvalidArgument: variables: expected at least one to train, got none (a layer of your own lists");
  expect_error_begins([&] { Adam{none}; }, "InvalidArgument: variables: expected at least one to train, got none");
  Sgd sgd({.learning_rate = 0.5});
  expect_error_begins([&] { sgd.apply({tensor(1.F)}); },
                      "FailedPrecondition: apply: expected an optimizer that was given variables, got one of the "
                      "graph's");
  expect_error_begins([&] { sgd.minimize(tensor(1.F)); }, "FailedPrecondition: graph: expected an open GraphScope");
  Graph graph;
  const GraphScope building(graph);
  const Tensor x = placeholder(kFloat32, {}, "x");
  expect_error_begins([&] { sgd.minimize(square(x)); },
                      "InvalidArgument: minimize: expected variables to train that were made in the graph, got none");
  const Variable w(tensor(1.F), "w");
  sgd.minimize(x * w);
  sgd.minimize(square(w));
  // A variable that was made meanwhile is trained, too.
  const Variable later(tensor(1.F), "later");
  sgd.minimize(x * w * later);
  BOOST_TEST(sgd.variables().size() == 2U);
  Graph other;
  const GraphScope building_another(other);
  const Variable there(tensor(1.F), "there");
  expect_error_begins([&] { sgd.minimize(square(there)); },
                      "InvalidArgument: variables: expected those of the graph of the first call, got others");
}

BOOST_AUTO_TEST_CASE(variables_without_a_gradient_stay) {
  const Variable a(tensor({1.F}), "a"), b(tensor({2.F}), "b");
  Sgd sgd({a, b}, {.learning_rate = 1});
  sgd.apply(std::vector<Tensor>{Tensor(), tensor({0.5F})});
  expect_near(a.value(), {1}, {1});
  expect_near(b.value(), {1}, {1.5});
  Adam adam({a, b});
  adam.apply(std::vector<Tensor>{tensor({0.5F}), Tensor()});
  expect_near(a.value(), {1}, {1 - 0.001});
  expect_near(b.value(), {1}, {1.5});
}

BOOST_AUTO_TEST_CASE(misuse_changes_nothing) {
  const Variable a(tensor({1.F}), "weight"), b(tensor({2.F}), "b");
  Sgd sgd({a, b}, {.learning_rate = 1});
  const auto apply = [&](std::vector<Tensor> grads) { sgd.apply(grads); };
  expect_error_begins([&] { apply({tensor({1.F})}); },
                      "InvalidArgument: gradients: expected one for each of 2 variables, got 1");
  expect_error_begins([&] { apply({tensor({1.F}), tensor({1.F, 2.F})}); },
                      "InvalidArgument: gradient of '" + b.name() + "': expected float32[1], got float32[2]");
  expect_error_begins([&] { apply({tensor({1.F}), tensor({1.0})}); },
                      "InvalidArgument: gradient of '" + b.name() + "': expected float32[1], got float64[1]");
  expect_near(a.value(), {1}, {1});
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
