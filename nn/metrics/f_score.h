// F scores: precision and recall in one number.
//
//   metrics::F1Score score(10);                                         // of ten classes, a number for each
//   metrics::F1Score mean(10, {.average = metrics::Average::kMacro});
//
// They follow nn/metrics/metric.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/nn/metrics/metric.h"

namespace panto::metrics {

enum class Average : uint8_t {
  kNone,      // one number per class
  kMicro,     // from the counts over all classes
  kMacro,     // the mean of the classes' numbers
  kWeighted,  // weighted by how many targets are of each class
};

struct FBetaOptions {
  Average average = Average::kNone;
  double beta = 1;                                 // positive: the weight of recall relative to precision
  std::optional<double> threshold = std::nullopt;  // in (0, 1]: larger predictions are positive; none: the largest
  std::string name = "";
  DType dtype = kFloat32;
};

// (1 + beta^2) precision recall / (beta^2 precision + recall), of predictions and targets [batch, classes], where
// targets are 0 or 1; 1e-7 is added to denominators (van Rijsbergen 1979).
class PANTO_EXPORT FBetaScore : public PredictionMetric {
 public:
  // Throw InvalidArgument unless classes is positive and options are in range.
  explicit FBetaScore(int64_t classes);
  FBetaScore(int64_t classes, const FBetaOptions& options);

 private:
  void update(const Tensor& prediction, const Tensor& target, const Tensor& weights) const override;
  Tensor compute() const override;
  int64_t classes_;
  Average average_;
  double beta_;
  std::optional<double> threshold_;
  Variable true_positives_, false_positives_, false_negatives_, weights_;
};

struct F1Options {
  Average average = Average::kNone;
  std::optional<double> threshold = std::nullopt;
  std::string name = "";
  DType dtype = kFloat32;
};
// FBetaScore with beta 1.
class PANTO_EXPORT F1Score final : public FBetaScore {
 public:
  explicit F1Score(int64_t classes);
  F1Score(int64_t classes, const F1Options& options);
};

}  // namespace panto::metrics
