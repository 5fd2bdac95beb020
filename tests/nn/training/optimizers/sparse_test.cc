// Optimizers by gradients that are rows of a table: against TensorFlow 1, eagerly, traced, and in a graph.
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/reductions.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/training/clipping.h"
#include "panto/nn/training/optimizer.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/tests/nn/training/training_reference.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

struct NamedOptimizer {
  std::string name;
  bool rows_only;
  std::function<std::unique_ptr<Optimizer>(const Variable&)> make;
};

template <class O, class Options>
NamedOptimizer row(std::string name, Options options, bool rows_only = true) {
  return {std::move(name), rows_only,
          [options](const Variable& v) { return std::make_unique<O>(std::vector{v}, options); }};
}

std::vector<NamedOptimizer> optimizers() {
  return {
      row<Sgd, SgdOptions>("sgd", {.learning_rate = 1. / 16}),
      // As long as the rate stays the two kinds of momentum are the same.
      row<Sgd, SgdOptions>("momentum", {.learning_rate = 1. / 32, .momentum = 0.875}),
      row<Sgd, SgdOptions>("nesterov", {.learning_rate = 1. / 32, .momentum = 0.875, .nesterov = true}),
      row<Momentum, MomentumOptions>("momentum", {.learning_rate = 1. / 32, .momentum = 0.875}),
      row<Momentum, MomentumOptions>("nesterov", {.learning_rate = 1. / 32, .momentum = 0.875, .nesterov = true}),
      row<ProximalGradientDescent, ProximalGradientDescentOptions>("proximal",
                                                                   {.learning_rate = 1. / 32, .l1 = 0.125, .l2 = 0.25}),
      row<Adagrad, AdagradOptions>("adagrad", {.learning_rate = 0.125, .initial_accumulator = 0.25, .epsilon = 0}),
      row<AdagradDA, AdagradDAOptions>(
          "adagrad_da",
          {.learning_rate = 0.125, .initial_gradient_squared_accumulator = 0.25, .l1 = 0.03125, .l2 = 0.0625}),
      row<ProximalAdagrad, ProximalAdagradOptions>(
          "proximal_adagrad", {.learning_rate = 0.125, .initial_accumulator = 0.25, .l1 = 0.125, .l2 = 0.0625}),
      row<Adadelta, AdadeltaOptions>("adadelta", {.learning_rate = 0.5, .rho = 0.9375, .epsilon = std::ldexp(1, -10)}),
      row<RMSprop, RMSpropOptions>("rmsprop",
                                   {.learning_rate = 1. / 64, .rho = 0.875, .momentum = 0.5, .epsilon = 1. / 64}),
      row<RMSprop, RMSpropOptions>(
          "rmsprop_centered",
          {.learning_rate = 1. / 256, .rho = 0.875, .momentum = 0.5, .centered = true, .epsilon = 1. / 64}),
      row<Ftrl, FtrlOptions>(
          "ftrl",
          {.learning_rate = 0.25, .initial_accumulator = 0.5, .l1 = 0.125, .l2 = 0.0625, .l2_shrinkage = 0.03125}),
      row<Adam, AdamOptions>(
          "adam", {.learning_rate = 1. / 32, .beta1 = 0.875, .beta2 = 0.9375, .epsilon = std::ldexp(1, -20)}, false),
  };
}

// sin(2 + 1.7 i), as training_cases.wave.
Variable make_table() {
  std::vector<double> values;
  for (int i = 0; i < 16; ++i) values.push_back(std::sin(2 + 1.7 * i));
  return Variable(reshape(tensor(values), {8, 2}), "table");
}

Tensor loss_of(const Tensor& looked_up) { return sum(square(looked_up - 0.5)); }

template <class Train, class Value>
void compare(const std::string& name, const Train& train, const Value& value) {
  const auto steps = optimizer_reference("sparse_steps").to_vector<int64_t>();
  const Tensor ids = optimizer_reference("sparse_ids"), expected = optimizer_reference("sparse/" + name);
  size_t at = 0;
  for (int64_t step = 1; at < steps.size(); ++step) {
    train(ids[(step - 1) % 4]);
    if (step != steps[at]) continue;
    expect_near(value(), {8, 2}, values_of(expected[static_cast<int64_t>(at++)]), 1e-6, 1);
  }
}

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(sparse_optimizers)

BOOST_AUTO_TEST_CASE(as_tensorflow_1) {
  for (const bool traced : {false, true}) {
    for (const NamedOptimizer& o : optimizers()) {
      BOOST_TEST_CONTEXT(o.name) {
        const Variable table = make_table();
        const auto optimizer = o.make(table);
        const auto step = [&](const Tensor& ids) {
          GradientTape tape;
          const Tensor y = loss_of(gather(table, ids, 0));
          optimizer->apply(tape.sparse_gradient(y, optimizer->variables()));
          return y;
        };
        const Function function = trace(step, {TensorSpec(kInt64, {-1})});
        compare(o.name, [&](const Tensor& ids) { traced ? function(ids) : step(ids); }, [&] { return table.value(); });
      }
    }
  }
}

// Gradients of looked-up rows are rows in a graph, too.
BOOST_AUTO_TEST_CASE(as_tensorflow_1_in_a_graph) {
  for (const NamedOptimizer& o : optimizers()) {
    BOOST_TEST_CONTEXT(o.name) {
      Graph graph;
      std::optional<GraphScope> building(std::in_place, graph);
      const Variable table = make_table();
      const auto optimizer = o.make(table);
      const Tensor ids = placeholder(kInt64, {-1}, "ids");
      const Operation train = optimizer->minimize(loss_of(gather(table, ids, 0)));
      const Operation init = global_variables_initializer();
      building.reset();
      Session session(graph);
      session.run(init);
      compare(o.name, [&](const Tensor& now) { session.run(train, {{ids, now}}); }, [&] { return session.run(table); });
    }
  }
}

// Of ids [0, 201, 201, 301] rows 0, 201 and 301, and what is kept of them; the second by the sum of its gradients.
BOOST_AUTO_TEST_CASE(rows_that_are_not_looked_up_stay) {
  for (const NamedOptimizer& o : optimizers()) {
    BOOST_TEST_CONTEXT(o.name) {
      const Variable table(full({302, 2}, 1.0), "table"), once(full({302, 2}, 1.0), "once");
      const auto by_rows = o.make(table), summed = o.make(once);
      const Tensor rows = tensor({{0.5, 1.0}, {0.25, -0.5}, {0.5, 0.75}, {-1.0, 2.0}});
      const Tensor three = tensor({{0.5, 1.0}, {0.75, 0.25}, {-1.0, 2.0}}), size = tensor(302);
      for (int step = 0; step < 2; ++step) {
        by_rows->apply(std::vector<Gradient>{{.indices = tensor({0, 201, 201, 301}), .rows = rows, .num_rows = size}});
        summed->apply(std::vector<Gradient>{{.indices = tensor({0, 201, 301}), .rows = three, .num_rows = size}});
      }
      expect_near(table.value(), {302, 2}, values_of(once.value()), 1e-14);
      std::vector<int64_t> changed;
      for (int64_t i = 0; i < 302; ++i) {
        if (!allclose(table.value()[i], tensor({1.0, 1.0}), 0, 0)) changed.push_back(i);
      }
      BOOST_TEST(changed == (std::vector<int64_t>{0, 201, 301}), boost::test_tools::per_element());
      for (const std::string& name : by_rows->slot_names()) {
        if (!o.rows_only) continue;
        const Tensor slot = by_rows->get_slot(table, name).value();
        BOOST_TEST(allclose(slot[5], slot[200], 0, 0), name);
      }
    }
  }
}

// Where averages decay: after a step of other rows Adam changes those of the one before, as with whole gradients.
BOOST_AUTO_TEST_CASE(others_make_rows_whole) {
  const auto check = [](const auto& make) {
    const Variable sparse = make_table(), whole = make_table();
    const auto by_rows = make(sparse), by_whole = make(whole);
    for (int i = 0; i < 3; ++i) {
      const Tensor ids = i == 0 ? tensor({3, 0, 3}) : tensor({1});
      GradientTape tape({.persistent = true});
      const Tensor a = loss_of(gather(sparse, ids, 0)), b = loss_of(gather(whole, ids, 0));
      by_rows->apply(tape.sparse_gradient(a, by_rows->variables()));
      by_whole->apply(tape.gradient(b, by_whole->variables()));
    }
    expect_near(sparse.value(), {8, 2}, values_of(whole.value()), 1e-13);
  };
  check([](const Variable& v) { return std::make_unique<Adam>(std::vector{v}, AdamOptions{.amsgrad = true}); });
  check([](const Variable& v) { return std::make_unique<Adamax>(std::vector{v}); });
  check([](const Variable& v) { return std::make_unique<Nadam>(std::vector{v}); });
  check([](const Variable& v) { return std::make_unique<ScheduleFreeAdamW>(std::vector{v}); });
  check([](const Variable& v) { return std::make_unique<Lion>(std::vector{v}); });
  check([](const Variable& v) { return std::make_unique<Lamb>(std::vector{v}); });
  check([](const Variable& v) { return std::make_unique<Adafactor>(std::vector{v}); });
  check([](const Variable& v) { return std::make_unique<Muon>(std::vector{v}); });
  check([](const Variable& v) { return std::make_unique<AddSign>(std::vector{v}); });
  check([](const Variable& v) { return std::make_unique<PowerSign>(std::vector{v}); });
}

BOOST_AUTO_TEST_CASE(no_rows_at_all) {
  for (const NamedOptimizer& o : optimizers()) {
    BOOST_TEST_CONTEXT(o.name) {
      const Variable table = make_table();
      const auto optimizer = o.make(table);
      const Tensor before = table.value();
      optimizer->apply(std::vector<Gradient>{
          {.indices = zeros({0}, kInt32), .rows = zeros({0, 2}, kFloat64), .num_rows = tensor(8)}});
      expect_near(table.value(), {8, 2}, values_of(before), 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(rows_outside_of_the_table_are_errors) {
  for (const NamedOptimizer& o : optimizers()) {
    for (const int64_t outside : {int64_t{8}, int64_t{-1}, int64_t{1} << 40}) {
      if (outside < 0 && !o.rows_only) continue;
      BOOST_TEST_CONTEXT(o.name) {
        const Variable table = make_table();
        const auto optimizer = o.make(table);
        const std::vector<Gradient> gradients = {
            {.indices = tensor({int64_t{1}, outside}), .rows = ones({2, 2}, kFloat64), .num_rows = tensor(8)}};
        BOOST_TEST(error_text([&] { optimizer->apply(gradients); }).starts_with("InvalidArgument: "));
        expect_near(table.value(), {8, 2}, values_of(make_table().value()), 0);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(clipped_rows_stay_rows) {
  const Gradient g{.indices = tensor({0, 1}), .rows = tensor({{3.0, 0.0}, {0.0, 4.0}}), .num_rows = tensor(8)};
  expect_near(clip_by_norm(g, 1).rows, {2, 2}, {0.6, 0, 0, 0.8});
  expect_near(clip_by_value(g, 0, 3.5).rows, {2, 2}, {3, 0, 0, 3.5});
  BOOST_TEST(!clip_by_norm(Gradient(), 1).defined());
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
