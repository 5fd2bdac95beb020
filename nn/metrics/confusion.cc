#include "panto/nn/metrics/confusion.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/metrics/metric_parts.h"
#include "panto/nn/training/losses/loss_parts.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto::metrics {

namespace {

// A value below any threshold, for predictions that are not among the largest.
constexpr double kLowest = -1e10;

double share(const char* what, double value) {
  if (!(value >= 0 && value <= 1)) invalid("{}: expected a number in [0, 1], got {}", what, value);
  return value;
}

std::vector<double> given_or(const std::vector<double>& thresholds, double otherwise) {
  for (double t : thresholds) share("thresholds", t);
  return thresholds.empty() ? std::vector<double>{otherwise} : thresholds;
}

std::vector<double> evenly(int64_t count) { return count == 1 ? std::vector<double>{0.5} : even_thresholds(count, 1); }

// Keeps x where it is among the k largest of the last dimension; elsewhere kLowest.
Tensor largest_only(const Tensor& x, int64_t k) {
  detail::expect_classes(x);
  const Tensor places = [&] {
    const DeviceScope only_there("CPU:0");
    return top_k(x, k).indices;
  }();
  const Tensor chosen = sum(one_hot(places, shape(x)[-1], cast(1, x.dtype()), cast(0, x.dtype())), {-2});
  return where(chosen > 0.0, x, kLowest);
}

Tensor of_class(const Tensor& x, int64_t k) {
  if (const PartialShape& shape = x.partial_shape(); shape.known_rank()) {
    if (shape.rank() < 2)
      invalid("prediction: expected classes as its last dimension, got shape {}", shape.to_string());
    if (const int64_t classes = shape.dim(shape.rank() - 1); classes >= 0 && k >= classes) {
      invalid("class_id: expected one of {} classes, got {}", classes, k);
    }
  }
  return expand_dims(x(Ellipsis, k), -1);  // an index throws if there is no such class; a slice would be empty
}

}  // namespace

Tensor part_of(const Tensor& x, const Tensor& others) { return div_no_nan(x, x + others); }

std::vector<double> even_thresholds(int64_t count, int64_t least) {
  constexpr int64_t kMost = 1'000'000;
  if (count < least || count > kMost) {
    invalid("num_thresholds: expected a number in [{}, {}], got {}", least, kMost, count);
  }
  std::vector<double> thresholds;
  for (int64_t i = 0; i < count; ++i) thresholds.push_back(static_cast<double>(i) / static_cast<double>(count - 1));
  return thresholds;
}

ConfusionMetric::ConfusionMetric(const MetricOptions& options, std::string_view name, Setup setup)
    : PredictionMetric(options, name), setup_(std::move(setup)), ascending_(setup_.thresholds) {
  if (setup_.top_k && *setup_.top_k < 1) invalid("top_k: expected at least 1, got {}", *setup_.top_k);
  if (setup_.class_id && *setup_.class_id < 0) invalid("class_id: expected at least 0, got {}", *setup_.class_id);
  if (!std::ranges::is_sorted(ascending_)) {
    std::vector<int64_t> order(ascending_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](int64_t i) { return setup_.thresholds[static_cast<size_t>(i)]; });
    place_.resize(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      ascending_[i] = setup_.thresholds[static_cast<size_t>(order[i])];
      place_[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    }
  }
  const auto count = static_cast<int64_t>(ascending_.size());
  const Shape shape = setup_.labels > 0 ? Shape{count, setup_.labels} : Shape{count};
  if (setup_.true_positives) true_positives_ = add_state("true_positives", shape);
  if (setup_.false_positives) false_positives_ = add_state("false_positives", shape);
  if (setup_.true_negatives) true_negatives_ = add_state("true_negatives", shape);
  if (setup_.false_negatives) false_negatives_ = add_state("false_negatives", shape);
}

// The number of thresholds below each element: int64.
Tensor ConfusionMetric::below(const Tensor& p) const {
  constexpr size_t kFew = 4;
  if (ascending_.size() <= kFew) {
    Tensor count = cast(p > ascending_[0], kInt64);
    for (size_t i = 1; i < ascending_.size(); ++i) count = count + cast(p > ascending_[i], kInt64);
    return count;
  }
  const DeviceScope only_there("CPU:0");
  return searchsorted(cast(tensor(ascending_), dtype()), p);
}

// Counts predictions in buckets numbered by how many thresholds are below them; a prediction is positive at those.
void ConfusionMetric::update(const Tensor& prediction, const Tensor& target, const Tensor& weights) const {
  Tensor t = cast(detail::like(prediction, target) != 0.0, dtype()), p = cast(prediction, dtype());
  detail::known_rank("prediction", p);
  const int64_t labels = setup_.labels;
  if (labels > 0 && !PartialShape{-1, labels}.compatible_with(p.partial_shape())) {
    invalid("prediction: expected shape [batch, {}], got {}", labels, p.partial_shape().to_string());
  }
  if (setup_.from_logits) p = sigmoid(p);
  if (setup_.top_k) p = largest_only(p, *setup_.top_k);
  if (setup_.class_id) {
    p = of_class(p, *setup_.class_id);
    t = of_class(t, *setup_.class_id);
  }
  if (setup_.clip) p = clip(p, 0.0, 1.0);
  Tensor factors = ones_like(t);
  if (weights.defined()) factors = factors * weights_beside(weights, t, dtype());
  if (!setup_.label_weights.empty() && labels == 0) {
    const Tensor by_label = cast(tensor(setup_.label_weights), dtype());
    if (!detail::broadcasts_to(by_label.partial_shape(), t.partial_shape())) {
      invalid("label_weights: expected one for each label of shape {}, got {}", t.partial_shape().to_string(),
              setup_.label_weights.size());
    }
    factors = factors * by_label;
  }

  const auto buckets = static_cast<int64_t>(ascending_.size()) + 1;
  Tensor bucket = below(p);
  if (labels > 0) bucket = bucket + cast(range(0, labels, 1), kInt64) * buckets;
  const Tensor yes_and_no = stack({reshape(t * factors, {-1}), reshape((1.0 - t) * factors, {-1})}, 1);
  Tensor sums = unsorted_segment_sum(yes_and_no, reshape(bucket, {-1}), buckets * std::max<int64_t>(labels, 1));
  if (labels > 0) sums = transpose(reshape(sums, {labels, buckets, 2}), {1, 0, 2});
  const Tensor above = cumsum(sums(Slice(1, {})), 0, {.reverse = true}), beneath = cumsum(sums(Slice(0, -1)), 0);
  const Tensor tp = above(Ellipsis, 0), fp = above(Ellipsis, 1), fn = beneath(Ellipsis, 0), tn = beneath(Ellipsis, 1);
  if (setup_.true_positives) true_positives_.assign_add(tp);
  if (setup_.false_positives) false_positives_.assign_add(fp);
  if (setup_.true_negatives) true_negatives_.assign_add(tn);
  if (setup_.false_negatives) false_negatives_.assign_add(fn);
}

Tensor ConfusionMetric::counts(const Variable& of) const {
  const Tensor sorted = of.value();
  return place_.empty() ? sorted : gather(sorted, Arg(place_));
}

Tensor ConfusionMetric::one_or_all(const Tensor& by_threshold) const {
  return ascending_.size() == 1 ? by_threshold[0] : by_threshold;
}

// ---- Counts --------------------------------------------------------------------------------------------------------

TruePositives::TruePositives() : TruePositives(ThresholdOptions()) {}
TruePositives::TruePositives(const ThresholdOptions& options)
    : ConfusionMetric(of_metric(options), "true_positives",
                      {.thresholds = given_or(options.thresholds, 0.5), .true_positives = true}) {}
Tensor TruePositives::compute() const { return one_or_all(true_positives()); }

TrueNegatives::TrueNegatives() : TrueNegatives(ThresholdOptions()) {}
TrueNegatives::TrueNegatives(const ThresholdOptions& options)
    : ConfusionMetric(of_metric(options), "true_negatives",
                      {.thresholds = given_or(options.thresholds, 0.5), .true_negatives = true}) {}
Tensor TrueNegatives::compute() const { return one_or_all(true_negatives()); }

FalsePositives::FalsePositives() : FalsePositives(ThresholdOptions()) {}
FalsePositives::FalsePositives(const ThresholdOptions& options)
    : ConfusionMetric(of_metric(options), "false_positives",
                      {.thresholds = given_or(options.thresholds, 0.5), .false_positives = true}) {}
Tensor FalsePositives::compute() const { return one_or_all(false_positives()); }

FalseNegatives::FalseNegatives() : FalseNegatives(ThresholdOptions()) {}
FalseNegatives::FalseNegatives(const ThresholdOptions& options)
    : ConfusionMetric(of_metric(options), "false_negatives",
                      {.thresholds = given_or(options.thresholds, 0.5), .false_negatives = true}) {}
Tensor FalseNegatives::compute() const { return one_or_all(false_negatives()); }

// ---- Rates ----------------------------------------------------------------------------------------------------------

namespace {}  // namespace

Precision::Precision() : Precision(PrecisionOptions()) {}
Precision::Precision(const PrecisionOptions& options)
    : ConfusionMetric(of_metric(options), "precision",
                      {.thresholds = given_or(options.thresholds, options.top_k ? kLowest : 0.5),
                       .true_positives = true,
                       .false_positives = true,
                       .top_k = options.top_k,
                       .class_id = options.class_id}) {}
Tensor Precision::compute() const { return one_or_all(part_of(true_positives(), false_positives())); }

Recall::Recall() : Recall(PrecisionOptions()) {}
Recall::Recall(const PrecisionOptions& options)
    : ConfusionMetric(of_metric(options), "recall",
                      {.thresholds = given_or(options.thresholds, options.top_k ? kLowest : 0.5),
                       .true_positives = true,
                       .false_negatives = true,
                       .top_k = options.top_k,
                       .class_id = options.class_id}) {}
Tensor Recall::compute() const { return one_or_all(part_of(true_positives(), false_negatives())); }

// The largest of `wanted` where `bound` is at least `least`; 0 if there is none.
namespace {

Tensor best_where(const Tensor& wanted, const Tensor& bound, double least) {
  return maximum(max(where(bound >= least, wanted, 0.0), ReduceOptions{.axis = {0}}), 0.0);
}

}  // namespace

SensitivityAtSpecificity::SensitivityAtSpecificity(double specificity)
    : SensitivityAtSpecificity(specificity, AtOptions()) {}
SensitivityAtSpecificity::SensitivityAtSpecificity(double specificity, const AtOptions& options)
    : ConfusionMetric(of_metric(options), "sensitivity_at_specificity",
                      {.thresholds = evenly(options.num_thresholds),
                       .true_positives = true,
                       .false_positives = true,
                       .true_negatives = true,
                       .false_negatives = true,
                       .clip = true,
                       .class_id = options.class_id}),
      specificity_(share("specificity", specificity)) {}
Tensor SensitivityAtSpecificity::compute() const {
  return best_where(part_of(true_positives(), false_negatives()), part_of(true_negatives(), false_positives()),
                    specificity_);
}

SpecificityAtSensitivity::SpecificityAtSensitivity(double sensitivity)
    : SpecificityAtSensitivity(sensitivity, AtOptions()) {}
SpecificityAtSensitivity::SpecificityAtSensitivity(double sensitivity, const AtOptions& options)
    : ConfusionMetric(of_metric(options), "specificity_at_sensitivity",
                      {.thresholds = evenly(options.num_thresholds),
                       .true_positives = true,
                       .false_positives = true,
                       .true_negatives = true,
                       .false_negatives = true,
                       .clip = true,
                       .class_id = options.class_id}),
      sensitivity_(share("sensitivity", sensitivity)) {}
Tensor SpecificityAtSensitivity::compute() const {
  return best_where(part_of(true_negatives(), false_positives()), part_of(true_positives(), false_negatives()),
                    sensitivity_);
}

PrecisionAtRecall::PrecisionAtRecall(double recall) : PrecisionAtRecall(recall, AtOptions()) {}
PrecisionAtRecall::PrecisionAtRecall(double recall, const AtOptions& options)
    : ConfusionMetric(of_metric(options), "precision_at_recall",
                      {.thresholds = evenly(options.num_thresholds),
                       .true_positives = true,
                       .false_positives = true,
                       .false_negatives = true,
                       .clip = true,
                       .class_id = options.class_id}),
      recall_(share("recall", recall)) {}
Tensor PrecisionAtRecall::compute() const {
  return best_where(part_of(true_positives(), false_positives()), part_of(true_positives(), false_negatives()),
                    recall_);
}

RecallAtPrecision::RecallAtPrecision(double precision) : RecallAtPrecision(precision, AtOptions()) {}
RecallAtPrecision::RecallAtPrecision(double precision, const AtOptions& options)
    : ConfusionMetric(of_metric(options), "recall_at_precision",
                      {.thresholds = evenly(options.num_thresholds),
                       .true_positives = true,
                       .false_positives = true,
                       .false_negatives = true,
                       .clip = true,
                       .class_id = options.class_id}),
      precision_(share("precision", precision)) {}
Tensor RecallAtPrecision::compute() const {
  return best_where(part_of(true_positives(), false_negatives()), part_of(true_positives(), false_positives()),
                    precision_);
}

}  // namespace panto::metrics
