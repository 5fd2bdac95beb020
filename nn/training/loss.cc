#include "panto/nn/training/loss.h"

#include <cmath>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/training/losses/loss_parts.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {

using detail::axis_last, detail::by_sample, detail::expect_classes, detail::expect_labels, detail::in_rows,
    detail::like, detail::loss_of, detail::reduce_losses, detail::smoothed, detail::given_tensor;

namespace {

bool is_matrix(const Tensor& x) { return x.partial_shape().rank() == 2 || !x.partial_shape().known_rank(); }

// -log softmax(logits)[label]. Logits of unknown rank are treated as a matrix.
Tensor losses_of_labels(const Tensor& logits, const Tensor& labels) {
  if (is_matrix(logits)) return sparse_softmax_cross_entropy_and_backprop(logits, labels).loss;
  return reshape(sparse_softmax_cross_entropy_and_backprop(in_rows(logits), reshape(labels, {-1})).loss, shape(labels));
}

}  // namespace

Tensor mean_squared_error(Arg prediction, Arg target, const LossOptions& options) {
  return loss_of(prediction, target, options,
                 [](const Tensor& p, const Tensor& t) { return by_sample(square(p - t)); });
}

Tensor mean_absolute_error(Arg prediction, Arg target, const LossOptions& options) {
  return loss_of(prediction, target, options, [](const Tensor& p, const Tensor& t) { return by_sample(abs(p - t)); });
}

Tensor huber(Arg prediction, Arg target, const HuberOptions& options) {
  return loss_of(prediction, target, options, [&](const Tensor& p, const Tensor& t) {
    const double delta = options.delta;
    if (!(delta > 0) || !std::isfinite(delta)) invalid("delta: expected a positive number, got {}", delta);
    const Tensor distance = abs(p - t);
    // d * (|e| - d / 2) with d = min(|e|, delta) covers both cases, and no square overflows.
    const Tensor d = minimum(distance, delta);
    return by_sample(d * (distance - 0.5 * d));
  });
}

Tensor binary_cross_entropy(Arg prediction, Arg target, const CrossEntropyOptions& options) {
  return loss_of(prediction, target, options, [&](const Tensor& p, const Tensor& t) {
    const Tensor z = smoothed(t, options.label_smoothing, true);
    const Tensor losses =
        options.from_logits ? detail::sigmoid_losses(p, z) : detail::binary_losses(detail::probabilities(p), z);
    return by_sample(losses, options.axis);
  });
}

Tensor categorical_cross_entropy(Arg prediction, Arg target, const CrossEntropyOptions& options) {
  return loss_of(prediction, target, options, [&](const Tensor& p, const Tensor& t) {
    expect_classes(p);
    const Tensor classes = axis_last(p, options.axis);
    const Tensor z = smoothed(axis_last(t, options.axis), options.label_smoothing, false);
    const Tensor logs = options.from_logits ? log_softmax(classes) : log(detail::class_probabilities(classes));
    return -sum(z * logs, {-1});
  });
}

Tensor sparse_categorical_cross_entropy(Arg prediction_arg, Arg labels_arg, const SparseCrossEntropyOptions& options) {
  return from_caller(prediction_arg.where(), [&]() -> Tensor {
    Tensor prediction = given_tensor(prediction_arg), labels = given_tensor(labels_arg);
    detail::expect_floating(prediction);
    expect_classes(prediction);
    prediction = axis_last(prediction, options.axis);
    expect_labels(prediction, labels);
    const PartialShape& of_prediction = prediction.partial_shape();
    const PartialShape& of_labels = labels.partial_shape();
    if (!of_prediction.known_rank() || !of_labels.known_rank()) {
      invalid("prediction and labels: expected known numbers of dimensions, got shapes {} and {}",
              of_prediction.to_string(), of_labels.to_string());
    }
    Tensor counted;
    if (options.ignore_class) {
      counted = detail::counts(labels, *options.ignore_class);
      labels = where(counted, labels, 0);
      prediction = where(expand_dims(counted, -1), prediction, 0.0);
    }
    const Tensor logits = options.from_logits ? prediction : log(detail::probabilities(prediction));
    return reduce_losses(losses_of_labels(logits, labels), options.weights, options.reduction, counted);
  });
}

Tensor softmax_cross_entropy_with_logits(Arg logits_arg, Arg labels_arg) {
  return from_caller(logits_arg.where(), [&]() -> Tensor {
    const Tensor logits = given_tensor(logits_arg);
    const Tensor labels = like(logits, given_tensor(labels_arg));
    expect_classes(logits);
    if (is_matrix(logits)) return softmax_cross_entropy_and_backprop(logits, labels).loss;
    const Tensor losses = softmax_cross_entropy_and_backprop(in_rows(logits), in_rows(labels)).loss;
    return reshape(losses, shape(logits)(Slice(0, -1)));
  });
}

Tensor sparse_softmax_cross_entropy_with_logits(Arg logits_arg, Arg labels_arg) {
  return from_caller(logits_arg.where(), [&]() -> Tensor {
    const Tensor logits = given_tensor(logits_arg), labels = given_tensor(labels_arg);
    expect_labels(logits, labels);
    return losses_of_labels(logits, labels);
  });
}

Tensor sigmoid_cross_entropy_with_logits(Arg logits_arg, Arg labels_arg) {
  return from_caller(logits_arg.where(), [&]() -> Tensor {
    const Tensor logits = given_tensor(logits_arg);
    const Tensor labels = like(logits, given_tensor(labels_arg));
    return detail::sigmoid_losses(logits, labels);
  });
}

Tensor sparse_cross_entropy(Arg logits_arg, Arg labels_arg) {
  return from_caller(logits_arg.where(), [&]() -> Tensor {
    const Tensor logits = given_tensor(logits_arg), labels = given_tensor(labels_arg);
    return mean(sparse_softmax_cross_entropy_and_backprop(logits, labels).loss);
  });
}

Tensor accuracy(Arg logits_arg, Arg labels_arg) {
  return from_caller(logits_arg.where(), [&]() -> Tensor {
    const Tensor logits = given_tensor(logits_arg), labels = given_tensor(labels_arg);
    const Tensor predicted = argmax(logits, 1, {.output_type = labels.dtype()});
    return mean(cast(equal(predicted, labels), kFloat32));
  });
}

}  // namespace panto
