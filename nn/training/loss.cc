#include "panto/nn/training/loss.h"

#include <cmath>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {

namespace {

// Keras's epsilon: probabilities stay this far from 0 and 1.
constexpr double kEpsilon = 1e-7;

// An undefined one for a number.
Tensor tensor_of(const Arg& x) {
  if (x.kind() == Arg::Kind::kVariable) return x.variable().value(x.where());
  return x.is_literal() ? Tensor() : x.tensor();
}

void expect_floating(const Tensor& prediction) {
  if (!prediction.defined()) invalid("prediction: expected a floating tensor, got none");
  if (dtypes::kFloating.contains(prediction.dtype())) return;
  invalid("prediction: expected a floating tensor, got {}{}", dtype_name(prediction.dtype()),
          prediction.partial_shape().to_string());
}

void expect_classes(const Tensor& prediction) {
  if (prediction.partial_shape().rank() == 0) {
    invalid("prediction: expected classes as its last dimension, got a scalar");
  }
}

// The target in the type of the prediction, whose shape it has.
Tensor like(const Tensor& prediction, const Tensor& target) {
  expect_floating(prediction);
  if (!target.defined()) invalid("target: expected a tensor, got none");
  const PartialShape& shape = prediction.partial_shape();
  if (!shape.compatible_with(target.partial_shape())) {
    invalid("target: expected the prediction's shape {}, got {}", shape.to_string(),
            target.partial_shape().to_string());
  }
  return target.dtype() == prediction.dtype() ? target : cast(target, prediction.dtype());
}

// The mean over the last dimension, where there is another one.
Tensor by_sample(const Tensor& values) {
  const PartialShape& shape = values.partial_shape();
  if (!shape.known_rank()) {
    invalid("prediction: expected a known number of dimensions, got shape {}", shape.to_string());
  }
  return shape.rank() > 1 ? mean(values, {-1}) : values;
}

// Whether x can be broadcast to `shape`, as far as both are known.
bool broadcasts_to(const PartialShape& x, const PartialShape& shape) {
  if (!x.known_rank() || !shape.known_rank()) return true;
  if (x.rank() > shape.rank()) return false;
  for (int i = 1; i <= x.rank(); ++i) {
    const int64_t from = x.dim(x.rank() - i);
    const int64_t to = shape.dim(shape.rank() - i);
    if (from > 1 && to >= 0 && from != to) return false;
    if (from == 0 && to > 0) return false;
  }
  return true;
}

Tensor reduce(const Tensor& losses, const Tensor& weights, LossReduction reduction) {
  Tensor values = losses;
  if (weights.defined()) {
    const PartialShape& shape = losses.partial_shape();
    if (!broadcasts_to(weights.partial_shape(), shape)) {
      invalid("weights: expected them to broadcast to the samples' shape {}, got {}", shape.to_string(),
              weights.partial_shape().to_string());
    }
    values = losses * (weights.dtype() == losses.dtype() ? weights : cast(weights, losses.dtype()));
  }
  switch (reduction) {
    case LossReduction::kMean: return mean(values);
    case LossReduction::kSum: return sum(values);
    case LossReduction::kNone: return values;
  }
  invalid("reduction: expected kMean, kSum or kNone, got number {}", static_cast<int>(reduction));
}

Tensor probabilities(const Tensor& p) { return clip(p, kEpsilon, 1 - kEpsilon); }

// log(1 + exp(x)) - x z without overflow. The choice is made by `where`, whose gradient at 0 is that of one side.
Tensor sigmoid_losses(const Tensor& x, const Tensor& z) {
  const Tensor positive = x >= 0.0;
  return where(positive, x, 0.0) - x * z + log1p(exp(where(positive, -x, x)));
}

// [..., classes] -> [batch, classes].
Tensor in_rows(const Tensor& x) { return reshape(x, concat({tensor({-1}), shape(x)(Slice(-1, {}))}, 0)); }
bool is_matrix(const Tensor& x) { return x.partial_shape().rank() == 2 || !x.partial_shape().known_rank(); }

void expect_labels(const Tensor& prediction, const Tensor& labels) {
  expect_floating(prediction);
  expect_classes(prediction);
  if (!labels.defined() || (labels.dtype() != kInt32 && labels.dtype() != kInt64)) {
    invalid("labels: expected int32 or int64, got {}", labels.defined() ? dtype_name(labels.dtype()) : "none");
  }
  const PartialShape& of_prediction = prediction.partial_shape();
  if (!of_prediction.known_rank()) return;
  const PartialShape samples(of_prediction.dims().first(of_prediction.dims().size() - 1));
  if (!samples.compatible_with(labels.partial_shape())) {
    invalid("labels: expected shape {}, the prediction's without its classes, got {}", samples.to_string(),
            labels.partial_shape().to_string());
  }
}

// -log softmax(logits)[label]. Logits of an unknown rank are taken for a matrix.
Tensor losses_of_labels(const Tensor& logits, const Tensor& labels) {
  if (is_matrix(logits)) return sparse_softmax_cross_entropy_and_backprop(logits, labels).loss;
  return reshape(sparse_softmax_cross_entropy_and_backprop(in_rows(logits), reshape(labels, {-1})).loss, shape(labels));
}

void expect_smoothing(double share) {
  if (!(share >= 0 && share <= 1)) invalid("label_smoothing: expected a number in [0, 1], got {}", share);
}

}  // namespace

Tensor mean_squared_error(Arg prediction_arg, Arg target_arg, const LossOptions& options) {
  return from_caller(prediction_arg.where(), [&]() -> Tensor {
    const Tensor prediction = tensor_of(prediction_arg), target = tensor_of(target_arg);
    const Tensor difference = prediction - like(prediction, target);
    return reduce(by_sample(square(difference)), options.weights, options.reduction);
  });
}

Tensor mean_absolute_error(Arg prediction_arg, Arg target_arg, const LossOptions& options) {
  return from_caller(prediction_arg.where(), [&]() -> Tensor {
    const Tensor prediction = tensor_of(prediction_arg), target = tensor_of(target_arg);
    const Tensor difference = prediction - like(prediction, target);
    return reduce(by_sample(abs(difference)), options.weights, options.reduction);
  });
}

Tensor huber(Arg prediction_arg, Arg target_arg, const HuberOptions& options) {
  return from_caller(prediction_arg.where(), [&]() -> Tensor {
    const Tensor prediction = tensor_of(prediction_arg), target = tensor_of(target_arg);
    const double delta = options.delta;
    if (!(delta > 0) || !std::isfinite(delta)) invalid("delta: expected a positive number, got {}", delta);
    const Tensor distance = abs(prediction - like(prediction, target));
    // d * (|e| - d / 2) with d = min(|e|, delta): both pieces at once, and no square overflows.
    const Tensor d = minimum(distance, delta);
    return reduce(by_sample(d * (distance - 0.5 * d)), options.weights, options.reduction);
  });
}

Tensor binary_cross_entropy(Arg prediction_arg, Arg target_arg, const CrossEntropyOptions& options) {
  return from_caller(prediction_arg.where(), [&]() -> Tensor {
    const Tensor prediction = tensor_of(prediction_arg), target = tensor_of(target_arg);
    Tensor z = like(prediction, target);
    const double share = options.label_smoothing;
    expect_smoothing(share);
    if (share > 0) z = z * (1 - share) + 0.5 * share;
    Tensor losses;
    if (options.from_logits) {
      losses = sigmoid_losses(prediction, z);
    } else {
      const Tensor p = probabilities(prediction);
      losses = -(z * log(p) + (1.0 - z) * log(1.0 - p));
    }
    return reduce(by_sample(losses), options.weights, options.reduction);
  });
}

Tensor categorical_cross_entropy(Arg prediction_arg, Arg target_arg, const CrossEntropyOptions& options) {
  return from_caller(prediction_arg.where(), [&]() -> Tensor {
    const Tensor prediction = tensor_of(prediction_arg), target = tensor_of(target_arg);
    Tensor z = like(prediction, target);
    expect_classes(prediction);
    const double share = options.label_smoothing;
    expect_smoothing(share);
    if (share > 0) {
      const Tensor classes = cast(shape(z)[-1], z.dtype());
      z = z * (1 - share) + share / classes;
    }
    const Tensor logs = options.from_logits
                            ? log_softmax(prediction)
                            : log(probabilities(prediction / sum(prediction, {-1}, {.keep_dims = true})));
    return reduce(-sum(z * logs, {-1}), options.weights, options.reduction);
  });
}

Tensor sparse_categorical_cross_entropy(Arg prediction_arg, Arg labels_arg, const SparseCrossEntropyOptions& options) {
  return from_caller(prediction_arg.where(), [&]() -> Tensor {
    const Tensor prediction = tensor_of(prediction_arg), labels = tensor_of(labels_arg);
    expect_labels(prediction, labels);
    const PartialShape& of_prediction = prediction.partial_shape();
    const PartialShape& of_labels = labels.partial_shape();
    if (!of_prediction.known_rank() || !of_labels.known_rank()) {
      invalid("prediction and labels: expected known numbers of dimensions, got shapes {} and {}",
              of_prediction.to_string(), of_labels.to_string());
    }
    const Tensor logits = options.from_logits ? prediction : log(probabilities(prediction));
    return reduce(losses_of_labels(logits, labels), options.weights, options.reduction);
  });
}

Tensor softmax_cross_entropy_with_logits(Arg logits_arg, Arg labels_arg) {
  return from_caller(logits_arg.where(), [&]() -> Tensor {
    const Tensor logits = tensor_of(logits_arg);
    const Tensor labels = like(logits, tensor_of(labels_arg));
    expect_classes(logits);
    if (is_matrix(logits)) return softmax_cross_entropy_and_backprop(logits, labels).loss;
    const Tensor losses = softmax_cross_entropy_and_backprop(in_rows(logits), in_rows(labels)).loss;
    return reshape(losses, shape(logits)(Slice(0, -1)));
  });
}

Tensor sparse_softmax_cross_entropy_with_logits(Arg logits_arg, Arg labels_arg) {
  return from_caller(logits_arg.where(), [&]() -> Tensor {
    const Tensor logits = tensor_of(logits_arg), labels = tensor_of(labels_arg);
    expect_labels(logits, labels);
    return losses_of_labels(logits, labels);
  });
}

Tensor sigmoid_cross_entropy_with_logits(Arg logits_arg, Arg labels_arg) {
  return from_caller(logits_arg.where(), [&]() -> Tensor {
    const Tensor logits = tensor_of(logits_arg);
    const Tensor labels = like(logits, tensor_of(labels_arg));
    return sigmoid_losses(logits, labels);
  });
}

Tensor sparse_cross_entropy(Arg logits_arg, Arg labels_arg) {
  return from_caller(logits_arg.where(), [&]() -> Tensor {
    const Tensor logits = tensor_of(logits_arg), labels = tensor_of(labels_arg);
    return mean(sparse_softmax_cross_entropy_and_backprop(logits, labels).loss);
  });
}

Tensor accuracy(Arg logits_arg, Arg labels_arg) {
  return from_caller(logits_arg.where(), [&]() -> Tensor {
    const Tensor logits = tensor_of(logits_arg), labels = tensor_of(labels_arg);
    const Tensor predicted = argmax(logits, 1, {.output_type = labels.dtype()});
    return mean(cast(equal(predicted, labels), kFloat32));
  });
}

}  // namespace panto
