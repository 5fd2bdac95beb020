// Metrics against Keras over two batches: eagerly, with weights, traced, in a graph.
#include <array>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/metrics/accuracy.h"
#include "panto/nn/metrics/auc.h"
#include "panto/nn/metrics/confusion.h"
#include "panto/nn/metrics/f_score.h"
#include "panto/nn/metrics/means.h"
#include "panto/nn/metrics/overlap.h"
#include "panto/nn/metrics/regression.h"
#include "panto/tests/near.h"
#include "panto/tests/nn/training/training_reference.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto::metrics {
namespace {

using Pointer = std::shared_ptr<const PredictionMetric>;

struct Row {
  std::string name, kind;
  std::function<Pointer(DType)> make;
};

template <class M, class Options>
std::function<Pointer(DType)> of(Options options) {
  return [options](DType type) {
    Options all = options;
    all.dtype = type;
    return std::make_shared<M>(all);
  };
}
template <class M>
std::function<Pointer(DType)> plain() {
  return of<M>(MetricOptions{});
}
template <class M, class Size, class Options>
std::function<Pointer(DType)> sized(Size size, Options options) {
  return [size, options](DType type) {
    Options all = options;
    all.dtype = type;
    return std::make_shared<M>(size, all);
  };
}

std::vector<Row> rows() {
  using Ids = std::vector<int64_t>;
  return {
      {"accuracy", "guesses", plain<Accuracy>()},
      {"binary_accuracy", "scores", of<BinaryAccuracy>(BinaryAccuracyOptions{.threshold = 0.625})},
      {"categorical_accuracy", "one_hot", plain<CategoricalAccuracy>()},
      {"sparse_categorical_accuracy", "classes", plain<SparseCategoricalAccuracy>()},
      {"top_k", "one_hot", of<TopKCategoricalAccuracy>(TopKOptions{.k = 2})},
      {"sparse_top_k", "classes", of<SparseTopKCategoricalAccuracy>(SparseTopKOptions{.k = 3})},
      {"mean_squared_error", "numbers", plain<MeanSquaredError>()},
      {"mean_absolute_error", "numbers", plain<MeanAbsoluteError>()},
      {"mean_absolute_percentage_error", "numbers", plain<MeanAbsolutePercentageError>()},
      {"mean_squared_logarithmic_error", "numbers", plain<MeanSquaredLogarithmicError>()},
      {"root_mean_squared_error", "numbers", plain<RootMeanSquaredError>()},
      {"log_cosh", "numbers", plain<LogCoshError>()},
      {"cosine_similarity", "numbers", of<CosineSimilarity>(AlongAxisOptions{})},
      {"kl_divergence", "scores", plain<KLDivergence>()},
      {"poisson", "scores", plain<Poisson>()},
      {"hinge", "signed", plain<Hinge>()},
      {"squared_hinge", "signed", plain<SquaredHinge>()},
      {"categorical_hinge", "one_hot", plain<CategoricalHinge>()},
      {"binary_crossentropy", "scores", of<BinaryCrossentropy>(CrossentropyOptions{.label_smoothing = 0.125})},
      {"binary_crossentropy_logits", "signed", of<BinaryCrossentropy>(CrossentropyOptions{.from_logits = true})},
      {"categorical_crossentropy", "one_hot", of<CategoricalCrossentropy>(CrossentropyOptions{})},
      {"sparse_categorical_crossentropy", "classes",
       of<SparseCategoricalCrossentropy>(SparseCrossentropyOptions{.from_logits = true})},
      {"pearson", "numbers", of<PearsonCorrelation>(AlongAxisOptions{})},
      {"concordance", "numbers", of<ConcordanceCorrelation>(AlongAxisOptions{})},
      {"r2", "numbers", sized<R2Score>(4, R2Options{})},
      {"r2_none", "numbers", sized<R2Score>(4, R2Options{.class_aggregation = R2Aggregation::kNone})},
      {"r2_variance", "numbers",
       sized<R2Score>(4, R2Options{.class_aggregation = R2Aggregation::kVarianceWeightedAverage})},
      {"r2_adjusted", "numbers", sized<R2Score>(4, R2Options{.num_regressors = 2})},
      {"f1", "scores", sized<F1Score>(4, F1Options{})},
      {"f1_micro", "scores", sized<F1Score>(4, F1Options{.average = Average::kMicro, .threshold = 0.5})},
      {"f1_macro", "one_hot", sized<F1Score>(4, F1Options{.average = Average::kMacro})},
      {"fbeta_weighted", "scores",
       sized<FBetaScore>(4, FBetaOptions{.average = Average::kWeighted, .beta = 2, .threshold = 0.375})},
      {"true_positives", "scores", of<TruePositives>(ThresholdOptions{})},
      {"true_negatives", "scores", of<TrueNegatives>(ThresholdOptions{.thresholds = {0.75, 0.25}})},
      {"false_positives", "scores", of<FalsePositives>(ThresholdOptions{.thresholds = {0.125, 0.375, 0.875}})},
      {"false_negatives", "matrix", of<FalseNegatives>(ThresholdOptions{})},
      {"precision", "scores", of<Precision>(PrecisionOptions{})},
      {"precision_thresholds", "scores", of<Precision>(PrecisionOptions{.thresholds = {0.25, 0.75}})},
      {"precision_top_k", "scores", of<Precision>(PrecisionOptions{.top_k = 2})},
      {"recall", "matrix", of<Recall>(PrecisionOptions{})},
      {"recall_class", "scores", of<Recall>(PrecisionOptions{.class_id = 1})},
      {"recall_top_k_class", "scores",
       of<Recall>(PrecisionOptions{.thresholds = {0.25, 0.5}, .top_k = 2, .class_id = 3})},
      {"sensitivity_at_specificity", "scores", sized<SensitivityAtSpecificity>(0.5, AtOptions{})},
      {"specificity_at_sensitivity", "scores", sized<SpecificityAtSensitivity>(0.5, AtOptions{.num_thresholds = 50})},
      {"precision_at_recall", "scores", sized<PrecisionAtRecall>(0.5, AtOptions{.class_id = 0})},
      {"recall_at_precision", "scores", sized<RecallAtPrecision>(0.5, AtOptions{})},
      {"recall_at_precision_one", "scores", sized<RecallAtPrecision>(0.25, AtOptions{.num_thresholds = 1})},
      {"auc", "scores", of<AUC>(AucOptions{})},
      {"auc_minoring", "scores",
       of<AUC>(AucOptions{.num_thresholds = 10, .summation_method = AucSummation::kMinoring})},
      {"auc_majoring_pr", "scores",
       of<AUC>(AucOptions{.num_thresholds = 10, .curve = AucCurve::kPr, .summation_method = AucSummation::kMajoring})},
      {"auc_pr", "scores", of<AUC>(AucOptions{.curve = AucCurve::kPr})},
      {"auc_pr_gain", "scores", of<AUC>(AucOptions{.curve = AucCurve::kPrGain})},
      {"auc_thresholds", "scores", of<AUC>(AucOptions{.thresholds = {0.75, 0.125, 0.5}})},
      {"auc_labels", "scores", of<AUC>(AucOptions{.num_labels = 4})},
      {"auc_labels_pr", "scores",
       of<AUC>(AucOptions{.curve = AucCurve::kPr, .num_labels = 4, .label_weights = {1, 2, 0.5, 1.5}})},
      {"auc_label_weights", "scores", of<AUC>(AucOptions{.label_weights = {1, 2, 0.5, 1.5}})},
      {"auc_logits", "signed", of<AUC>(AucOptions{.from_logits = true})},
      {"mean_iou", "guesses", sized<MeanIoU>(4, IoUOptions{})},
      {"mean_iou_ignored", "guesses", sized<MeanIoU>(5, IoUOptions{.ignore_class = 2})},
      {"iou", "guesses", [](DType type) { return std::make_shared<IoU>(4, Ids{0, 3}, IoUOptions{.dtype = type}); }},
      {"iou_scores", "classes",
       [](DType type) {
         return std::make_shared<IoU>(4, Ids{1, 2}, IoUOptions{.sparse_prediction = false, .dtype = type});
       }},
      {"binary_iou", "matrix", of<BinaryIoU>(BinaryIoUOptions{.threshold = 0.375})},
      {"one_hot_iou", "one_hot",
       [](DType type) { return std::make_shared<OneHotIoU>(4, Ids{0, 2}, OneHotIoUOptions{.dtype = type}); }},
      {"one_hot_mean_iou", "one_hot", sized<OneHotMeanIoU>(4, OneHotIoUOptions{})},
  };
}

// As in tests/reference/training/loss_cases.py.
struct Batch {
  Tensor prediction, target, weights;
};

Tensor array(const std::string& name, int number) {
  const std::string digit = std::to_string(number);
  if (name == "one_hot") return one_hot(loss_reference("input/classes" + digit), 4, 1.0, 0.0);
  if (name == "matrix") return 0.5 + abs(loss_reference("input/numbers" + digit));
  return loss_reference("input/" + name + digit);
}

Batch batch(const std::string& kind, int number, DType type) {
  const auto [prediction, target, weights] = [&]() -> std::array<std::string, 3> {
    if (kind == "numbers") return {"numbers", "near", "weights"};
    if (kind == "signed") return {"numbers", "answers", "weights"};
    if (kind == "guesses") return {"guesses", "classes", "integers"};
    if (kind == "matrix") return {"scores", "answers", "matrix"};
    return {"scores", kind == "scores" ? "answers" : kind, "weights"};
  }();
  const Tensor p = array(prediction, number);
  return {p.dtype() == kFloat64 ? cast(p, type) : p, array(target, number), array(weights, number)};
}

std::vector<double> third(const std::vector<double>& all, size_t number) {
  const auto size = static_cast<std::ptrdiff_t>(all.size() / 3);
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(number) * size;
  return {begin, begin + size};
}

TensorSpec any_batch(const Tensor& x) {
  std::vector<int64_t> dims(x.shape().dims().begin(), x.shape().dims().end());
  dims[0] = -1;
  return TensorSpec(x.dtype(), PartialShape(dims));
}

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(metrics)

BOOST_AUTO_TEST_CASE(as_keras) {
  for (const Row& row : rows()) {
    const std::vector<double> expected = values_of(loss_reference("metric/" + row.name));
    const Shape shape = expected.size() == 3 ? Shape{} : Shape{static_cast<int64_t>(expected.size()) / 3};
    for (const DType type : {kFloat64, kFloat32}) {
      BOOST_TEST_CONTEXT(row.name << " " << dtype_name(type)) {
        // In Keras what is counted is float32 where the metric does not say another type, and so is IoU.
        const double tolerance = type == kFloat64 && !row.name.ends_with("iou") && row.name != "mean_iou_ignored" &&
                                         row.name != "log_cosh" && row.name != "iou_scores"
                                     ? 1e-11
                                     : 2e-6;
        const auto check = [&](const Tensor& got, size_t number) {
          BOOST_TEST(dtype_name(got.dtype()) == dtype_name(type));
          expect_near(got, shape, third(expected, number), tolerance, 0.1);
        };
        const Pointer eager = row.make(type), traced = row.make(type), weighted = row.make(type);
        const Batch first = batch(row.kind, 1, type);
        const auto step = trace([&](const Tensor& p, const Tensor& t) { return (*traced)(p, t); },
                                {any_batch(first.prediction), any_batch(first.target)});
        for (int number : {1, 2}) {
          const auto [p, t, w] = batch(row.kind, number, type);
          BOOST_TEST(!eager->update_state(p, t).defined());
          check(eager->result(), static_cast<size_t>(number) - 1);
          check(step(p, t), static_cast<size_t>(number) - 1);
          check((*weighted)(p, t, {.weights = ones({p.shape().dim(0)})}), static_cast<size_t>(number) - 1);
        }
        // A weight of 1 changes nothing, and from 0 on it is as from the beginning.
        weighted->reset_state();
        for (const Variable& v : weighted->state()) {
          for (double x : values_of(v.value())) BOOST_TEST(x == 0);
        }
        for (int number : {1, 2}) {
          const auto [p, t, w] = batch(row.kind, number, type);
          weighted->update_state(p, t, {.weights = w});
        }
        check(weighted->result(), 2);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(in_graphs) {
  for (const Row& row : rows()) {
    BOOST_TEST_CONTEXT(row.name) {
      const Batch first = batch(row.kind, 1, kFloat64), second = batch(row.kind, 2, kFloat64);
      const std::vector<double> expected = values_of(loss_reference("metric/" + row.name));
      const Shape shape = expected.size() == 3 ? Shape{} : Shape{static_cast<int64_t>(expected.size()) / 3};
      Graph graph;
      const GraphScope scope(graph);
      const auto feed_of = [](const Tensor& x, const char* name) {
        return placeholder(x.dtype(), any_batch(x).shape, name);
      };
      const Tensor p = feed_of(first.prediction, "p"), t = feed_of(first.target, "t");
      const Tensor w = feed_of(first.weights, "w");
      const Pointer metric = row.make(kFloat64);
      const Operation init = global_variables_initializer();
      const Operation update = metric->update_state(p, t, {.weights = w});
      BOOST_REQUIRE(update.defined());
      const Tensor result = metric->result();
      const Operation reset = metric->reset_state();
      const Tensor after = (*metric)(p, t, {.weights = w});
      BOOST_TEST(trainable_variables().empty());
      Session session(graph);
      session.run(init);
      const std::vector<double> both = third(expected, 2);
      for (int round : {1, 2}) {
        BOOST_TEST_CONTEXT("round " << round) {
          session.run(update, {{p, first.prediction}, {t, first.target}, {w, first.weights}});
          session.run(update, {{p, second.prediction}, {t, second.target}, {w, second.weights}});
          expect_near(session.run(result), shape, both, 2e-6);
          session.run(reset);
        }
      }
      session.run(after, {{p, first.prediction}, {t, first.target}, {w, first.weights}});
      const Tensor last = session.run(after, {{p, second.prediction}, {t, second.target}, {w, second.weights}});
      expect_near(last, shape, both, 2e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(all_of_the_file) {
  std::set<std::string> names;
  for (const Row& row : rows()) names.insert(row.name);
  BOOST_TEST(names.size() == rows().size());
  BOOST_TEST(names.size() == 64U);
}

BOOST_AUTO_TEST_CASE(of_values) {
  for (const DType type : {kFloat64, kFloat32}) {
    for (int kind = 0; kind < 3; ++kind) {
      const Mean mean({.dtype = type});
      const Sum sum({.dtype = type});
      const auto step = trace(
          [&](const Tensor& x, const Tensor& w) {
            mean.update_state(x, {.weights = w});
            sum.update_state(x, {.weights = w});
          },
          {TensorSpec(kFloat64, {-1, 4}), TensorSpec(kFloat64, kind == 1 ? PartialShape{-1} : PartialShape{-1, 4})});
      for (int number : {1, 2}) {
        const Tensor x = array("numbers", number);
        if (kind == 0) {
          mean.update_state(x);
          sum.update_state(x);
        } else {
          step(x, array(kind == 1 ? "weights" : "matrix", number));
        }
      }
      mean.update_state(3.0);
      sum.update_state(3.0);
      const auto at = static_cast<size_t>(kind);
      expect_near(mean.result(), values_of(loss_reference("metric/mean"))[at], 2e-6);
      expect_near(sum.result(), values_of(loss_reference("metric/sum"))[at], 2e-6);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::metrics
