#include "panto/nn/metrics/overlap.h"

#include <numeric>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/metrics/metric_parts.h"
#include "panto/nn/training/losses/loss_parts.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto::metrics {

namespace {

void expect_classes(const char* what, const Tensor& x) {
  if (!x.defined() || (x.dtype() != kInt32 && x.dtype() != kInt64)) {
    invalid("{}: expected int32 or int64, got {}", what, x.defined() ? dtype_name(x.dtype()) : "none");
  }
  if (!PartialShape{-1}.compatible_with(x.partial_shape())) {
    invalid("{}: expected a vector, got shape {}", what, x.partial_shape().to_string());
  }
}

// The limit that keeps the number of elements of a [classes, classes] table countable.
constexpr int64_t kMostClasses = 1 << 20;

int64_t expect_number(int64_t classes) {
  if (classes >= 1 && classes <= kMostClasses) return classes;
  invalid("num_classes: expected a number in [1, {}], got {}", kMostClasses, classes);
}

std::vector<int64_t> up_to(int64_t count) {
  std::vector<int64_t> all(static_cast<size_t>(expect_number(count)));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Whether classes are in [0, number).
Tensor within(const Tensor& x, int64_t number) { return logical_and(x >= int64_t{0}, x < number); }

IoUOptions one_hot_options(const OneHotIoUOptions& options) {
  return {.ignore_class = options.ignore_class,
          .sparse_target = false,
          .sparse_prediction = options.sparse_prediction,
          .axis = options.axis,
          .name = options.name,
          .dtype = options.dtype};
}

}  // namespace

Tensor confusion_matrix(Arg prediction_arg, Arg labels_arg, int64_t num_classes,
                        const ConfusionMatrixOptions& options) {
  return from_caller(prediction_arg.where(), [&]() -> Tensor {
    const Tensor prediction = detail::given_tensor(prediction_arg), labels = detail::given_tensor(labels_arg);
    expect_number(num_classes);
    expect_classes("prediction", prediction);
    expect_classes("labels", labels);
    if (!prediction.partial_shape().compatible_with(labels.partial_shape())) {
      invalid("labels: expected the prediction's shape {}, got {}", prediction.partial_shape().to_string(),
              labels.partial_shape().to_string());
    }
    Tensor counts = cast(ones_like(labels), options.dtype);
    if (options.weights.defined()) {
      if (!detail::broadcasts_to(options.weights.partial_shape(), labels.partial_shape())) {
        invalid("weights: expected them to broadcast to the labels' shape {}, got {}",
                labels.partial_shape().to_string(), options.weights.partial_shape().to_string());
      }
      counts = counts * cast(options.weights, options.dtype);
    }
    const Tensor row = cast(labels, kInt64), column = cast(prediction, kInt64);
    // Invalid labels map to a position after the last, which is an error.
    const int64_t places = num_classes * num_classes;
    const Tensor valid = logical_and(within(row, num_classes), within(column, num_classes));
    const Tensor place = where(valid, row * num_classes + column, places);
    return reshape(unsorted_segment_sum(counts, place, places), {num_classes, num_classes});
  });
}

IoU::IoU(int64_t num_classes, std::vector<int64_t> target_class_ids)
    : IoU(num_classes, std::move(target_class_ids), IoUOptions()) {}
IoU::IoU(int64_t num_classes, std::vector<int64_t> target_class_ids, const IoUOptions& options)
    : IoU(num_classes, std::move(target_class_ids), options, "io_u") {}
IoU::IoU(int64_t num_classes, std::vector<int64_t> target_class_ids, const IoUOptions& options, std::string_view name)
    : PredictionMetric(of_metric(options), name),
      classes_(expect_number(num_classes)),
      targets_(std::move(target_class_ids)),
      ignored_(options.ignore_class),
      sparse_target_(options.sparse_target),
      sparse_prediction_(options.sparse_prediction),
      axis_(options.axis) {
  if (targets_.empty()) invalid("target_class_ids: expected at least one class, got none");
  for (int64_t id : targets_) {
    if (id < 0 || id >= num_classes) invalid("target_class_ids: expected classes in [0, {}), got {}", num_classes, id);
  }
  matrix_ = add_state("total_confusion_matrix", {num_classes, num_classes});
}

void IoU::update(const Tensor& prediction, const Tensor& target, const Tensor& given) const {
  const auto classes_of = [&](const Tensor& x, bool sparse) {
    return sparse ? cast(x, kInt64) : argmax(x, detail::axis_of(x, axis_));
  };
  const Tensor t = classes_of(target, sparse_target_), p = classes_of(prediction, sparse_prediction_);
  if (!p.partial_shape().compatible_with(t.partial_shape())) {
    invalid("target: expected classes of the prediction's shape {}, got {}", p.partial_shape().to_string(),
            t.partial_shape().to_string());
  }
  Tensor weights = cast(ones_like(t), dtype());
  if (given.defined()) weights = weights * weights_beside(given, t, dtype());
  Tensor counted = logical_and(within(t, classes_), within(p, classes_));
  if (ignored_) counted = logical_and(counted, t != *ignored_);
  // Negative positions are ignored.
  const Tensor places = where(counted, t * classes_ + p, int64_t{-1});
  const Tensor sums = unsorted_segment_sum(reshape(weights, {-1}), reshape(places, {-1}), classes_ * classes_);
  matrix_.assign_add(reshape(sums, {classes_, classes_}));
}

Tensor IoU::compute() const {
  const Tensor matrix = matrix_.value();
  std::vector<int64_t> diagonal;
  for (int64_t id : targets_) diagonal.push_back(id * (classes_ + 1));
  const Tensor each = gather(reshape(matrix, {-1}), Arg(diagonal));
  const Tensor all = gather(sum(matrix, {0}) + sum(matrix, {1}), Arg(targets_)) - each;
  const Tensor occurs = all > 1e-9;
  const Tensor overlaps = where(occurs, each / (all + detail::kLossEpsilon), 0.0);
  return sum(overlaps) / (sum(cast(occurs, dtype())) + detail::kLossEpsilon);
}

BinaryIoU::BinaryIoU() : BinaryIoU(BinaryIoUOptions()) {}
BinaryIoU::BinaryIoU(const BinaryIoUOptions& options)
    : IoU(2, options.target_class_ids, {.name = options.name, .dtype = options.dtype}, "binary_io_u"),
      threshold_(options.threshold) {}

void BinaryIoU::update(const Tensor& prediction, const Tensor& target, const Tensor& weights) const {
  detail::expect_floating(prediction);
  IoU::update(prediction >= threshold_, target, weights);
}

MeanIoU::MeanIoU(int64_t num_classes) : MeanIoU(num_classes, IoUOptions()) {}
MeanIoU::MeanIoU(int64_t num_classes, const IoUOptions& options) : MeanIoU(num_classes, options, "mean_io_u") {}
MeanIoU::MeanIoU(int64_t num_classes, const IoUOptions& options, std::string_view name)
    : IoU(num_classes, up_to(num_classes), options, name) {}

OneHotIoU::OneHotIoU(int64_t num_classes, std::vector<int64_t> target_class_ids)
    : OneHotIoU(num_classes, std::move(target_class_ids), OneHotIoUOptions()) {}
OneHotIoU::OneHotIoU(int64_t num_classes, std::vector<int64_t> target_class_ids, const OneHotIoUOptions& options)
    : IoU(num_classes, std::move(target_class_ids), one_hot_options(options), "one_hot_io_u") {}

OneHotMeanIoU::OneHotMeanIoU(int64_t num_classes) : OneHotMeanIoU(num_classes, OneHotIoUOptions()) {}
OneHotMeanIoU::OneHotMeanIoU(int64_t num_classes, const OneHotIoUOptions& options)
    : MeanIoU(num_classes, one_hot_options(options), "one_hot_mean_io_u") {}

}  // namespace panto::metrics
