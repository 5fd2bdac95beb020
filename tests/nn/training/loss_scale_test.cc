// Loss scaling: steps by unscaled gradients, and none by what is not finite.
#include "panto/nn/training/loss_scale.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/training/optimizer.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(loss_scales)

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The scale doubles after two finite steps, and halves where a gradient is not finite; then the optimizer's own
// variables stay, too.
BOOST_AUTO_TEST_CASE(dynamic) {
  for (const bool traced : {false, true}) {
    const Variable w(tensor({1.F, 2.F}), "w");
    Adam adam({w}, {.learning_rate = 0.5});
    LossScale scale({.initial = 8, .growth_steps = 2});
    const auto step = [&](const Tensor& factor) {
      GradientTape tape;
      const Tensor loss = sum(w * tensor({1.F, 2.F}) * factor);
      scale.apply(adam, tape.gradient(scale.scale_loss(loss), adam.variables()));
      return scale.scale();
    };
    const Function function = trace(step, {TensorSpec(kFloat32, {})});
    const auto run = [&](float factor) { return traced ? function(tensor(factor)) : step(tensor(factor)); };
    expect_near(run(1), 8);
    expect_near(w.value(), {2}, {0.5, 1.5}, 1e-5);
    expect_near(run(kInfinity), 4);
    expect_near(w.value(), {2}, {0.5, 1.5}, 1e-5);
    expect_near(adam.get_slot(w, "m").value(), {2}, {0.1, 0.2}, 1e-5);
    expect_near(run(std::nanf("")), 2);
    expect_near(run(1), 2);
    expect_near(run(1), 4);
    expect_near(w.value(), {2}, {-0.5, 0.5}, 1e-4);
    for (int i = 0; i < 5; ++i) run(kInfinity);
    expect_near(scale.scale().item<float>() * tensor(1.F), 1);  // and not below
    BOOST_TEST(scale.slots().size() == 2U);
  }
}

BOOST_AUTO_TEST_CASE(fixed) {
  const Variable w(tensor(1.F), "w");
  Sgd sgd({w}, {.learning_rate = 0.5});
  LossScale scale({.initial = 1024, .dynamic = false, .growth_steps = 1});
  const auto apply = [&](float gradient) { scale.apply(sgd, std::vector<Tensor>{tensor(gradient)}); };
  apply(1024);
  expect_near(w.value(), 0.5);
  apply(kInfinity);
  expect_near(w.value(), 0.5);
  expect_near(scale.scale(), 1024);
}

BOOST_AUTO_TEST_CASE(in_a_graph) {
  Graph graph;
  std::optional<GraphScope> building(std::in_place, graph);
  const Variable w(tensor({1.F, 2.F}), "w");
  Sgd sgd({w}, {.learning_rate = 0.5});
  LossScale scale({.initial = 8, .growth_steps = 1});
  const Tensor factor = placeholder(kFloat32, {}, "factor");
  std::vector<Gradient> gradients;
  for (const auto& [g, v] : sgd.compute_gradients(scale.scale_loss(sum(w * factor)))) gradients.push_back(g);
  const Operation train = scale.apply(sgd, gradients);
  const Tensor now = scale.scale();
  const Operation init = global_variables_initializer();
  building.reset();
  Session session(graph);
  session.run(init);
  session.run(train, {{factor, tensor(1.F)}});
  expect_near(session.run(w), {2}, {0.5, 1.5});
  expect_near(session.run(now), 16);
  session.run(train, {{factor, tensor(kInfinity)}});
  expect_near(session.run(w), {2}, {0.5, 1.5});
  expect_near(session.run(now), 8);
}

// Without a scale the gradients are too small for float16.
BOOST_AUTO_TEST_CASE(products_in_float16_with_variables_in_float32) {
  const Variable w(tensor({{1.F}, {2.F}}), "w");
  Sgd sgd({w}, {.learning_rate = 1});
  const Tensor x = tensor({{1e-3F, 2e-3F}});
  const auto loss = [&] {
    const Tensor y = matmul(cast(x, kFloat16), cast(w.value(), kFloat16));
    return sum(cast(y, kFloat32)) * 1e-5F;
  };
  LossScale scale;
  {
    GradientTape tape;
    expect_near(tape.gradient(loss(), w), {2, 1}, {1e-8, 2e-8}, 0.05, 1e-6);
  }
  GradientTape tape;
  const auto gradients = tape.gradient(scale.scale_loss(loss()), sgd.variables());
  expect_near(scale.unscale_gradients(gradients)[0], {2, 1}, {1e-8, 2e-8}, 2e-3);
  BOOST_TEST(dtype_name(gradients[0].dtype()) == "float32");
}

BOOST_AUTO_TEST_CASE(rows_stay_rows) {
  const LossScale scale({.initial = 4});
  const std::vector<Gradient> gradients = {
      {.indices = tensor({1}), .rows = tensor({{4.F, 8.F}}), .num_rows = tensor(3)}, {}};
  const auto unscaled = scale.unscale_gradients(gradients);
  expect_near(unscaled[0].rows, {1, 2}, {1, 2});
  BOOST_TEST(!unscaled[1].defined());
  // Larger than a float16 is.
  const LossScale large({.initial = 131072});
  const std::vector<Tensor> halves = {cast(tensor({32768.F}), kFloat16)};
  expect_near(large.unscale_gradients(halves)[0], {1}, {0.25});
}

BOOST_AUTO_TEST_CASE(misuse) {
  const auto expect_invalid = [](const LossScaleOptions& options, const std::string& text) {
    expect_error([&] { LossScale{options}; }, "InvalidArgument: " + text);
  };
  expect_invalid({.initial = 0}, "initial loss scale: expected a positive number, got 0");
  expect_invalid({.initial = 1e300}, "initial loss scale: expected a float32, got 1e+300");
  expect_invalid({.growth_steps = 0}, "growth_steps of a loss scale: expected at least 1, got 0");
  expect_invalid({.factor = 1}, "factor of a loss scale: expected a number above 1, got 1");
  const Variable w(tensor(1.F), "w");
  Sgd sgd({w});
  LossScale scale;
  expect_error_begins([&] { scale.apply(sgd, std::vector<Tensor>{Tensor()}); },
                      "InvalidArgument: loss scale: expected a gradient for at least one variable, got none");
  expect_error_begins([&] { scale.apply(sgd, std::vector<Tensor>{tensor(1.0)}); },
                      "InvalidArgument: gradient of '" + w.name() + "': expected float32[], got float64[]");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
