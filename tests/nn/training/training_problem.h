// What optimizers are compared by: two variables that are trained for a hundred steps, as training_cases.py does,
// eagerly, traced, and in a graph made by hand.
#pragma once

#include <boost/test/unit_test.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/training/optimizer.h"
#include "panto/tests/near.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto::training_problem {

using Variables = std::vector<Variable>;
struct NamedOptimizer {
  std::string name;
  std::function<std::unique_ptr<Optimizer>(const Variables&)> make;
};

template <class O, class Options>
NamedOptimizer row(std::string name, Options options) {
  return {std::move(name), [options](const Variables& v) { return std::make_unique<O>(v, options); }};
}

// Those whose rule is one of elements.
inline std::vector<NamedOptimizer> elementwise() {
  return {row<Sgd, SgdOptions>("Sgd", {}),
          row<Sgd, SgdOptions>("Sgd with momentum", {.momentum = 0.5}),
          row<Sgd, SgdOptions>("Sgd of Nesterov", {.momentum = 0.5, .nesterov = true}),
          row<Momentum, MomentumOptions>("Momentum", {}),
          row<Adagrad, AdagradOptions>("Adagrad", {}),
          row<AdagradDA, AdagradDAOptions>("AdagradDA", {}),
          row<Adadelta, AdadeltaOptions>("Adadelta", {}),
          row<RMSprop, RMSpropOptions>("RMSprop", {}),
          row<RMSprop, RMSpropOptions>("RMSprop, centered", {.momentum = 0.5, .centered = true}),
          row<Adam, AdamOptions>("Adam", {}),
          row<Adam, AdamOptions>("AMSGrad", {.amsgrad = true}),
          row<Adamax, AdamaxOptions>("Adamax", {}),
          row<Nadam, NadamOptions>("Nadam", {}),
          row<ScheduleFreeAdamW, ScheduleFreeAdamWOptions>("ScheduleFreeAdamW", {.weight_decay = 0.125}),
          row<Ftrl, FtrlOptions>("Ftrl", {}),
          row<Lion, LionOptions>("Lion", {}),
          row<ProximalGradientDescent, ProximalGradientDescentOptions>("ProximalGradientDescent", {}),
          row<ProximalAdagrad, ProximalAdagradOptions>("ProximalAdagrad", {}),
          row<AddSign, AddSignOptions>("AddSign", {}),
          row<PowerSign, PowerSignOptions>("PowerSign", {})};
}

inline Tensor loss(const Variables& v) {
  const DType type = v[0].dtype();
  const Tensor a = v[0].value(), b = v[1].value();
  const Tensor target = cast(tensor({1.0, -2.0, 0.5}), type), weight = cast(tensor({1.5, 0.25, 4.0}), type);
  return sum(weight * square(a - target)) + sum(square(tanh(b) - 0.5)) * (1.0 + square(a[0]));
}

inline Variables start(DType type) {
  return {Variable(cast(tensor({0.0, 0.5, 1.0}), type), "a"),
          Variable(cast(tensor({{0.5, -1.0}, {2.0, 0.0}}), type), "b")};
}

inline std::vector<Tensor> values(const Variables& variables) {
  std::vector<Tensor> all;
  for (const Variable& v : variables) all.push_back(v.value());
  return all;
}

inline Tensor eager_step(Optimizer& optimizer) {
  GradientTape tape;
  const Tensor y = loss(optimizer.variables());
  optimizer.apply(tape.gradient(y, optimizer.variables()));
  return y;
}

// What is expected after the steps in `steps`, a row for each.
struct Expected {
  Tensor steps, rows;
};

// Calls train() a hundred times and compares what values() gives after the steps that are stored.
template <class Train, class Values>
void compare(const std::string& name, const Expected& expected, const Train& train, const Values& values,
             double tolerance) {
  BOOST_TEST_CONTEXT(name) {
    const auto steps = values_of(expected.steps);
    size_t row = 0;
    for (int step = 1; row < steps.size(); ++step) {
      train();
      if (step != steps[row]) continue;
      std::vector<double> got;
      for (const Tensor& v : values()) {
        for (const double x : values_of(v)) got.push_back(x);
      }
      const Tensor wanted = expected.rows[static_cast<int64_t>(row++)];
      expect_near(tensor(got), wanted.shape(), values_of(wanted), tolerance, 1);
    }
  }
}

// `tolerance`: of the type and the optimizer.
using Tolerance = std::function<double(DType type, const Optimizer& optimizer)>;

inline void compare_eager(const NamedOptimizer& o, DType type, const Expected& expected, const Tolerance& tolerance) {
  const Variables v = start(type);
  const auto optimizer = o.make(v);
  compare(o.name, expected, [&] { eager_step(*optimizer); }, [&] { return values(v); }, tolerance(type, *optimizer));
}

inline void compare_traced(const NamedOptimizer& o, DType type, const Expected& expected, const Tolerance& tolerance) {
  const Variables v = start(type);
  const auto optimizer = o.make(v);
  const Function step = trace([&] { return eager_step(*optimizer); });
  compare(o.name, expected, [&] { step(); }, [&] { return values(v); }, tolerance(type, *optimizer));
}

inline void compare_in_a_graph(const NamedOptimizer& o, DType type, const Expected& expected,
                               const Tolerance& tolerance) {
  Graph graph;
  double within = 0;
  {
    const GraphScope building(graph);
    const Variables v = start(type);
    const auto optimizer = o.make(v);
    within = tolerance(type, *optimizer);
    optimizer->minimize(loss(v), "train");
    named("a_value", v[0].value());
    named("b_value", v[1].value());
    global_variables_initializer("init");
  }
  Session session(graph);
  session.run("init");
  compare(o.name, expected, [&] { session.run("train"); }, [&] { return session.run({"a_value", "b_value"}); }, within);
}

}  // namespace panto::training_problem
