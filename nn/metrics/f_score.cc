#include "panto/nn/metrics/f_score.h"

#include <cmath>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/metrics/metric_parts.h"
#include "panto/nn/training/losses/loss_parts.h"
#include "panto/ops/math.h"

namespace panto::metrics {

using detail::kLossEpsilon;

FBetaScore::FBetaScore(int64_t classes) : FBetaScore(classes, FBetaOptions()) {}
FBetaScore::FBetaScore(int64_t classes, const FBetaOptions& options)
    : PredictionMetric(of_metric(options), "fbeta_score"),
      classes_(classes),
      average_(options.average),
      beta_(options.beta),
      threshold_(options.threshold) {
  if (classes < 1) invalid("FBetaScore: expected a positive number of classes, got {}", classes);
  if (!(beta_ > 0) || !std::isfinite(beta_)) invalid("beta: expected a positive number, got {}", beta_);
  if (threshold_ && !(*threshold_ > 0 && *threshold_ <= 1)) {
    invalid("threshold: expected a number in (0, 1], got {}", *threshold_);
  }
  const Shape shape = average_ == Average::kMicro ? Shape{} : Shape{classes};
  true_positives_ = add_state("true_positives", shape);
  false_positives_ = add_state("false_positives", shape);
  false_negatives_ = add_state("false_negatives", shape);
  weights_ = add_state("intermediate_weights", shape);
}

void FBetaScore::update(const Tensor& prediction, const Tensor& target, const Tensor& given) const {
  const PartialShape expected{-1, classes_};
  if (!expected.compatible_with(prediction.partial_shape())) {
    invalid("prediction: expected shape [batch, {}], got {}", classes_, prediction.partial_shape().to_string());
  }
  const Tensor t = cast(detail::like(prediction, target), dtype()), scores = cast(prediction, dtype());
  // A row of zeros has no largest prediction.
  const Tensor yes =
      threshold_ ? scores > *threshold_ : logical_and(scores >= max(scores, {-1}, true), abs(scores) > 1e-9);
  const Tensor p = cast(yes, dtype());
  const Tensor weights = given.defined() ? weights_beside(given, p, dtype()) : Tensor();
  const auto total = [&](const Tensor& x) {
    const Tensor weighted = weights.defined() ? x * weights : x;
    return average_ == Average::kMicro ? sum(weighted) : sum(weighted, {0});
  };
  const Tensor right = total(p * t), wrong = total(p * (1.0 - t)), missed = total((1.0 - p) * t), all = total(t);
  true_positives_.assign_add(right);
  false_positives_.assign_add(wrong);
  false_negatives_.assign_add(missed);
  weights_.assign_add(all);
}

Tensor FBetaScore::compute() const {
  const Tensor right = true_positives_.value();
  const Tensor precision = right / (right + false_positives_.value() + kLossEpsilon);
  const Tensor recall = right / (right + false_negatives_.value() + kLossEpsilon);
  const double square = beta_ * beta_;
  Tensor score = precision * recall / (square * precision + recall + kLossEpsilon) * (1 + square);
  switch (average_) {
    case Average::kNone: return score;
    case Average::kMicro:
    case Average::kMacro: return mean(score);
    case Average::kWeighted: break;
  }
  const Tensor weights = weights_.value();
  return sum(score * weights / (sum(weights) + kLossEpsilon));
}

F1Score::F1Score(int64_t classes) : F1Score(classes, F1Options()) {}
F1Score::F1Score(int64_t classes, const F1Options& options)
    : FBetaScore(classes, {.average = options.average,
                           .threshold = options.threshold,
                           .name = options.name.empty() ? "f1_score" : options.name,
                           .dtype = options.dtype}) {}

}  // namespace panto::metrics
