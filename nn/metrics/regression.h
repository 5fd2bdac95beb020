// Metrics of regression: errors, and how predictions and targets vary together.
//
//   metrics::RootMeanSquaredError error;
//   metrics::R2Score score(3);                       // of predictions [batch, 3]
//
// They follow nn/metrics/metric.h.
#pragma once

#include <cstdint>
#include <string>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/nn/metrics/means.h"
#include "panto/nn/metrics/metric.h"

namespace panto::metrics {

// The root of the mean of (prediction - target)^2 over all elements.
class PANTO_EXPORT RootMeanSquaredError final : public PredictionMetric {
 public:
  RootMeanSquaredError();
  explicit RootMeanSquaredError(const MetricOptions& options);

 private:
  void update(const Tensor& prediction, const Tensor& target, const Tensor& weights) const override;
  Tensor compute() const override;
  MeanTotals totals_;
};

// Pearson's correlation along an axis, which the result does not have: in [-1, 1]; NaN if one of both is constant.
PANTO_EXPORT Tensor pearson_correlation(Arg prediction, Arg target, int64_t axis = -1);
// Lin's concordance correlation (1989): 2 cov / (var + var + (mean - mean)^2 + 1e-7).
PANTO_EXPORT Tensor concordance_correlation(Arg prediction, Arg target, int64_t axis = -1);

// Means of these functions over all samples.
class PANTO_EXPORT PearsonCorrelation final : public MeanMetricWrapper {
 public:
  PearsonCorrelation();
  explicit PearsonCorrelation(const AlongAxisOptions& options);
};
class PANTO_EXPORT ConcordanceCorrelation final : public MeanMetricWrapper {
 public:
  ConcordanceCorrelation();
  explicit ConcordanceCorrelation(const AlongAxisOptions& options);
};

enum class R2Aggregation : uint8_t {
  kNone,                     // one number per output
  kUniformAverage,           // their mean
  kVarianceWeightedAverage,  // weighted by the variance of each output
};

struct R2Options {
  R2Aggregation class_aggregation = R2Aggregation::kUniformAverage;
  int64_t num_regressors = 0;  // for the adjusted score; 0: the plain score
  std::string name = "";
  DType dtype = kFloat32;
};
// The coefficient of determination, 1 - sum((t - p)^2) / sum((t - mean(t))^2), of predictions [batch, outputs]; for
// targets that are all equal it is 0, or NaN if all errors are 0. The adjusted score is 1 - (1 - r2) (n - 1) / (n -
// num_regressors - 1), where n counts, as in Keras, the elements of all outputs; if n is too small for that, the plain
// score.
class PANTO_EXPORT R2Score final : public PredictionMetric {
 public:
  // Throw InvalidArgument unless outputs is positive and num_regressors is not negative.
  explicit R2Score(int64_t outputs);
  R2Score(int64_t outputs, const R2Options& options);

 private:
  void update(const Tensor& prediction, const Tensor& target, const Tensor& weights) const override;
  Tensor compute() const override;
  int64_t outputs_;
  R2Aggregation aggregation_;
  int64_t regressors_;
  Variable samples_, squares_, sum_, residual_, count_;
};

}  // namespace panto::metrics
