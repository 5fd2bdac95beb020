#include "panto/nn/training/clipping.h"

#include <cmath>
#include <limits>

#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/nn/training/optimizer.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(clipping)

using Tensors = std::vector<Tensor>;

BOOST_AUTO_TEST_CASE(by_value) {
  const Tensors clipped = clip_by_value(Tensors{tensor({-3.F, 0.5F, 2.F}), Tensor(), tensor(5.0)}, -1, 1);
  expect_near(clipped[0], {3}, {-1, 0.5, 1});
  BOOST_TEST(!clipped[1].defined());
  expect_near(clipped[2], 1);
  BOOST_TEST(dtype_name(clipped[2].dtype()) == "float64");
}

BOOST_AUTO_TEST_CASE(by_norm) {
  const Tensors clipped = clip_by_norm(Tensors{tensor({3.F, 4.F}), Tensor(), tensor({0.3F, 0.4F})}, 2);
  expect_near(clipped[0], {2}, {1.2, 1.6});
  BOOST_TEST(!clipped[1].defined());
  // The same bits, not scaled by nearly 1.
  BOOST_TEST(clipped[2].to_vector<float>() == (std::vector{0.3F, 0.4F}));
}

BOOST_AUTO_TEST_CASE(by_global_norm) {
  const Tensors gradients = {tensor({{1.F, 2.F}}), Tensor(), tensor(2.0), tensor({4.0}), zeros({0})};
  expect_near(global_norm(gradients), 5);
  const Tensors clipped = clip_by_global_norm(gradients, 2.5);
  expect_near(clipped[0], {1, 2}, {0.5, 1});
  BOOST_TEST(!clipped[1].defined());
  expect_near(clipped[2], 1);
  expect_near(clipped[3], {1}, {2});
  expect_near(clipped[4], {0}, {});
  BOOST_TEST(dtype_name(clipped[0].dtype()) == "float32");
  BOOST_TEST(dtype_name(clipped[3].dtype()) == "float64");
  const Tensors same = clip_by_global_norm(gradients, 6);
  expect_near(same[0], {1, 2}, {1, 2}, 0);
  expect_near(same[2], 2, 0);
}

BOOST_AUTO_TEST_CASE(nothing_to_clip) {
  expect_near(global_norm(Tensors{}), 0);
  expect_near(global_norm(Tensors{Tensor(), tensor({0.F, 0.F})}), 0);
  expect_near(clip_by_global_norm(Tensors{Tensor(), tensor({0.F, 0.F})}, 1)[1], {2}, {0, 0});
  expect_near(clip_by_norm(Tensors{zeros({0})}, 1)[0], {0}, {});
  // Less than any float32.
  const Tensors mixed = clip_by_global_norm(Tensors{tensor({0.F}), tensor({1e-100})}, 1);
  expect_near(mixed[0], {1}, {0});
  expect_near(mixed[1], {1}, {1e-100});
}

// Squares of these are beyond their type.
BOOST_AUTO_TEST_CASE(large_and_small) {
  const Tensor large = tensor({3e38F, -3e38F});
  expect_near(global_norm(Tensors{large}), 3e38 * std::sqrt(2.0));
  const double root = std::sqrt(0.5);
  expect_near(clip_by_global_norm(Tensors{large}, 1)[0], {2}, {root, -root});
  expect_near(clip_by_norm(Tensors{tensor({1e300, 1e300})}, 1)[0], {2}, {root, root});
  expect_near(global_norm(Tensors{tensor({3e-30F, 4e-30F})}), 5e-30);
  expect_near(clip_by_global_norm(Tensors{tensor({3e-30F, 4e-30F})}, 1e-30)[0], {2}, {0.6e-30, 0.8e-30});
  expect_near(clip_by_global_norm(Tensors{tensor({5e-324, 0.0})}, 1)[0], {2}, {5e-324, 0}, 0);
}

BOOST_AUTO_TEST_CASE(not_finite) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {infinity, -infinity, std::nanf("")}) {
    const Tensors clipped = clip_by_global_norm(Tensors{tensor({bad, 1.F}), tensor(2.F)}, 1);
    for (const double x : values_of(clipped[0])) BOOST_TEST(std::isnan(x));
    BOOST_TEST(std::isnan(clipped[1].item<double>()));
  }
}

BOOST_AUTO_TEST_CASE(rows_stay_rows) {
  const Variable table(tensor({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}), "table"), bias(tensor(1.0), "bias");
  GradientTape tape;
  const Tensor loss = sum(gather(table, {2, 0}, 0) * tensor({{1.0, 2.0}, {4.0, 2.0}})) + bias * 0.0;
  const std::vector<Gradient> gradients = tape.sparse_gradient(loss, std::vector<Variable>{table, bias});
  BOOST_TEST(gradients[0].sparse());
  expect_near(global_norm(gradients), 5);
  for (const auto& clipped : {clip_by_global_norm(gradients, 2.5), clip_by_norm(gradients, 2.5)}) {
    BOOST_TEST(clipped[0].sparse());
    expect_near(clipped[0].rows, {2, 2}, {0.5, 1, 2, 1});
    expect_near(clipped[1].whole, 0);
  }
  Sgd sgd({table, bias}, {.learning_rate = 1});
  sgd.apply(clip_by_value(gradients, 0, 2));
  expect_near(table.value(), {3, 2}, {-1, 0, 3, 4, 4, 4});
}

BOOST_AUTO_TEST_CASE(traced) {
  const Variable v(tensor({0.0, 0.0}), "v");
  Sgd sgd({v}, {.learning_rate = 1});
  const Function step = trace(
      [&](const Tensor& t) {
        GradientTape tape;
        const Tensor loss = sum(v * t);
        sgd.apply(clip_by_global_norm(tape.gradient(loss, sgd.variables()), 1));
        return loss;
      },
      {TensorSpec(kFloat64, {2})});
  step(tensor({3.0, 4.0}));
  expect_near(v.value(), {2}, {-0.6, -0.8});
  step(tensor({0.0, 0.5}));
  expect_near(v.value(), {2}, {-0.6, -1.3});
}

BOOST_AUTO_TEST_CASE(misuse) {
  const Tensors gradients = {tensor(1.0)};
  expect_error([&] { clip_by_value(gradients, 1, 0); },
               "InvalidArgument: values to clip to: expected low <= high, got 1 and 0");
  expect_error([&] { clip_by_norm(gradients, 0); },
               "InvalidArgument: norm to clip to: expected a positive number, got 0");
  expect_error([&] { clip_by_global_norm(gradients, -1); },
               "InvalidArgument: norm to clip to: expected a positive number, got -1");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
