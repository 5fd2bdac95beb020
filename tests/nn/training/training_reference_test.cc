// Optimizers and schedules against Keras, over 100 steps: eagerly, traced, and in a graph made by hand.
#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>

#include "panto/autograd/tape.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/training/optimizer.h"
#include "panto/tests/near.h"
#include "panto/tests/nn/training/training_reference.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

struct NamedSchedule {
  std::string name;
  Schedule schedule;
};

std::vector<NamedSchedule> schedules() {
  return {{"piecewise", piecewise_constant({10, 30, 50}, {1. / 64, 1. / 128, 1. / 256, 1. / 512})},
          {"exponential", exponential_decay(1. / 64, 30, 0.5)},
          {"staircase", exponential_decay(1. / 64, 30, 0.5, {.staircase = true})},
          {"cosine", cosine_decay(1. / 64, 100, {.alpha = 0.125})},
          {"warmup", cosine_decay(1. / 64, 90, {.warmup_steps = 10, .warmup_from = 1. / 512})}};
}

Schedule schedule(std::string_view name) {
  for (const NamedSchedule& s : schedules()) {
    if (s.name == name) return s.schedule;
  }
  throw std::out_of_range(std::string(name));
}

using Variables = std::vector<Variable>;
struct NamedOptimizer {
  std::string name;
  std::function<std::unique_ptr<Optimizer>(const Variables&)> make;
};

template <class O, class Options>
NamedOptimizer row(std::string name, Options options) {
  return {std::move(name), [options](const Variables& v) { return std::make_unique<O>(v, options); }};
}

std::vector<NamedOptimizer> optimizers() {
  std::vector<NamedOptimizer> rows = {
      row<Sgd, SgdOptions>("sgd", {.learning_rate = 1. / 16}),
      row<Sgd, SgdOptions>("momentum", {.learning_rate = 1. / 64, .momentum = 0.875}),
      row<Sgd, SgdOptions>("nesterov", {.learning_rate = 1. / 64, .momentum = 0.875, .nesterov = true}),
      row<Sgd, SgdOptions>("sgd_decay", {.learning_rate = 1. / 64, .momentum = 0.875, .weight_decay = 0.125}),
      row<Adam, AdamOptions>(
          "adam", {.learning_rate = 1. / 64, .beta1 = 0.875, .beta2 = 0.9375, .epsilon = std::ldexp(1, -20)}),
      row<Adam, AdamOptions>("adam_defaults", {}),
      row<AdamW, AdamWOptions>("adamw", {.learning_rate = 1. / 64,
                                         .weight_decay = 0.125,
                                         .beta1 = 0.75,
                                         .beta2 = 0.96875,
                                         .epsilon = std::ldexp(1, -12)}),
      row<RMSprop, RMSpropOptions>("rmsprop", {.learning_rate = 1. / 128, .rho = 0.9375, .epsilon = 1. / 64}),
      row<RMSprop, RMSpropOptions>("rmsprop_defaults", {}),
      row<RMSprop, RMSpropOptions>("rmsprop_momentum", {.learning_rate = 1. / 256,
                                                        .rho = 0.96875,
                                                        .momentum = 0.5,
                                                        .epsilon = std::ldexp(1, -10),
                                                        .weight_decay = 0.125}),
      row<RMSprop, RMSpropOptions>(
          "rmsprop_centered",
          {.learning_rate = 1. / 1024, .rho = 0.875, .momentum = 0.5, .centered = true, .epsilon = 1. / 64}),
      row<Adagrad, AdagradOptions>("adagrad", {.learning_rate = 0.125, .initial_accumulator = 0.25, .epsilon = 0}),
      row<Adagrad, AdagradOptions>("adagrad_defaults", {}),
      row<Adam, AdamOptions>(
          "adam_warmup",
          {.learning_rate = schedule("warmup"), .beta1 = 0.875, .beta2 = 0.9375, .epsilon = std::ldexp(1, -20)}),
      row<AdamW, AdamWOptions>("adamw_cosine", {.learning_rate = schedule("cosine"),
                                                .weight_decay = 0.125,
                                                .beta1 = 0.875,
                                                .beta2 = 0.9375,
                                                .epsilon = std::ldexp(1, -20)}),
  };
  for (const NamedSchedule& s : schedules()) {
    rows.push_back(row<Sgd, SgdOptions>("momentum_" + s.name, {.learning_rate = s.schedule, .momentum = 0.875}));
  }
  return rows;
}

Tensor loss(const Variables& v) {
  const DType type = v[0].dtype();
  const Tensor a = v[0].value(), b = v[1].value();
  const Tensor target = cast(tensor({1.0, -2.0, 0.5}), type), weight = cast(tensor({1.5, 0.25, 4.0}), type);
  return sum(weight * square(a - target)) + sum(square(tanh(b) - 0.5)) * (1.0 + square(a[0]));
}

Variables start(DType type) {
  return {Variable(cast(tensor({0.0, 0.5, 1.0}), type), "a"),
          Variable(cast(tensor({{0.5, -1.0}, {2.0, 0.0}}), type), "b")};
}

Tensor eager_step(Optimizer& optimizer) {
  GradientTape tape;
  const Tensor y = loss(optimizer.variables());
  optimizer.apply(tape.gradient(y, optimizer.variables()));
  return y;
}

// Calls train() a hundred times and compares what values() gives after the steps that are stored.
template <class Train, class Values>
void compare(const std::string& name, const Train& train, const Values& values, double tolerance) {
  BOOST_TEST_CONTEXT(name) {
    const auto steps = values_of(training_reference("steps"));
    const Tensor& rows = training_reference("optimizer/" + name);
    size_t row = 0;
    for (int step = 1; row < steps.size(); ++step) {
      train();
      if (step != steps[row]) continue;
      std::vector<double> got;
      for (const Tensor& v : values()) {
        for (const double x : values_of(v)) got.push_back(x);
      }
      expect_near(tensor(got), {7}, values_of(rows[static_cast<int64_t>(row++)]), tolerance, 1);
    }
  }
}

std::vector<Tensor> values(const Variables& variables) {
  std::vector<Tensor> all;
  for (const Variable& v : variables) all.push_back(v.value());
  return all;
}

// Keras computes schedules in float32, and rounds most options to it.
double tolerance_of(const std::string& name, DType type, const Optimizer& optimizer) {
  if (type == kFloat32 || name.ends_with("_defaults")) return 1e-5;
  const Variables slots = optimizer.slots();
  return !slots.empty() && slots.back().dtype() == kInt64 ? 1e-6 : 1e-12;
}

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(as_keras)

BOOST_AUTO_TEST_CASE(rates) {
  const auto steps = training_reference("rate_steps").to_vector<int64_t>();
  for (const NamedSchedule& s : schedules()) {
    BOOST_TEST_CONTEXT(s.name) {
      std::vector<double> got;
      for (const int64_t step : steps) got.push_back(s.schedule(tensor(step)).item<double>());
      expect_near(tensor(got), Shape{static_cast<int64_t>(steps.size())},
                  values_of(training_reference("schedule/" + s.name)), 1e-6, 1. / 64);
    }
  }
}

BOOST_AUTO_TEST_CASE(eager) {
  for (const NamedOptimizer& o : optimizers()) {
    for (const DType type : {kFloat64, kFloat32}) {
      const Variables v = start(type);
      const auto optimizer = o.make(v);
      compare(
          o.name, [&] { eager_step(*optimizer); }, [&] { return values(v); }, tolerance_of(o.name, type, *optimizer));
    }
  }
}

BOOST_AUTO_TEST_CASE(traced) {
  for (const NamedOptimizer& o : optimizers()) {
    for (const DType type : {kFloat64, kFloat32}) {
      const Variables v = start(type);
      const auto optimizer = o.make(v);
      const Function step = trace([&] { return eager_step(*optimizer); });
      compare(o.name, [&] { step(); }, [&] { return values(v); }, tolerance_of(o.name, type, *optimizer));
    }
  }
}

BOOST_AUTO_TEST_CASE(in_a_graph) {
  for (const NamedOptimizer& o : optimizers()) {
    for (const DType type : {kFloat64, kFloat32}) {
      Graph graph;
      double tolerance = 0;
      {
        const GraphScope building(graph);
        const Variables v = start(type);
        const auto optimizer = o.make(v);
        tolerance = tolerance_of(o.name, type, *optimizer);
        optimizer->minimize(loss(v), "train");
        named("a_value", v[0].value());
        named("b_value", v[1].value());
        global_variables_initializer("init");
      }
      Session session(graph);
      session.run("init");
      compare(o.name, [&] { session.run("train"); }, [&] { return session.run({"a_value", "b_value"}); }, tolerance);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
