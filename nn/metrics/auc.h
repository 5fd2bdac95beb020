// AUC: the area under a curve of binary predictions, as the threshold goes from 0 to 1.
//
//   metrics::AUC area;                                                       // of the ROC curve
//   metrics::AUC of_precision({.curve = metrics::AucCurve::kPr});
//   metrics::AUC by_label({.num_labels = 3});                                // the mean of three areas
//
// nn/metrics/confusion.h says what predictions and targets are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/nn/metrics/confusion.h"

namespace panto::metrics {

enum class AucCurve : uint8_t {
  kRoc,     // recall by the share of false positives
  kPr,      // precision by recall
  kPrGain,  // both as gains over always predicting yes (Flach and Kull 2015)
};
enum class AucSummation : uint8_t {
  kInterpolation,  // trapezoids; of the PR curve between counts (Davis and Goadrich 2006)
  kMinoring,       // the lower of both ends of each interval
  kMajoring,       // the higher of both ends
};

struct AucOptions {
  int64_t num_thresholds = 200;  // evenly from 0 to 1
  AucCurve curve = AucCurve::kRoc;
  AucSummation summation_method = AucSummation::kInterpolation;
  std::vector<double> thresholds = {};     // in [0, 1]: used together with 0 and 1, instead of num_thresholds
  int64_t num_labels = 0;                  // of predictions [batch, num_labels], counted separately; 0: all together
  std::vector<double> label_weights = {};  // per label: in the mean of their areas, or in the counts
  bool from_logits = false;                // apply a sigmoid to predictions
  std::string name = "";
  DType dtype = kFloat32;
};

// The area, a scalar. Predictions are clipped to [0, 1].
class PANTO_EXPORT AUC final : public ConfusionMetric {
 public:
  AUC();
  // Throws InvalidArgument unless there are at least two thresholds, given ones are in [0, 1], and there is one weight
  // for each of num_labels, or none.
  explicit AUC(const AucOptions& options);

 private:
  Tensor compute() const override;
  Tensor interpolated_pr() const;
  Tensor total(const Tensor& areas) const;
  AucCurve curve_;
  AucSummation summation_;
};

}  // namespace panto::metrics
