// Losses against Keras, finite differences, and at their edges.
#include "panto/nn/training/loss.h"

#include <cmath>
#include <functional>

#include "panto/autograd/gradcheck.h"
#include "panto/autograd/tape.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/tests/nn/training/training_reference.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

using Loss = std::function<Tensor(const Tensor&, const Tensor&, const LossOptions&)>;

struct Row {
  std::string name, prediction, target;
  Loss loss;
};

template <auto kLoss, class Options>
Loss with(Options options) {
  return [options](const Tensor& p, const Tensor& t, const LossOptions& common) {
    Options all = options;
    all.weights = common.weights;
    all.reduction = common.reduction;
    return kLoss(p, t, all);
  };
}

std::vector<Row> rows() {
  using Cross = CrossEntropyOptions;
  using Sparse = SparseCrossEntropyOptions;
  return {
      {"mean_squared_error", "values", "targets", mean_squared_error},
      {"mean_absolute_error", "values", "targets", mean_absolute_error},
      {"huber", "values", "targets", with<huber>(HuberOptions{})},
      {"huber_delta", "values", "targets", with<huber>(HuberOptions{.delta = 0.25})},
      {"binary", "probabilities", "truths", with<binary_cross_entropy>(Cross{})},
      {"binary_logits", "logits", "truths", with<binary_cross_entropy>(Cross{.from_logits = true})},
      {"binary_smooth", "logits", "truths",
       with<binary_cross_entropy>(Cross{.from_logits = true, .label_smoothing = 0.125})},
      {"categorical", "probabilities", "one_hot", with<categorical_cross_entropy>(Cross{})},
      {"categorical_logits", "logits", "one_hot", with<categorical_cross_entropy>(Cross{.from_logits = true})},
      {"categorical_smooth", "probabilities", "one_hot",
       with<categorical_cross_entropy>(Cross{.label_smoothing = 0.125})},
      {"sparse", "probabilities", "labels", with<sparse_categorical_cross_entropy>(Sparse{})},
      {"sparse_logits", "logits", "labels", with<sparse_categorical_cross_entropy>(Sparse{.from_logits = true})},
  };
}

Tensor input(const std::string& name) { return training_reference("input/" + name); }

std::vector<double> part(const std::vector<double>& all, size_t from, size_t count) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(from);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(losses)

// Stored: the four samples' losses, their mean with weights, and its gradient.
BOOST_AUTO_TEST_CASE(as_keras) {
  const Tensor weights = input("weights");
  for (const Row& row : rows()) {
    for (const DType type : {kFloat64, kFloat32}) {
      BOOST_TEST_CONTEXT(row.name << " " << dtype_name(type)) {
        // 1 - 1e-7 is 1 - 1.2e-7 in float32.
        const double tolerance = type == kFloat64 ? 1e-12 : row.name == "binary" ? 0.02 : 2e-6;
        const std::vector<double> expected = values_of(training_reference("loss/" + row.name));
        const Tensor prediction = cast(input(row.prediction), type), target = input(row.target);
        const Tensor each = row.loss(prediction, target, {.reduction = LossReduction::kNone});
        BOOST_TEST(dtype_name(each.dtype()) == dtype_name(type));
        expect_near(each, {4}, part(expected, 0, 4), tolerance, type == kFloat64 ? 0 : 0.1);
        double total = 0;
        for (size_t i = 0; i < 4; ++i) total += expected[i];
        expect_near(row.loss(prediction, target, {}), total / 4, tolerance);
        expect_near(row.loss(prediction, target, {.reduction = LossReduction::kSum}), total, tolerance);

        GradientTape tape;
        tape.watch(prediction);
        const Tensor mean = row.loss(prediction, target, {.weights = weights});
        expect_near(mean, expected[4], tolerance);
        expect_near(tape.gradient(mean, prediction), {4, 3}, part(expected, 5, 12), 2 * tolerance, 0.1);

        const auto traced =
            trace([&](const Tensor& p, const Tensor& t) { return row.loss(p, t, {.weights = weights}); },
                  {TensorSpec(type, {-1, 3}),
                   TensorSpec(target.dtype(), target.rank() == 2 ? PartialShape{-1, 3} : PartialShape{-1})});
        expect_near(traced(prediction, target), expected[4], tolerance);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients) {
  const Tensor logits = tensor({{0.5, -1.5, 2.0}, {0.25, 3.0, -0.75}});
  const Tensor probabilities = tensor({{0.5, 0.25, 0.125}, {0.75, 0.0625, 0.5}});
  const Tensor target = tensor({{0.25, 0.75, 0.125}, {0.5, 0.0, 0.25}}), labels = tensor({2, 0});
  for (const Row& row : rows()) {
    BOOST_TEST_CONTEXT(row.name) {
      const Tensor x = row.prediction == "probabilities" ? probabilities : logits;
      const auto loss = [&](std::span<const Tensor> in) {
        return row.loss(in[0], row.target == "labels" ? labels : in[1], {.weights = in[2]});
      };
      const Tensor inputs[] = {x, target, tensor({0.5, 2.0})};
      const GradcheckResult first = gradcheck(loss, inputs);
      BOOST_TEST(first.ok, first.report);
      if (row.name.starts_with("huber") || row.name == "mean_absolute_error") continue;  // flat
      const GradcheckResult second = gradcheck_second_order(loss, inputs);
      BOOST_TEST(second.ok, second.report);
    }
  }
}

BOOST_AUTO_TEST_CASE(more_dimensions) {
  const Tensor logits = reshape(cast(range(0, 24, 1), kFloat64) * 0.1, {2, 3, 4});
  const Tensor labels = tensor({{0, 1, 2}, {3, 0, 1}});
  const LossReduction none = LossReduction::kNone;
  const Tensor sparse = sparse_categorical_cross_entropy(logits, labels, {.from_logits = true, .reduction = none});
  const Tensor one_hot = panto::one_hot(labels, 4, 1.0, 0.0);
  const Tensor whole = categorical_cross_entropy(logits, one_hot, {.from_logits = true, .reduction = none});
  expect_near(sparse, {2, 3}, values_of(whole), 1e-14);
  expect_near(mean_squared_error(logits, logits + 2.0, {.reduction = none}), {2, 3}, {4, 4, 4, 4, 4, 4}, 1e-14);
  // Weights for each sample of the last of its dimensions.
  expect_near(mean_squared_error(logits, logits + 2.0, {.weights = tensor({1., 2., 3.}), .reduction = none}), {2, 3},
              {4, 8, 12, 4, 8, 12}, 1e-14);
  // One sample of classes, and samples of one number each.
  expect_near(sparse_categorical_cross_entropy(tensor({0.0, 0.0}), tensor(1), {.from_logits = true}), std::log(2.0));
  expect_near(mean_absolute_error(tensor({1.0, 2.0}), tensor({2.0, 5.0}), {.reduction = none}), {2}, {1, 3});
}

BOOST_AUTO_TEST_CASE(targets_of_other_types) {
  const Tensor prediction = tensor({{0.5F, 0.25F}});
  expect_near(binary_cross_entropy(prediction, tensor({{true, false}})), -(std::log(0.5) + std::log(0.75)) / 2);
  expect_near(mean_squared_error(prediction, tensor({{1, 0}})), (0.25 + 0.0625) / 2);
  expect_near(mean_squared_error(prediction, tensor({{1.0, 0.0}}), {.weights = tensor({2})}), 0.25 + 0.0625);
}

// As small as it is, and not 0.
BOOST_AUTO_TEST_CASE(small_losses_from_logits) {
  const CrossEntropyOptions logits = {.from_logits = true};
  expect_near(binary_cross_entropy(tensor({50.F, -50.F}), tensor({1.F, 0.F}), logits), std::exp(-50.0));
  expect_near(binary_cross_entropy(tensor({1e4F}), tensor({0.F}), logits), 1e4);
  // The gradient at 0 is that of both sides.
  GradientTape tape;
  const Tensor zero = tensor({0.F});
  tape.watch(zero);
  expect_near(tape.gradient(binary_cross_entropy(zero, tensor({1.F}), logits), zero), {1}, {-0.5});
}

BOOST_AUTO_TEST_CASE(misuse) {
  const Tensor x = tensor({{1.F, 2.F}}), y = tensor({{1.F}, {2.F}});
  const auto expect_invalid = [](const auto& f, const std::string& text) {
    expect_error_begins(f, "InvalidArgument: " + text);
  };
  expect_invalid([&] { mean_squared_error(x, y); }, "target: expected the prediction's shape [1,2], got [2,1]");
  // Broadcast, these would be a matrix of differences.
  expect_invalid([&] { mean_absolute_error(y, tensor({1.F, 2.F})); },
                 "target: expected the prediction's shape [2,1], got [2]");
  expect_invalid([&] { huber(tensor({1}), tensor({1})); }, "prediction: expected a floating tensor, got int32[1]");
  expect_invalid([&] { huber(x, x, {.delta = 0}); }, "delta: expected a positive number, got 0");
  expect_invalid([&] { huber(Tensor(), x); }, "prediction: expected a floating tensor, got none");
  expect_invalid([&] { huber(x, Tensor()); }, "target: expected a tensor, got none");
  expect_invalid([&] { binary_cross_entropy(x, x, {.label_smoothing = 2}); },
                 "label_smoothing: expected a number in [0, 1], got 2");
  expect_invalid([&] { categorical_cross_entropy(tensor(1.F), tensor(1.F)); },
                 "prediction: expected classes as its last dimension, got a scalar");
  expect_invalid([&] { sparse_categorical_cross_entropy(x, tensor({1.F})); },
                 "labels: expected int32 or int64, got float32");
  expect_invalid([&] { sparse_categorical_cross_entropy(x, tensor({1, 0})); },
                 "labels: expected shape [1], the prediction's without its classes, got [2]");
  expect_error_begins([&] { sparse_categorical_cross_entropy(x, tensor({2})); }, "InvalidArgument: ");
  expect_invalid([&] { mean_squared_error(y, y, {.weights = y}); },
                 "weights: expected them to broadcast to the samples' shape [2], got [2,1]");
  expect_invalid([&] { mean_squared_error(y, y, {.weights = tensor({1, 2, 3})}); },
                 "weights: expected them to broadcast to the samples' shape [2], got [3]");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
