// Metrics at their edges: what they keep, weights, out-of-range numbers, misuse.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/metrics/accuracy.h"
#include "panto/nn/metrics/auc.h"
#include "panto/nn/metrics/confusion.h"
#include "panto/nn/metrics/f_score.h"
#include "panto/nn/metrics/means.h"
#include "panto/nn/metrics/overlap.h"
#include "panto/nn/metrics/regression.h"
#include "panto/nn/training/checkpoint.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/near.h"
#include "panto/trace/control/control_flow.h"
#include "panto/trace/trace.h"

namespace panto::metrics {
namespace {

// Right answers, counted.
struct Hits final : PredictionMetric {
  Hits() : PredictionMetric({}, "hits"), hits(add_state("hits", {})) {}
  void update(const Tensor& prediction, const Tensor& target, const Tensor& weights) const override {
    const Tensor right = cast(prediction == target, dtype());
    hits.assign_add(sum(weights.defined() ? right * weights : right));
  }
  Tensor compute() const override { return hits.value(); }
  Variable hits;
};

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(metrics)

BOOST_AUTO_TEST_CASE(nothing_added_up) {
  expect_near(Mean().result(), 0);
  expect_near(Precision().result(), 0);
  expect_near(AUC().result(), 0);
  expect_near(MeanIoU(3).result(), 0);
  expect_near(F1Score(2).result(), {2}, {0, 0});
  BOOST_TEST(std::isnan(R2Score(1).result().item<float>()));
  Mean mean;
  mean.update_state(zeros({0, 3}));
  expect_near(mean.result(), 0);
}

BOOST_AUTO_TEST_CASE(handles_names_and_files) {
  const Mean loss({.name = "loss"});
  Mean copy;
  copy = loss;
  loss.update_state(tensor({1.F, 2.F}));
  copy.update_state(tensor({6.F}));
  expect_near(loss.result(), 3);
  BOOST_TEST(loss.state().size() == 2U);
  BOOST_TEST(loss.state()[0].name().starts_with("loss/total"));
  BOOST_TEST(loss.state()[1].name().starts_with("loss/count"));
  BOOST_TEST(MeanSquaredError().name() == "mean_squared_error");

  const TestFolder folder;
  save_variables(folder / "m.npz", loss.state());
  loss.reset_state();
  loss.update_state(tensor({9.F}));
  load_variables(folder / "m.npz", loss.state());
  expect_near(copy.result(), 3);
}

BOOST_AUTO_TEST_CASE(of_functions) {
  const Tensor p = tensor({{0.F, 2.F}, {1.F, 1.F}}), t = tensor({{0.F, 0.F}, {1.F, 0.F}});
  expect_near(MeanMetricWrapper(huber, {.delta = 0.5})(p, t), (0.5 * 1.75 / 2 + 0.5 * 0.75 / 2) / 2);
  expect_near(MeanMetricWrapper(mean_squared_error)(p, t), 1.25);
  expect_near(MeanMetricWrapper([](const Tensor& x, const Tensor& y) { return abs(x - y); })(p, t), 0.75);
  expect_error_begins([] { MeanMetricWrapper{MeanMetricWrapper::Function()}; },
                      "InvalidArgument: function of metric 'mean_metric_wrapper': expected one, got an empty one");

  const Hits hits;
  hits.update_state(tensor({1, 2, 3}), tensor({1, 0, 3}));
  expect_near(hits(tensor({1}), tensor({1}), {.weights = tensor({0.5F})}), 2.5);
  hits.reset_state();
  expect_near(hits.result(), 0);
}

// Weights have leading dimensions of what they weigh.
BOOST_AUTO_TEST_CASE(weights_of_more_dimensions) {
  const Tensor x = tensor({{{1.F, 3.F}, {5.F, 7.F}}, {{2.F, 2.F}, {0.F, 4.F}}});
  expect_near(Mean()(x, {.weights = tensor({3.F, 1.F})}), (3 * 4 + 2) / 4.0);
  expect_near(Mean()(x, {.weights = tensor({{1.F, 0.F}, {1.F, 2.F}})}), (2 + 2 + 2 * 2) / 4.0);
  expect_near(Mean()(x, {.weights = tensor(2.F)}), 3);
  expect_near(Sum()(x, {.weights = tensor({3.F, 1.F})}), 3 * 16 + 8);
  const Tensor yes = tensor({{1.F, 0.F}, {1.F, 1.F}}), p = tensor({{0.9F, 0.9F}, {0.1F, 0.9F}});
  expect_near(Precision()(p, yes, {.weights = tensor({1.F, 3.F})}), 4. / 5);
  expect_near(Recall()(p, yes, {.weights = tensor({{1.F}, {3.F}})}), 4. / 7);
  expect_error_begins([&] { Mean()(tensor({1.F}), {.weights = tensor({{1.F}})}); },
                      "InvalidArgument: weights: expected at most the 1 dimensions of the values, got shape [1,1]");
  expect_error_begins([&] { Precision()(p, yes, {.weights = tensor({1.F, 2.F, 3.F})}); },
                      "InvalidArgument: weights: expected leading dimensions of the predictions' shape [2,2], got [3]");
}

BOOST_AUTO_TEST_CASE(accuracies) {
  const Tensor scores = tensor({{0.1F, 0.7F, 0.2F}, {0.4F, 0.4F, 0.2F}}), labels = tensor({2, 1});
  expect_near(sparse_categorical_accuracy(scores, labels), {2}, {0, 0});  // the first of equal ones
  expect_near(sparse_top_k_categorical_accuracy(scores, labels, 2), {2}, {1, 1});
  expect_near(sparse_top_k_categorical_accuracy(tensor({{5, 2, 7}, {0, 3, 1}}), labels, 2, true), {2}, {1, 0});
  expect_near(sparse_top_k_categorical_accuracy(reshape(scores, {1, 2, 3}), reshape(labels, {1, 2}), 9), {1, 2},
              {1, 1});
  const Tensor none = tensor({{std::numeric_limits<float>::quiet_NaN(), 1.F, 0.F}});
  expect_near(sparse_top_k_categorical_accuracy(none, tensor({0}), 1), {1}, {0});
  expect_near(Accuracy()(tensor({"a", "b"}), tensor({"a", "c"})), 0.5);
  expect_near(binary_accuracy(cast(scores, kBFloat16), scores > 0.3F), {2, 3}, {1, 1, 1, 0, 0, 1});
}

BOOST_AUTO_TEST_CASE(thresholds) {
  // Equal is not above; NaN is not either; the order is that of the options.
  const Tensor p = tensor({0.5F, 0.25F, std::numeric_limits<float>::quiet_NaN(), 2.F, -1.F});
  const Tensor yes = tensor({true, true, true, true, false});
  expect_near(TruePositives()(p, yes), 1);
  expect_near(TruePositives({.thresholds = {1, 0, 0.25}})(p, yes), {3}, {1, 3, 2});
  expect_near(FalseNegatives({.thresholds = {1, 0, 0.25}})(p, yes), {3}, {3, 1, 2});
  expect_near(TrueNegatives({.thresholds = {0.5, 0.5}})(p, yes), {2}, {1, 1});
  expect_near(AUC()(tensor({0.F, 1.F, 7.F, -3.F}), tensor({0, 1, 1, 0})), 1);
  expect_near(AUC()(tensor({0.5F, 0.5F}), tensor({0, 1})), 0.5);
}

BOOST_AUTO_TEST_CASE(matrices) {
  const Tensor guessed = tensor({1, 0, 2, 1}), labels = tensor({1, 1, 2, 1});
  expect_near(confusion_matrix(guessed, labels, 3), {3, 3}, {0, 0, 0, 1, 2, 0, 0, 0, 1});
  const Tensor weighted =
      confusion_matrix(guessed, labels, 3, {.weights = tensor({.5F, 1.F, 1.F, 2.F}), .dtype = kFloat32});
  expect_near(weighted, {3, 3}, {0, 0, 0, 1, 2.5, 0, 0, 0, 1});
  expect_error_begins([&] { confusion_matrix(guessed, labels, 2); }, "InvalidArgument: ");
  // Of what is out of range nothing is counted.
  const MeanIoU all(3);
  all.update_state(tensor({1, 0, 2, 1, 9, 1}), tensor({1, 1, 2, 1, 1, -4}));
  expect_near(all.result(), (0 + 2. / 3 + 1) / 3);
}

// Samples of the ignored class count nowhere.
BOOST_AUTO_TEST_CASE(ignored_classes) {
  const Tensor p = tensor({{0.25F, 0.75F}, {0.5F, 0.5F}, {0.9F, 0.1F}}), labels = tensor({1, -1, 0});
  const double expected = -(std::log(0.75) + std::log(0.9)) / 2;
  expect_near(SparseCategoricalCrossentropy({.ignore_class = -1})(p, labels), expected);
  expect_near(SparseCategoricalCrossentropy({.ignore_class = -1})(p, labels, {.weights = tensor({3.F, 1.F, 1.F})}),
              -(3 * std::log(0.75) + std::log(0.9)) / 4);
}

BOOST_AUTO_TEST_CASE(adjusted_scores_of_few) {
  const Tensor p = tensor({{1.F}, {2.F}, {4.F}}), t = tensor({{1.F}, {2.F}, {3.F}});
  expect_near(R2Score(1, {.num_regressors = 1})(p, t), 1 - 0.5 * 2 / 1);
  expect_near(R2Score(1, {.num_regressors = 2})(p, t), 0.5);  // there is no adjusted one
  expect_near(R2Score(1)(p, ones({3, 1})), 0);
}

BOOST_AUTO_TEST_CASE(no_gradients) {
  const Tensor p = tensor({1.F, 2.F}), t = tensor({0.F, 0.F});
  GradientTape tape;
  tape.watch(p);
  const Tensor result = MeanSquaredError()(p, t);
  BOOST_TEST(!tape.gradient(result, p).defined());
}

// Also where a batch is added up in one branch only.
BOOST_AUTO_TEST_CASE(in_conditionals) {
  const Mean mean;
  const auto step =
      trace([&](const Tensor& x) { return cond(x > 0.F, [&] { return mean(x); }, [&] { return -mean.result(); }); },
            {TensorSpec(kFloat32, {})});
  expect_near(step(tensor(2.F)), 2);
  expect_near(step(tensor(-7.F)), -2);
  expect_near(step(tensor(4.F)), 3);
}

BOOST_AUTO_TEST_CASE(misuse) {
  const auto expect_invalid = [](const auto& f, const std::string& text) {
    expect_error_begins(f, "InvalidArgument: " + text);
  };
  const Tensor p = tensor({{0.5F, 0.5F}}), labels = tensor({{1, 0}});
  expect_invalid([] { Mean({.dtype = kInt32}); }, "dtype of metric 'mean': expected float32 or float64, got int32");
  expect_invalid([&] { Precision()(labels, p); }, "prediction: expected a floating tensor, got int32[1,2]");
  expect_invalid([&] { Precision()(p, tensor({1})); }, "target: expected the prediction's shape [1,2], got [1]");
  expect_invalid([&] { Precision()(0.5, p); }, "prediction: expected a tensor, got a number");
  expect_invalid([] { Precision({.thresholds = {1.5}}); }, "thresholds: expected a number in [0, 1], got 1.5");
  expect_invalid([] { Recall({.top_k = 0}); }, "top_k: expected at least 1, got 0");
  expect_invalid([&] { Recall({.class_id = 2})(p, labels); }, "class_id: expected one of 2 classes, got 2");
  expect_invalid([] { Recall({.class_id = -1}); }, "class_id: expected at least 0, got -1");
  expect_invalid([] { PrecisionAtRecall(1.5); }, "recall: expected a number in [0, 1], got 1.5");
  expect_invalid([] { PrecisionAtRecall(0.5, {.num_thresholds = 0}); },
                 "num_thresholds: expected a number in [1, 1000000], got 0");
  expect_invalid([] { AUC({.num_thresholds = 1}); }, "num_thresholds: expected a number in [2, 1000000], got 1");
  expect_invalid([] { AUC({.num_labels = 2, .label_weights = {1}}); },
                 "label_weights: expected one for each of 2 labels, got 1");
  expect_invalid([&] { AUC({.num_labels = 3})(p, labels); }, "prediction: expected shape [batch, 3], got [1,2]");
  expect_invalid([&] { AUC({.label_weights = {1, 2, 3}})(p, labels); },
                 "label_weights: expected one for each label of shape [1,2], got 3");
  expect_invalid([] { F1Score(0); }, "FBetaScore: expected a positive number of classes, got 0");
  expect_invalid([] { FBetaScore(2, {.beta = 0}); }, "beta: expected a positive number, got 0");
  expect_invalid([] { F1Score(2, {.threshold = 0}); }, "threshold: expected a number in (0, 1], got 0");
  expect_invalid([&] { F1Score(3)(p, labels); }, "prediction: expected shape [batch, 3], got [1,2]");
  expect_invalid([] { R2Score(0); }, "R2Score: expected a positive number of outputs, got 0");
  expect_invalid([] { MeanIoU(0); }, "num_classes: expected a number in [1, 1048576], got 0");
  expect_invalid([] { IoU(2, {2}); }, "target_class_ids: expected classes in [0, 2), got 2");
  expect_invalid([] { IoU(2, {}); }, "target_class_ids: expected at least one class, got none");
  expect_invalid([&] { confusion_matrix(p, labels, 2); }, "prediction: expected int32 or int64, got float32");
  expect_invalid([&] { TopKCategoricalAccuracy({.k = 0}); }, "k: expected at least 1, got 0");
  expect_invalid([&] { SparseCategoricalAccuracy()(p, tensor({1.F})); },
                 "labels: expected int32 or int64, got float32");
  expect_invalid([&] { pearson_correlation(p, p, 2); }, "axis: expected one of 2 dimensions, got 2");
  // What did not fit was not counted.
  const Precision precision;
  expect_error_begins([&] { precision(p, tensor({1})); }, "InvalidArgument: ");
  for (const Variable& v : precision.state()) expect_near(v.value(), {1}, {0});
  expect_error_begins([] { trace([](const Tensor& x) { return Mean()(x); })(tensor(1.F)); }, "FailedPrecondition: ");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::metrics
