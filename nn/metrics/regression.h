// Metrics of regressions: what the errors are beside what varies.
//
//   metrics::RootMeanSquaredError error;
//   metrics::R2Score score(3);                       // of predictions [batch, 3]
//
// What nn/metrics/metric.h says goes for them.
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

// Pearson's coefficient of correlation along an axis, which the result lacks: in [-1, 1], NaN where one of both is
// constant.
PANTO_EXPORT Tensor pearson_correlation(Arg prediction, Arg target, int64_t axis = -1);
// Lin's coefficient of concordance (1989): 2 cov / (var + var + (mean - mean)^2 + 1e-7).
PANTO_EXPORT Tensor concordance_correlation(Arg prediction, Arg target, int64_t axis = -1);

// Means of these over all samples.
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
  kNone,                     // a number for each output
  kUniformAverage,           // their mean
  kVarianceWeightedAverage,  // weighted by how much each output varies
};

struct R2Options {
  R2Aggregation class_aggregation = R2Aggregation::kUniformAverage;
  int64_t num_regressors = 0;  // of the adjusted score; 0: the plain one
  std::string name = "";
  DType dtype = kFloat32;
};
// The coefficient of determination, 1 - sum((t - p)^2) / sum((t - mean(t))^2), of predictions [batch, outputs]; 0 of
// targets that are all equal, unless all errors are 0, which gives NaN. The adjusted score is 1 - (1 - r2) (n - 1) / (n
// - num_regressors - 1), where n counts, as in Keras, the elements of all outputs; where n is too small for it, the
// plain one.
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
