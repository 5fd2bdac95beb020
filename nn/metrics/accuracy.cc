#include "panto/nn/metrics/accuracy.h"

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/metrics/metric_parts.h"
#include "panto/nn/training/losses/loss_parts.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto::metrics {

using detail::expect_integer_labels, detail::expect_one_shape, detail::in_rows, detail::given_tensor;

namespace {

void expect_positive(int64_t k) {
  if (k < 1) invalid("k: expected at least 1, got {}", k);
}

Tensor matches(const Tensor& hits) { return cast(hits, kFloat32); }

Tensor are_equal(const Tensor& prediction, const Tensor& target) {
  expect_one_shape(prediction, target);
  return matches(equal(prediction, target.dtype() == prediction.dtype() ? target : cast(target, prediction.dtype())));
}

Tensor largest(const Tensor& x, DType type = kInt64) {
  detail::expect_classes(x);
  return argmax(x, -1, {.output_type = type});
}

// Whether labels are among the k largest.
Tensor in_first(const Tensor& prediction, const Tensor& labels, int64_t k) {
  expect_positive(k);
  detail::expect_labels(prediction, labels);
  const Tensor scores = prediction.dtype() == kFloat32 ? prediction : cast(prediction, kFloat32);
  const Tensor rows = in_rows(scores);
  const DeviceScope only_there("CPU:0");
  const Tensor hits = in_top_k(rows, cast(reshape(labels, {-1}), kInt64), k);
  return reshape(matches(hits), shape(labels));
}

}  // namespace

Tensor binary_accuracy(Arg prediction_arg, Arg target_arg, double threshold) {
  return from_caller(prediction_arg.where(), [&]() -> Tensor {
    const Tensor prediction = given_tensor(prediction_arg), target = given_tensor(target_arg);
    detail::expect_floating(prediction);
    expect_one_shape(prediction, target);
    return are_equal(cast(prediction > threshold, target.dtype()), target);
  });
}

Tensor categorical_accuracy(Arg prediction_arg, Arg target_arg) {
  return from_caller(prediction_arg.where(), [&]() -> Tensor {
    const Tensor prediction = given_tensor(prediction_arg), target = given_tensor(target_arg);
    expect_one_shape(prediction, target);
    return matches(equal(largest(prediction), largest(target)));
  });
}

Tensor sparse_categorical_accuracy(Arg prediction_arg, Arg labels_arg) {
  return from_caller(prediction_arg.where(), [&]() -> Tensor {
    const Tensor prediction = given_tensor(prediction_arg), labels = given_tensor(labels_arg);
    expect_integer_labels(prediction, labels);
    return matches(equal(largest(prediction, labels.dtype()), labels));
  });
}

Tensor top_k_categorical_accuracy(Arg prediction_arg, Arg target_arg, int64_t k) {
  return from_caller(prediction_arg.where(), [&]() -> Tensor {
    const Tensor prediction = given_tensor(prediction_arg), target = given_tensor(target_arg);
    detail::expect_floating(prediction);
    expect_one_shape(prediction, target);
    return in_first(prediction, largest(target), k);
  });
}

Tensor sparse_top_k_categorical_accuracy(Arg prediction_arg, Arg labels_arg, int64_t k, bool from_sorted_ids) {
  return from_caller(prediction_arg.where(), [&]() -> Tensor {
    const Tensor prediction = given_tensor(prediction_arg), labels = given_tensor(labels_arg);
    if (!from_sorted_ids) return in_first(prediction, labels, k);
    expect_positive(k);
    expect_integer_labels(prediction, labels);
    const Tensor first = prediction(Ellipsis, Slice(0, k));
    return matches(any(equal(expand_dims(cast(labels, prediction.dtype()), -1), first), {-1}));
  });
}

Accuracy::Accuracy() : Accuracy(MetricOptions()) {}
Accuracy::Accuracy(const MetricOptions& options) : MeanMetricWrapper(are_equal, options, "accuracy") {}

BinaryAccuracy::BinaryAccuracy() : BinaryAccuracy(BinaryAccuracyOptions()) {}
BinaryAccuracy::BinaryAccuracy(const BinaryAccuracyOptions& options)
    : MeanMetricWrapper([threshold = options.threshold](const Tensor& p,
                                                        const Tensor& t) { return binary_accuracy(p, t, threshold); },
                        of_metric(options), "binary_accuracy") {}

CategoricalAccuracy::CategoricalAccuracy() : CategoricalAccuracy(MetricOptions()) {}
CategoricalAccuracy::CategoricalAccuracy(const MetricOptions& options)
    : MeanMetricWrapper([](const Tensor& p, const Tensor& t) { return categorical_accuracy(p, t); }, options,
                        "categorical_accuracy") {}

SparseCategoricalAccuracy::SparseCategoricalAccuracy() : SparseCategoricalAccuracy(MetricOptions()) {}
SparseCategoricalAccuracy::SparseCategoricalAccuracy(const MetricOptions& options)
    : MeanMetricWrapper([](const Tensor& p, const Tensor& t) { return sparse_categorical_accuracy(p, t); }, options,
                        "sparse_categorical_accuracy") {}

TopKCategoricalAccuracy::TopKCategoricalAccuracy() : TopKCategoricalAccuracy(TopKOptions()) {}
TopKCategoricalAccuracy::TopKCategoricalAccuracy(const TopKOptions& options)
    : MeanMetricWrapper(
          [k = options.k](const Tensor& p, const Tensor& t) { return top_k_categorical_accuracy(p, t, k); },
          of_metric(options), "top_k_categorical_accuracy") {
  expect_positive(options.k);
}

SparseTopKCategoricalAccuracy::SparseTopKCategoricalAccuracy() : SparseTopKCategoricalAccuracy(SparseTopKOptions()) {}
SparseTopKCategoricalAccuracy::SparseTopKCategoricalAccuracy(const SparseTopKOptions& options)
    : MeanMetricWrapper(
          [k = options.k, ids = options.from_sorted_ids](const Tensor& p, const Tensor& t) {
            return sparse_top_k_categorical_accuracy(p, t, k, ids);
          },
          of_metric(options), "sparse_top_k_categorical_accuracy") {
  expect_positive(options.k);
}

}  // namespace panto::metrics
