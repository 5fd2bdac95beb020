// Metrics of binary predictions: how many predictions above a threshold, or among the largest, are right and wrong.
//
//   metrics::Precision precision;                                        // above 0.5
//   metrics::Recall recall({.thresholds = {0.3, 0.7}});                  // two numbers
//   metrics::Precision of_three({.top_k = 3});                           // the three largest of each row count as yes
//   metrics::SpecificityAtSensitivity at(0.9);
//
// Predictions are floating, in [0, 1]; targets, of the same shape and any type, are positive if they are not 0. A
// prediction is positive if it is greater than the threshold; NaN is negative. Results are a scalar, or one number for
// each threshold if there are several. 0 / 0 is 0. All follow nn/metrics/metric.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/nn/metrics/metric.h"

namespace panto::metrics {

// Counts true and false positives and negatives by threshold: the base of the metrics below, and of AUC. Internal.
class PANTO_EXPORT ConfusionMetric : public PredictionMetric {
 protected:
  struct Setup {
    std::vector<double> thresholds;
    bool true_positives = false, false_positives = false, true_negatives = false, false_negatives = false;  // to count
    bool clip = false;  // clip predictions to [0, 1] first
    bool from_logits = false;
    std::optional<int64_t> top_k = std::nullopt;
    std::optional<int64_t> class_id = std::nullopt;
    std::vector<double> label_weights = {};
    int64_t labels = 0;  // counted separately, for predictions [batch, labels]; 0: all together
  };
  ConfusionMetric(const MetricOptions& options, std::string_view name, Setup setup);
  // [thresholds] or [thresholds, labels], in the order of the setup.
  Tensor true_positives() const { return counts(true_positives_); }
  Tensor false_positives() const { return counts(false_positives_); }
  Tensor true_negatives() const { return counts(true_negatives_); }
  Tensor false_negatives() const { return counts(false_negatives_); }
  const Setup& setup() const { return setup_; }
  // A scalar if there is one threshold.
  Tensor one_or_all(const Tensor& by_threshold) const;

 private:
  void update(const Tensor& prediction, const Tensor& target, const Tensor& weights) const final;
  Tensor counts(const Variable& of) const;
  Tensor below(const Tensor& p) const;

  Setup setup_;
  std::vector<double> ascending_;
  std::vector<int64_t> place_;  // the index of each threshold in `ascending_`; empty: thresholds ascend already
  Variable true_positives_, false_positives_, true_negatives_, false_negatives_;
};

struct ThresholdOptions {
  std::vector<double> thresholds = {};  // in [0, 1]; none: 0.5
  std::string name = "";
  DType dtype = kFloat32;
};
// Counts samples whose target and prediction are both positive.
class PANTO_EXPORT TruePositives final : public ConfusionMetric {
 public:
  TruePositives();
  // This and the following constructors throw InvalidArgument for thresholds outside [0, 1].
  explicit TruePositives(const ThresholdOptions& options);

 private:
  Tensor compute() const override;
};
class PANTO_EXPORT TrueNegatives final : public ConfusionMetric {
 public:
  TrueNegatives();
  explicit TrueNegatives(const ThresholdOptions& options);

 private:
  Tensor compute() const override;
};
class PANTO_EXPORT FalsePositives final : public ConfusionMetric {
 public:
  FalsePositives();
  explicit FalsePositives(const ThresholdOptions& options);

 private:
  Tensor compute() const override;
};
class PANTO_EXPORT FalseNegatives final : public ConfusionMetric {
 public:
  FalseNegatives();
  explicit FalseNegatives(const ThresholdOptions& options);

 private:
  Tensor compute() const override;
};

struct PrecisionOptions {
  std::vector<double> thresholds = {};             // in [0, 1]; none: 0.5, or no threshold with top_k
  std::optional<int64_t> top_k = std::nullopt;     // only the top_k largest of the last dimension can be positive
  std::optional<int64_t> class_id = std::nullopt;  // only this class of the last dimension counts
  std::string name = "";
  DType dtype = kFloat32;
};
// The share of positive predictions that are right: TP / (TP + FP).
class PANTO_EXPORT Precision final : public ConfusionMetric {
 public:
  Precision();
  // Throw InvalidArgument, too, unless top_k is positive and class_id is not negative.
  explicit Precision(const PrecisionOptions& options);

 private:
  Tensor compute() const override;
};
// The share of positive targets that are predicted: TP / (TP + FN).
class PANTO_EXPORT Recall final : public ConfusionMetric {
 public:
  Recall();
  explicit Recall(const PrecisionOptions& options);

 private:
  Tensor compute() const override;
};

struct AtOptions {
  int64_t num_thresholds = 200;  // evenly from 0 to 1; 1: 0.5
  std::optional<int64_t> class_id = std::nullopt;
  std::string name = "";
  DType dtype = kFloat32;
};
// The largest value of the rate named first, among thresholds where the rate named second is at least a given number in
// [0, 1]; 0 if there are none. Predictions are clipped to [0, 1].
class PANTO_EXPORT SensitivityAtSpecificity final : public ConfusionMetric {
 public:
  explicit SensitivityAtSpecificity(double specificity);
  // This and the following constructors throw InvalidArgument for a number outside [0, 1] and without thresholds.
  SensitivityAtSpecificity(double specificity, const AtOptions& options);

 private:
  Tensor compute() const override;
  double specificity_;
};
class PANTO_EXPORT SpecificityAtSensitivity final : public ConfusionMetric {
 public:
  explicit SpecificityAtSensitivity(double sensitivity);
  SpecificityAtSensitivity(double sensitivity, const AtOptions& options);

 private:
  Tensor compute() const override;
  double sensitivity_;
};
class PANTO_EXPORT PrecisionAtRecall final : public ConfusionMetric {
 public:
  explicit PrecisionAtRecall(double recall);
  PrecisionAtRecall(double recall, const AtOptions& options);

 private:
  Tensor compute() const override;
  double recall_;
};
class PANTO_EXPORT RecallAtPrecision final : public ConfusionMetric {
 public:
  explicit RecallAtPrecision(double precision);
  RecallAtPrecision(double precision, const AtOptions& options);

 private:
  Tensor compute() const override;
  double precision_;
};

}  // namespace panto::metrics
