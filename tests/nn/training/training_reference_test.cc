// Optimizers and schedules against Keras, over 100 steps: eagerly, traced, and in a graph made by hand.
#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

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

template <class Compare>
void compare_all(const Compare& compare) {
  for (const NamedOptimizer& o : optimizers()) {
    const Expected expected{training_reference("steps"), training_reference("optimizer/" + o.name)};
    for (const DType type : {kFloat64, kFloat32}) {
      compare(o, type, expected,
              [&](DType t, const Optimizer& optimizer) { return tolerance_of(o.name, t, optimizer); });
    }
  }
}

BOOST_AUTO_TEST_CASE(eager) { compare_all(compare_eager); }
BOOST_AUTO_TEST_CASE(traced) { compare_all(compare_traced); }
BOOST_AUTO_TEST_CASE(in_a_graph) { compare_all(compare_in_a_graph); }

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
