// Overlaps of classes: confusion matrices, and intersection over union of segmentations.
//
//   metrics::MeanIoU overlap(21, {.sparse_prediction = false});          // scores [..., 21], labels [...]
//   overlap.update_state(model(images), labels);
//   Tensor counts = metrics::confusion_matrix(predicted, labels, 10);
//
// They follow nn/metrics/metric.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/nn/metrics/metric.h"

namespace panto::metrics {

struct ConfusionMatrixOptions {
  Tensor weights = {};  // [samples]: added instead of 1
  DType dtype = kInt32;
};
// The number of samples of each class (row) that were predicted as each class (column): [classes, classes]. Predictions
// and labels are vectors of int32 or int64. Throws InvalidArgument for classes not in [0, num_classes).
PANTO_EXPORT Tensor confusion_matrix(Arg prediction, Arg labels, int64_t num_classes,
                                     const ConfusionMatrixOptions& options = {});

struct IoUOptions {
  std::optional<int64_t> ignore_class = std::nullopt;  // samples with this label do not count
  bool sparse_target = true;                           // targets are classes; false: argmax along `axis`
  bool sparse_prediction = true;                       // predictions are classes; false: argmax along `axis`
  int64_t axis = -1;                                   // of the classes, where not sparse
  std::string name = "";
  DType dtype = kFloat32;
};

// TP / (TP + FP + FN), averaged over the target classes that occur. Predictions and targets may have any type and have
// one shape, apart from the class axis of those that are not sparse; classes out of range do not count. Weights have
// the targets' shape, or its leading dimensions, and count with their fractions (Keras truncates them to integers
// unless given another dtype).
class PANTO_EXPORT IoU : public PredictionMetric {
 public:
  // Throw InvalidArgument unless num_classes is positive and the target classes, at least one, are in [0, num_classes).
  IoU(int64_t num_classes, std::vector<int64_t> target_class_ids);
  IoU(int64_t num_classes, std::vector<int64_t> target_class_ids, const IoUOptions& options);

 protected:
  IoU(int64_t num_classes, std::vector<int64_t> target_class_ids, const IoUOptions& options, std::string_view name);
  void update(const Tensor& prediction, const Tensor& target, const Tensor& weights) const override;

 private:
  Tensor compute() const override;
  int64_t classes_;
  std::vector<int64_t> targets_;
  std::optional<int64_t> ignored_;
  bool sparse_target_, sparse_prediction_;
  int64_t axis_;
  Variable matrix_;
};

struct BinaryIoUOptions {
  std::vector<int64_t> target_class_ids = {0, 1};
  double threshold = 0.5;  // predictions from here on are of class 1
  std::string name = "";
  DType dtype = kFloat32;
};
// For predictions in [0, 1].
class PANTO_EXPORT BinaryIoU final : public IoU {
 public:
  BinaryIoU();
  explicit BinaryIoU(const BinaryIoUOptions& options);

 private:
  void update(const Tensor& prediction, const Tensor& target, const Tensor& weights) const override;
  double threshold_;
};

// Over all classes.
class PANTO_EXPORT MeanIoU : public IoU {
 public:
  explicit MeanIoU(int64_t num_classes);
  MeanIoU(int64_t num_classes, const IoUOptions& options);

 protected:
  MeanIoU(int64_t num_classes, const IoUOptions& options, std::string_view name);
};

struct OneHotIoUOptions {
  std::optional<int64_t> ignore_class = std::nullopt;
  bool sparse_prediction = false;
  int64_t axis = -1;
  std::string name = "";
  DType dtype = kFloat32;
};
// For one-hot targets, and scores as predictions unless sparse_prediction.
class PANTO_EXPORT OneHotIoU final : public IoU {
 public:
  OneHotIoU(int64_t num_classes, std::vector<int64_t> target_class_ids);
  OneHotIoU(int64_t num_classes, std::vector<int64_t> target_class_ids, const OneHotIoUOptions& options);
};
class PANTO_EXPORT OneHotMeanIoU final : public MeanIoU {
 public:
  explicit OneHotMeanIoU(int64_t num_classes);
  OneHotMeanIoU(int64_t num_classes, const OneHotIoUOptions& options);
};

}  // namespace panto::metrics
