// Overlaps of classes: confusion matrices, and intersection over union of segmentations.
//
//   metrics::MeanIoU overlap(21, {.sparse_prediction = false});          // scores [..., 21], labels [...]
//   overlap.update_state(model(images), labels);
//   Tensor counts = metrics::confusion_matrix(predicted, labels, 10);
//
// What nn/metrics/metric.h says goes for them.
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
  Tensor weights = {};  // [samples]: what each counts for, instead of 1
  DType dtype = kInt32;
};
// How many samples of each class, the row, were predicted as each, the column: [classes, classes]. Predictions and
// labels are vectors of int32 or int64. Throws InvalidArgument for classes not in [0, num_classes).
PANTO_EXPORT Tensor confusion_matrix(Arg prediction, Arg labels, int64_t num_classes,
                                     const ConfusionMatrixOptions& options = {});

struct IoUOptions {
  std::optional<int64_t> ignore_class = std::nullopt;  // samples of which this is the label do not count
  bool sparse_target = true;                           // targets are classes; false: the largest of an axis is
  bool sparse_prediction = true;                       // predictions are classes; false: the largest of an axis is
  int64_t axis = -1;                                   // of classes that are not sparse
  std::string name = "";
  DType dtype = kFloat32;
};

// TP / (TP + FP + FN), the mean of some classes, of which those that do not occur do not count. Predictions and targets
// are of one shape, without the axis of what is not sparse, and of any type; classes out of range do not count. Weights
// have the targets' shape, or leading dimensions of it, and count with their fractions (Keras's, unless it is told
// another type, are cut to integers).
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
  double threshold = 0.5;  // from which a prediction is of class 1
  std::string name = "";
  DType dtype = kFloat32;
};
// Of predictions in [0, 1].
class PANTO_EXPORT BinaryIoU final : public IoU {
 public:
  BinaryIoU();
  explicit BinaryIoU(const BinaryIoUOptions& options);

 private:
  void update(const Tensor& prediction, const Tensor& target, const Tensor& weights) const override;
  double threshold_;
};

// Of all classes.
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
// Of one-hot targets, and scores unless predictions are sparse.
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
