// Losses as metrics: means over all samples of all updates.
//
//   metrics::MeanSquaredError error;
//   error.update_state(model(x), y);
//   metrics::BinaryCrossentropy loss({.from_logits = true});
//
// Each is the mean of the loss of the same name in nn/training/loss.h and losses/, where predictions and targets are
// described. All follow nn/metrics/metric.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/nn/metrics/metric.h"

namespace panto::metrics {

class PANTO_EXPORT MeanSquaredError final : public MeanMetricWrapper {
 public:
  MeanSquaredError();
  explicit MeanSquaredError(const MetricOptions& options);
};
class PANTO_EXPORT MeanAbsoluteError final : public MeanMetricWrapper {
 public:
  MeanAbsoluteError();
  explicit MeanAbsoluteError(const MetricOptions& options);
};
class PANTO_EXPORT MeanAbsolutePercentageError final : public MeanMetricWrapper {
 public:
  MeanAbsolutePercentageError();
  explicit MeanAbsolutePercentageError(const MetricOptions& options);
};
class PANTO_EXPORT MeanSquaredLogarithmicError final : public MeanMetricWrapper {
 public:
  MeanSquaredLogarithmicError();
  explicit MeanSquaredLogarithmicError(const MetricOptions& options);
};
// The mean of log_cosh.
class PANTO_EXPORT LogCoshError final : public MeanMetricWrapper {
 public:
  LogCoshError();
  explicit LogCoshError(const MetricOptions& options);
};
class PANTO_EXPORT KLDivergence final : public MeanMetricWrapper {
 public:
  KLDivergence();
  explicit KLDivergence(const MetricOptions& options);
};
class PANTO_EXPORT Poisson final : public MeanMetricWrapper {
 public:
  Poisson();
  explicit Poisson(const MetricOptions& options);
};
class PANTO_EXPORT Hinge final : public MeanMetricWrapper {
 public:
  Hinge();
  explicit Hinge(const MetricOptions& options);
};
class PANTO_EXPORT SquaredHinge final : public MeanMetricWrapper {
 public:
  SquaredHinge();
  explicit SquaredHinge(const MetricOptions& options);
};
class PANTO_EXPORT CategoricalHinge final : public MeanMetricWrapper {
 public:
  CategoricalHinge();
  explicit CategoricalHinge(const MetricOptions& options);
};

struct CrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0;
  int64_t axis = -1;
  std::string name = "";
  DType dtype = kFloat32;
};
class PANTO_EXPORT BinaryCrossentropy final : public MeanMetricWrapper {
 public:
  BinaryCrossentropy();
  explicit BinaryCrossentropy(const CrossentropyOptions& options);
};
class PANTO_EXPORT CategoricalCrossentropy final : public MeanMetricWrapper {
 public:
  CategoricalCrossentropy();
  explicit CategoricalCrossentropy(const CrossentropyOptions& options);
};

struct SparseCrossentropyOptions {
  bool from_logits = false;
  std::optional<int64_t> ignore_class = std::nullopt;
  int64_t axis = -1;
  std::string name = "";
  DType dtype = kFloat32;
};
// Samples of the ignored class do not count. (Keras, without weights, counts them as samples with loss 0.)
class PANTO_EXPORT SparseCategoricalCrossentropy final : public MeanMetricWrapper {
 public:
  SparseCategoricalCrossentropy();
  explicit SparseCategoricalCrossentropy(const SparseCrossentropyOptions& options);

 private:
  void update(const Tensor& prediction, const Tensor& labels, const Tensor& weights) const override;
  std::optional<int64_t> ignore_class_;
};

struct AlongAxisOptions {
  int64_t axis = -1;
  std::string name = "";
  DType dtype = kFloat32;
};
// The cosine of the angle between vectors: the negative of the loss of this name.
class PANTO_EXPORT CosineSimilarity final : public MeanMetricWrapper {
 public:
  CosineSimilarity();
  explicit CosineSimilarity(const AlongAxisOptions& options);
};

}  // namespace panto::metrics
