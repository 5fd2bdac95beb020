// Accuracies: how often predictions are right.
//
//   metrics::SparseCategoricalAccuracy accuracy;
//   accuracy.update_state(logits, labels);                              // [batch, classes], [batch]
//   metrics::TopKCategoricalAccuracy five({.k = 5});
//
// The functions return 1 or 0, float32, for each sample; the classes compute their means, and follow
// nn/metrics/metric.h. All throw InvalidArgument if shapes do not fit.
#pragma once

#include <cstdint>
#include <string>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/nn/metrics/metric.h"

namespace panto::metrics {

// The share of predictions, of any type, that equal the target, of the same shape, element by element.
class PANTO_EXPORT Accuracy final : public MeanMetricWrapper {
 public:
  Accuracy();
  explicit Accuracy(const MetricOptions& options);
};

// 1 if `prediction > threshold` agrees with the target, 1 or 0, element by element; both have one shape.
PANTO_EXPORT Tensor binary_accuracy(Arg prediction, Arg target, double threshold = 0.5);

struct BinaryAccuracyOptions {
  double threshold = 0.5;
  std::string name = "";
  DType dtype = kFloat32;
};
class PANTO_EXPORT BinaryAccuracy final : public MeanMetricWrapper {
 public:
  BinaryAccuracy();
  explicit BinaryAccuracy(const BinaryAccuracyOptions& options);
};

// Whether the largest prediction is at the index of the largest target, along the last dimension: [..., classes] ->
// [...]. Of several equal ones the first counts.
PANTO_EXPORT Tensor categorical_accuracy(Arg prediction, Arg target);

class PANTO_EXPORT CategoricalAccuracy final : public MeanMetricWrapper {
 public:
  CategoricalAccuracy();
  explicit CategoricalAccuracy(const MetricOptions& options);
};

// The same for labels [...], int32 or int64.
PANTO_EXPORT Tensor sparse_categorical_accuracy(Arg prediction, Arg labels);

class PANTO_EXPORT SparseCategoricalAccuracy final : public MeanMetricWrapper {
 public:
  SparseCategoricalAccuracy();
  explicit SparseCategoricalAccuracy(const MetricOptions& options);
};

// Whether fewer than k classes have a larger prediction than the target's class (its largest element). Predictions are
// compared as float32; if one is not finite, its sample counts as wrong. Throw InvalidArgument unless k is positive.
PANTO_EXPORT Tensor top_k_categorical_accuracy(Arg prediction, Arg target, int64_t k = 5);

struct TopKOptions {
  int64_t k = 5;
  std::string name = "";
  DType dtype = kFloat32;
};
class PANTO_EXPORT TopKCategoricalAccuracy final : public MeanMetricWrapper {
 public:
  TopKCategoricalAccuracy();
  explicit TopKCategoricalAccuracy(const TopKOptions& options);
};

// The same for labels [...], int32 or int64. With `from_sorted_ids`, predictions are not scores but classes, of any
// type, most likely first; it tests whether the label is among the first k.
PANTO_EXPORT Tensor sparse_top_k_categorical_accuracy(Arg prediction, Arg labels, int64_t k = 5,
                                                      bool from_sorted_ids = false);

struct SparseTopKOptions {
  int64_t k = 5;
  bool from_sorted_ids = false;
  std::string name = "";
  DType dtype = kFloat32;
};
class PANTO_EXPORT SparseTopKCategoricalAccuracy final : public MeanMetricWrapper {
 public:
  SparseTopKCategoricalAccuracy();
  explicit SparseTopKCategoricalAccuracy(const SparseTopKOptions& options);
};

}  // namespace panto::metrics
