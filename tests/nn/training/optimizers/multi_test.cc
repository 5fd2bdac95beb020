// Several optimizers as one. Their numbers are compared with Keras's in reference_test.cc.
#include "panto/nn/training/optimizers/multi.h"

#include <string>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/core/io/npy.h"
#include "panto/nn/layers/layer.h"
#include "panto/nn/training/checkpoints/object_checkpoint.h"
#include "panto/nn/training/loop/fit.h"
#include "panto/nn/training/optimizer.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/near.h"

namespace panto {
namespace {

using Values = std::vector<double>;

void expect_values(const Variable& v, const Values& values) {
  expect_near(v.value(), Shape{static_cast<int64_t>(values.size())}, values, 1e-6, 1);
}

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(multi_optimizer)

BOOST_AUTO_TEST_CASE(variables_by_their_names) {
  const VariableStore store;
  const VariableStoreScope in(store);
  Variable a, b, c;
  {
    const VariableScope encoder("multi_encoder");
    a = get_variable("a", {1}, {.initializer = zeros_initializer()});
    b = get_variable("b", {1}, {.initializer = zeros_initializer()});
  }
  c = get_variable("multi_c", {1}, {.initializer = zeros_initializer()});
  Sgd slow({.learning_rate = 0.5}), fast({.learning_rate = 4}), rest({.learning_rate = 1});
  OptimizerMap map(rest);
  map.add("multi_encoder/.*", slow).add(b.name(), fast);  // a whole name comes before patterns
  MultiOptimizer all({a, b, c}, map);
  BOOST_TEST(all.optimizers().size() == 3U);
  const Tensor one = tensor({1.f});
  all.apply({one, one, one});
  expect_values(a, {-0.5});
  expect_values(b, {-4});
  expect_values(c, {-1});
  all.apply({one, Tensor(), one});  // of some, others stay
  expect_values(b, {-4});
  slow.set_learning_rate(0.25);
  all.apply({one, Tensor(), Tensor()});
  expect_values(a, {-1.25});

  expect_error([&] { map.add("multi_encoder/.*", fast); },
               "InvalidArgument: optimizers: expected each pattern once, got 'multi_encoder/.*' again");
  map.add("multi.*", fast);
  expect_error([&] { map(a); },
               "InvalidArgument: optimizers: expected one pattern that fits 'multi_encoder/a', got 'multi.*' and "
               "'multi_encoder/.*'");
}

BOOST_AUTO_TEST_CASE(rates_are_each_optimizers_own) {
  const Variable v(tensor({1.f}), "v");
  Sgd sgd({.learning_rate = 0.5});
  MultiOptimizer all({v}, OptimizerMap(sgd));
  const std::string what =
      ": expected an optimizer with one rate, got a MultiOptimizer, whose optimizers() have each their own";
  expect_error([&] { all.learning_rate(); }, "FailedPrecondition: learning_rate" + what);
  expect_error([&] { all.set_learning_rate(1); }, "FailedPrecondition: set_learning_rate" + what);
  BOOST_TEST(all.optimizers()[0]->learning_rate() == 0.5);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_one_of_several) {
  const Variable v(tensor({1.f}), "v"), w(tensor({1.f}), "w");
  Sgd taken({v}, {.learning_rate = 1}), free({.learning_rate = 1});
  expect_error([&] { MultiOptimizer({v}, OptimizerMap(taken)); },
               "InvalidArgument: optimizers: expected some that are made without variables, got one that has some");
  MultiOptimizer inner({w}, OptimizerMap(free));
  expect_error([&] { MultiOptimizer({v}, OptimizerMap(inner)); },
               "InvalidArgument: optimizers: expected optimizers of variables, got a MultiOptimizer");
  expect_error_begins([&] { MultiOptimizer(std::vector<Variable>(), OptimizerMap(free)); },
                      "InvalidArgument: variables: expected at least one to train");
  expect_error_begins([&] { inner.apply({tensor({1.f, 2.f})}); }, "InvalidArgument: ");
}

// A table's rows, some of which are looked up twice: each optimizer does with them as it does by itself.
BOOST_AUTO_TEST_CASE(rows_stay_rows) {
  const Variable table(ones({4, 2}), "table"), alone(ones({4, 2}), "alone");
  Sgd inner({.learning_rate = 1}), reference({alone}, {.learning_rate = 1});
  MultiOptimizer all({table}, OptimizerMap(inner));
  const auto step = [](Optimizer& optimizer, const Variable& v) {
    optimizer.minimize([&] { return sum(square(gather(v, tensor({0, 2, 2})))); });
  };
  for (int k = 0; k < 3; ++k) {
    step(all, table);
    step(reference, alone);
  }
  expect_near(table.value(), {4, 2}, values_of(alone.value()), 1e-6, 1);
}

// A run that goes on from a checkpoint ends in the same bits.
BOOST_AUTO_TEST_CASE(saved_and_restored) {
  struct Run {
    Variable a{tensor({1.f, 2.f}), "a"}, b{tensor({{1.f}, {-1.f}}), "b"};
    Adam adam{{.learning_rate = 0.125}};
    Sgd sgd{{.learning_rate = 0.0625, .momentum = 0.5}};
    MultiOptimizer all{{a, b}, [this](const Variable& v) -> Optimizer& {
                         if (v.shape().rank() == 1) return adam;
                         return sgd;
                       }};
    Checkpoint checkpoint{{"a", a}, {"b", b}, {"optimizer", all}};
    void step() {
      all.minimize([&] { return sum(square(matmul(expand_dims(a, 0), b) - 3.f)); });
    }
  };
  const TestFolder folder;
  Run first;
  BOOST_TEST(first.all.slot_names() == (std::vector<std::string>{"m", "v", "momentum"}),
             boost::test_tools::per_element());
  BOOST_TEST((first.all.get_slot(first.a, "m").handle().id() == first.adam.get_slot(first.a, "m").handle().id()));
  for (int k = 0; k < 3; ++k) first.step();
  first.adam.set_learning_rate(0.25);
  const std::string path = first.checkpoint.write(folder / "ckpt");
  for (int k = 0; k < 3; ++k) first.step();

  Run second;
  second.checkpoint.restore(path).assert_consumed();
  BOOST_TEST(second.adam.learning_rate() == 0.25);
  for (int k = 0; k < 3; ++k) second.step();
  BOOST_TEST((first.a.value().to_vector<float>() == second.a.value().to_vector<float>()));
  BOOST_TEST((first.b.value().to_vector<float>() == second.b.value().to_vector<float>()));
}

BOOST_AUTO_TEST_CASE(in_fit) {
  set_seed(1);
  const Sequential model(Dense(2, 8, {.activation = tanh}), Dense(8, 1));
  Adam body({.learning_rate = 0.02});
  Sgd head({.learning_rate = 0.02});
  const std::vector<Variable> variables = model.variables();
  MultiOptimizer both(variables, OptimizerMap(head).add(variables[0].name(), body).add(variables[1].name(), body));
  BOOST_TEST(body.variables().size() == 2U);
  BOOST_TEST(head.variables().size() == 2U);
  const Tensor x = random_normal({64, 2});
  const History history = fit(model, {x, sum(x, 1, true)},
                              {.epochs = 20, .loss = mean_squared_error, .optimizer = both, .progress = false});
  BOOST_TEST(history.not_traced.empty());
  BOOST_TEST(history["loss"].back() < 0.3 * history["loss"].front());
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
