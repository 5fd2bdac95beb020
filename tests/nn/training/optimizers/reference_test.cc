// Optimizers, schedules and averages against Keras and TensorFlow 1, over 100 steps: eagerly, traced, and in a graph
// made by hand.
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "panto/nn/training/gradient_accumulator.h"
#include "panto/nn/training/moving_average.h"
#include "panto/nn/training/optimizer.h"
#include "panto/tests/near.h"
#include "panto/tests/nn/training/training_problem.h"
#include "panto/tests/nn/training/training_reference.h"

namespace panto {
namespace {

using namespace training_problem;

struct NamedSchedule {
  std::string name;
  Schedule schedule;
};

std::vector<NamedSchedule> schedules() {
  const double rate = 1. / 16, end = 1. / 256;
  return {{"polynomial", polynomial_decay(rate, 50, {.end = end, .power = 2})},
          {"polynomial_cycle", polynomial_decay(rate, 30, {.end = end, .cycle = true})},
          {"inverse_time", inverse_time_decay(rate, 30, 0.5)},
          {"inverse_time_staircase", inverse_time_decay(rate, 30, 0.5, {.staircase = true})},
          {"linear_cosine", linear_cosine_decay(rate, 90, {.periods = 1.5, .alpha = 0.125, .beta = 0.25})},
          {"natural_exp", natural_exp_decay(rate, 30, 0.5)},
          {"natural_exp_staircase", natural_exp_decay(rate, 30, 0.5, {.staircase = true})},
          {"restarts", cosine_decay_restarts(rate, 30, {.t_mul = 2, .m_mul = 0.5, .alpha = 0.125})},
          {"restarts_even", cosine_decay_restarts(rate, 30, {.t_mul = 1, .m_mul = 0.5})}};
}

std::vector<NamedOptimizer> adaptive() {
  const double tiny = std::ldexp(1, -20);
  return {
      row<Adadelta, AdadeltaOptions>("adadelta", {.learning_rate = 0.5, .rho = 0.9375, .epsilon = std::ldexp(1, -10)}),
      row<Adadelta, AdadeltaOptions>("adadelta_defaults", {}),
      row<Adadelta, AdadeltaOptions>("adadelta_decay",
                                     {.learning_rate = 0.125, .rho = 0.875, .epsilon = 1. / 64, .weight_decay = 0.125}),
      row<Adamax, AdamaxOptions>("adamax",
                                 {.learning_rate = 1. / 64, .beta1 = 0.875, .beta2 = 0.9375, .epsilon = tiny}),
      row<Adamax, AdamaxOptions>("adamax_defaults", {}),
      row<Nadam, NadamOptions>("nadam", {.learning_rate = 1. / 64, .beta1 = 0.875, .beta2 = 0.9375, .epsilon = tiny}),
      row<Nadam, NadamOptions>("nadam_defaults", {}),
      row<Adam, AdamOptions>(
          "amsgrad", {.learning_rate = 1. / 16, .beta1 = 0.875, .beta2 = 0.75, .epsilon = tiny, .amsgrad = true}),
      row<AdamW, AdamWOptions>("adamw_amsgrad", {.learning_rate = 1. / 16,
                                                 .weight_decay = 0.125,
                                                 .beta1 = 0.5,
                                                 .beta2 = 0.75,
                                                 .epsilon = std::ldexp(1, -12),
                                                 .amsgrad = true}),
      row<Adam, AdamOptions>(
          "adam_decay",
          {.learning_rate = 1. / 64, .beta1 = 0.875, .beta2 = 0.9375, .epsilon = tiny, .weight_decay = 0.25}),
      row<Ftrl, FtrlOptions>("ftrl", {.learning_rate = 0.125, .initial_accumulator = 0.25}),
      row<Ftrl, FtrlOptions>("ftrl_defaults", {}),
      row<Ftrl, FtrlOptions>("ftrl_regularized", {.learning_rate = 0.25,
                                                  .learning_rate_power = -0.75,
                                                  .initial_accumulator = 0.5,
                                                  .l1 = 0.125,
                                                  .l2 = 0.0625,
                                                  .l2_shrinkage = 0.03125,
                                                  .beta = 0.25}),
      row<AdagradDA, AdagradDAOptions>(
          "adagrad_da",
          {.learning_rate = 0.125, .initial_gradient_squared_accumulator = 0.25, .l1 = 0.03125, .l2 = 0.0625}),
      row<ProximalAdagrad, ProximalAdagradOptions>(
          "proximal_adagrad", {.learning_rate = 0.125, .initial_accumulator = 0.25, .l1 = 0.125, .l2 = 0.0625}),
  };
}

// Adam for the vector, Sgd for the matrix.
std::unique_ptr<Optimizer> several(const Variables& variables) {
  const auto adam = std::make_shared<Adam>(AdamOptions{
      .learning_rate = 1. / 64, .beta1 = 0.875, .beta2 = 0.9375, .epsilon = std::ldexp(1, -20), .weight_decay = 0.25});
  const auto sgd = std::make_shared<Sgd>(SgdOptions{.learning_rate = schedules()[0].schedule, .momentum = 0.5});
  return std::make_unique<MultiOptimizer>(variables, [adam, sgd](const Variable& v) -> Optimizer& {
    if (v.shape().rank() == 1) return *adam;
    return *sgd;
  });
}

std::vector<NamedOptimizer> others() {
  const double tiny = std::ldexp(1, -20);
  const Schedule fading = polynomial_decay(1, 64, {.end = 0});
  return {
      row<Lion, LionOptions>("lion", {.learning_rate = 1. / 512, .beta1 = 0.875, .beta2 = 0.9375}),
      row<Lion, LionOptions>("lion_decay",
                             {.learning_rate = 1. / 256, .beta1 = 0.5, .beta2 = 0.75, .weight_decay = 0.5}),
      row<Lamb, LambOptions>(
          "lamb", {.learning_rate = 1. / 128, .beta1 = 0.875, .beta2 = 0.9375, .epsilon = std::ldexp(1, -12)}),
      row<Lamb, LambOptions>("lamb_decay", {.learning_rate = 1. / 128,
                                            .beta1 = 0.75,
                                            .beta2 = 0.96875,
                                            .epsilon = std::ldexp(1, -12),
                                            .weight_decay = 0.125}),
      row<Adafactor, AdafactorOptions>(
          "adafactor", {.learning_rate = 1. / 32, .beta2_decay = -0.75, .epsilon1 = 1. / 16, .epsilon2 = 1. / 256}),
      row<Adafactor, AdafactorOptions>(
          "adafactor_clipped",
          {.learning_rate = 0.25, .beta2_decay = -0.5, .epsilon1 = 0.125, .epsilon2 = 1. / 16, .clip_threshold = 0.5}),
      row<Muon, MuonOptions>(
          "muon",
          {.learning_rate = 1. / 64, .momentum = 0.875, .adam_beta1 = 0.875, .adam_beta2 = 0.9375, .epsilon = tiny}),
      row<Muon, MuonOptions>("muon_plain", {.learning_rate = 1. / 64,
                                            .momentum = 0.5,
                                            .nesterov = false,
                                            .steps = 3,
                                            .rms_rate = std::nullopt,
                                            .weight_decay = 0.25,
                                            .adam_beta1 = 0.875,
                                            .adam_beta2 = 0.9375,
                                            .epsilon = tiny,
                                            .adam_rate_ratio = 0.5}),
      row<ScheduleFreeAdamW, ScheduleFreeAdamWOptions>("schedule_free", {.learning_rate = 1. / 16,
                                                                         .beta1 = 0.875,
                                                                         .beta2 = 0.9375,
                                                                         .epsilon = 0.125,
                                                                         .warmup_steps = 8,
                                                                         .weight_decay = 0.125}),
      row<Momentum, MomentumOptions>("tf1_momentum", {.learning_rate = 1. / 64, .momentum = 0.875}),
      row<Momentum, MomentumOptions>("tf1_nesterov", {.learning_rate = 1. / 64, .momentum = 0.875, .nesterov = true}),
      row<ProximalGradientDescent, ProximalGradientDescentOptions>("proximal",
                                                                   {.learning_rate = 1. / 32, .l1 = 0.125, .l2 = 0.25}),
      row<AddSign, AddSignOptions>("add_sign", {.learning_rate = 1. / 64, .beta = 0.875, .sign_decay = fading}),
      row<PowerSign, PowerSignOptions>("power_sign",
                                       {.learning_rate = 1. / 64, .base = 2, .beta = 0.875, .sign_decay = fading}),
      row<Sgd, SgdOptions>("sgd_polynomial", {.learning_rate = schedules()[0].schedule}),
      row<Sgd, SgdOptions>("sgd_restarts", {.learning_rate = schedules()[7].schedule, .momentum = 0.5}),
      {"multi", several},
  };
}

// Keras rounds most options, and what schedules compute, to float32.
double tolerance_of(const std::string& name, DType type) {
  return type == kFloat32 ? 2e-5 : 1e-6 * (name.ends_with("_defaults") ? 2 : 1);
}

template <class Compare>
void compare_all(const std::vector<NamedOptimizer>& optimizers, const Compare& compare) {
  for (const NamedOptimizer& o : optimizers) {
    const Expected expected{optimizer_reference("steps"), optimizer_reference("optimizer/" + o.name)};
    for (const DType type : {kFloat64, kFloat32}) {
      compare(o, type, expected, [&](DType t, const Optimizer&) { return tolerance_of(o.name, t); });
    }
  }
}

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(all_optimizers)

BOOST_AUTO_TEST_CASE(adaptive_eager) { compare_all(adaptive(), compare_eager); }
BOOST_AUTO_TEST_CASE(adaptive_traced) { compare_all(adaptive(), compare_traced); }
BOOST_AUTO_TEST_CASE(adaptive_in_a_graph) { compare_all(adaptive(), compare_in_a_graph); }
BOOST_AUTO_TEST_CASE(others_eager) { compare_all(others(), compare_eager); }
BOOST_AUTO_TEST_CASE(others_traced) { compare_all(others(), compare_traced); }
BOOST_AUTO_TEST_CASE(others_in_a_graph) { compare_all(others(), compare_in_a_graph); }

BOOST_AUTO_TEST_CASE(rates) {
  const auto steps = optimizer_reference("rate_steps").to_vector<int64_t>();
  for (const NamedSchedule& s : schedules()) {
    BOOST_TEST_CONTEXT(s.name) {
      std::vector<double> got;
      for (const int64_t step : steps) got.push_back(s.schedule(tensor(step)).item<double>());
      expect_near(tensor(got), Shape{static_cast<int64_t>(steps.size())},
                  values_of(optimizer_reference("schedule/" + s.name)), 1e-6, 1. / 16);
    }
  }
}

// ---- Several gradients as one ---------------------------------------------------------------------------------------

struct Accumulated {
  NamedOptimizer optimizer;
  int64_t steps;
};

std::vector<Accumulated> accumulated() {
  return {{row<Sgd, SgdOptions>("sgd", {.learning_rate = 1. / 16, .momentum = 0.5}), 4},
          {row<Adam, AdamOptions>(
               "adam", {.learning_rate = 1. / 16, .beta1 = 0.875, .beta2 = 0.9375, .epsilon = std::ldexp(1, -20)}),
           3}};
}

Expected expected_of(const Accumulated& a) {
  return {optimizer_reference("steps"), optimizer_reference("accumulated/" + a.optimizer.name)};
}

BOOST_AUTO_TEST_CASE(accumulated_gradients) {
  for (const bool traced : {false, true}) {
    for (const Accumulated& a : accumulated()) {
      const Variables v = start(kFloat64);
      const auto optimizer = a.optimizer.make(v);
      GradientAccumulator accumulator(*optimizer, {.steps = a.steps});
      const auto step = [&] {
        GradientTape tape;
        const Tensor y = loss(v);
        accumulator.apply(tape.gradient(y, v));
        return y;
      };
      const Function as_function = trace(step);
      compare(
          a.optimizer.name, expected_of(a), [&] { traced ? as_function() : step(); }, [&] { return values(v); }, 1e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(accumulated_gradients_in_a_graph) {
  for (const Accumulated& a : accumulated()) {
    Graph graph;
    std::optional<GraphScope> building(std::in_place, graph);
    const Variables v = start(kFloat64);
    const auto optimizer = a.optimizer.make(v);
    GradientAccumulator accumulator(*optimizer, {.steps = a.steps});
    std::vector<Gradient> gradients;
    for (const auto& [g, variable] : optimizer->compute_gradients(loss(v))) gradients.push_back(g);
    const Operation train = accumulator.apply(gradients);
    const Operation init = global_variables_initializer();
    building.reset();
    Session session(graph);
    session.run(init);
    compare(
        a.optimizer.name, expected_of(a), [&] { session.run(train); }, [&] { return session.run({v[0], v[1]}); }, 1e-6);
  }
}

// ---- Moving averages ------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(averages) {
  for (const bool traced : {false, true}) {
    for (const bool counted : {false, true}) {
      const Variables v = start(kFloat64);
      const Variable count(tensor(int64_t{0}), "count");
      Sgd sgd(v, {.learning_rate = 1. / 16});
      ExponentialMovingAverage average(v, {.decay = 0.9375, .num_updates = counted ? count : Variable()});
      const auto step = [&] {
        const Tensor y = eager_step(sgd);
        count.assign_add(1);
        average.apply();
        return y;
      };
      const Function as_function = trace(step);
      const std::string name = counted ? "average/counted" : "average/plain";
      compare(
          name, {optimizer_reference("steps"), optimizer_reference(name)}, [&] { traced ? as_function() : step(); },
          [&] { return std::vector{average.average(v[0]).value()}; }, 1e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(averages_in_a_graph) {
  Graph graph;
  std::optional<GraphScope> building(std::in_place, graph);
  const Variables v = start(kFloat64);
  const Variable count(tensor(int64_t{0}), "count");
  ExponentialMovingAverage average({.decay = 0.9375, .num_updates = count});
  const Operation train = Sgd({.learning_rate = 1. / 16}).minimize(loss(v), {.global_step = count});
  Operation step;
  {
    const ControlDependencies after({train});
    step = average.apply();
  }
  const Operation init = global_variables_initializer();
  building.reset();
  Session session(graph);
  session.run(init);
  compare(
      "counted", {optimizer_reference("steps"), optimizer_reference("average/counted")}, [&] { session.run(step); },
      [&] { return std::vector{session.run(average.average(v[0]))}; }, 1e-6);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
