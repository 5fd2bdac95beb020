#include "panto/nn/metrics/regression.h"

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/metrics/metric_parts.h"
#include "panto/nn/training/losses/loss_parts.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto::metrics {

RootMeanSquaredError::RootMeanSquaredError() : RootMeanSquaredError(MetricOptions()) {}
RootMeanSquaredError::RootMeanSquaredError(const MetricOptions& options)
    : PredictionMetric(options, "root_mean_squared_error"), totals_{add_state("total", {}), add_state("count", {})} {}

void RootMeanSquaredError::update(const Tensor& prediction, const Tensor& target, const Tensor& weights) const {
  const Tensor t = cast(detail::like(prediction, target), dtype());
  totals_.add(square(cast(prediction, dtype()) - t), weights);
}
Tensor RootMeanSquaredError::compute() const { return sqrt(totals_.mean()); }

namespace {

struct Deviations {
  Tensor prediction, target;  // differences from their means
  Tensor gap;                 // difference of the means
};

Deviations deviations(const Tensor& prediction, const Tensor& target, int64_t axis) {
  const Tensor t = detail::like(prediction, target);
  const ReduceOptions along{.axis = {detail::axis_of(prediction, axis)}, .keep_dims = true};
  const Tensor mean_p = mean(prediction, along), mean_t = mean(t, along);
  return {prediction - mean_p, t - mean_t, mean_t - mean_p};
}

Tensor mean_along(const Tensor& x, int64_t axis, bool keep = false) {
  return mean(x, ReduceOptions{.axis = {detail::axis_of(x, axis)}, .keep_dims = keep});
}

}  // namespace

Tensor pearson_correlation(Arg prediction, Arg target, int64_t axis) {
  return from_caller(prediction.where(), [&]() -> Tensor {
    const auto [p, t, gap] = deviations(detail::given_tensor(prediction), detail::given_tensor(target), axis);
    const auto scaled = [&](const Tensor& x) { return x / sqrt(mean_along(square(x), axis, true)); };
    return mean_along(scaled(p) * scaled(t), axis);
  });
}

Tensor concordance_correlation(Arg prediction, Arg target, int64_t axis) {
  return from_caller(prediction.where(), [&]() -> Tensor {
    const auto [p, t, gap] = deviations(detail::given_tensor(prediction), detail::given_tensor(target), axis);
    const Tensor spread = mean_along(square(p), axis, true) + mean_along(square(t), axis, true) + square(gap);
    return mean_along(2.0 * t * p / (spread + detail::kLossEpsilon), axis);
  });
}

PearsonCorrelation::PearsonCorrelation() : PearsonCorrelation(AlongAxisOptions()) {}
PearsonCorrelation::PearsonCorrelation(const AlongAxisOptions& options)
    : MeanMetricWrapper(
          [axis = options.axis](const Tensor& p, const Tensor& t) { return pearson_correlation(p, t, axis); },
          of_metric(options), "pearson_correlation") {}

ConcordanceCorrelation::ConcordanceCorrelation() : ConcordanceCorrelation(AlongAxisOptions()) {}
ConcordanceCorrelation::ConcordanceCorrelation(const AlongAxisOptions& options)
    : MeanMetricWrapper(
          [axis = options.axis](const Tensor& p, const Tensor& t) { return concordance_correlation(p, t, axis); },
          of_metric(options), "concordance_correlation") {}

// ---- R2 ------------------------------------------------------------------------------------------------------------

R2Score::R2Score(int64_t outputs) : R2Score(outputs, R2Options()) {}
R2Score::R2Score(int64_t outputs, const R2Options& options)
    : PredictionMetric(of_metric(options), "r2_score"),
      outputs_(outputs),
      aggregation_(options.class_aggregation),
      regressors_(options.num_regressors) {
  if (outputs < 1) invalid("R2Score: expected a positive number of outputs, got {}", outputs);
  if (regressors_ < 0) invalid("num_regressors: expected at least 0, got {}", regressors_);
  samples_ = add_state("num_samples", {});
  squares_ = add_state("squared_sum", {outputs});
  sum_ = add_state("sum", {outputs});
  residual_ = add_state("residual", {outputs});
  count_ = add_state("count", {outputs});
}

void R2Score::update(const Tensor& prediction, const Tensor& target, const Tensor& given) const {
  const PartialShape expected{-1, outputs_};
  if (!expected.compatible_with(prediction.partial_shape())) {
    invalid("prediction: expected shape [batch, {}], got {}", outputs_, prediction.partial_shape().to_string());
  }
  const Tensor t = cast(detail::like(prediction, target), dtype()), p = cast(prediction, dtype());
  const Tensor weights = given.defined() ? weights_beside(given, p, dtype()) * ones_like(t) : ones_like(t);
  const Tensor weighted = t * weights;
  const Tensor sums = sum(weighted, {0}), squares = sum(t * weighted, {0}), counts = sum(weights, {0});
  const Tensor residuals = sum(square(t - p) * weights, {0}), samples = cast(size(t), dtype());
  sum_.assign_add(sums);
  squares_.assign_add(squares);
  residual_.assign_add(residuals);
  count_.assign_add(counts);
  samples_.assign_add(samples);
}

Tensor R2Score::compute() const {
  const Tensor sums = sum_.value();
  const Tensor total = squares_.value() - sums * (sums / count_.value());
  Tensor score = 1.0 - residual_.value() / total;
  score = where(isinf(score), 0.0, score);
  switch (aggregation_) {
    case R2Aggregation::kNone: break;
    case R2Aggregation::kUniformAverage: score = mean(score); break;
    case R2Aggregation::kVarianceWeightedAverage: score = sum(total * score) / sum(total); break;
  }
  if (regressors_ == 0) return score;
  const Tensor left = samples_.value() - static_cast<double>(regressors_ + 1);
  const Tensor adjusted = 1.0 - (1.0 - score) * (samples_.value() - 1.0) / left;
  return where(left > 0.0, adjusted, score);
}

}  // namespace panto::metrics
