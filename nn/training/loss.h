// Losses over a batch.
//
//   Tensor loss = sparse_categorical_cross_entropy(model(images), labels, {.from_logits = true});
//   Tensor loss = mean_squared_error(model(x), y, {.weights = w, .reduction = LossReduction::kSum});
//
// Predictions come first, then targets of the same shape (nothing is broadcast), cast to the predictions' type if
// theirs differs. A loss has one value for each sample: [batch, ...] without the last dimension, which is averaged
// (mean_..., huber, binary_...) or holds the classes (categorical). In a vector of predictions each element is a
// sample, if there are no classes. Values are Keras's. More losses: losses/regression.h, losses/classification.h,
// losses/sampled.h; metrics that accumulate over batches: nn/metrics.
//
// All throw InvalidArgument if shapes do not fit, predictions are not floating or options are out of range.
// Thread-safety: as that of ops.
#pragma once

#include <cstdint>
#include <optional>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

enum class LossReduction : uint8_t {
  kMean,  // the sum divided by the number of samples, whatever their weights
  kSum,
  kNone,          // one value per sample
  kWeightedMean,  // the sum divided by the sum of weights; 0 if these are all 0
};

struct LossOptions {
  Tensor weights = {};  // multiplied with the samples' values: broadcast to them
  LossReduction reduction = LossReduction::kMean;
};

// (prediction - target)^2.
PANTO_EXPORT Tensor mean_squared_error(Arg prediction, Arg target, const LossOptions& options = {});
// |prediction - target|.
PANTO_EXPORT Tensor mean_absolute_error(Arg prediction, Arg target, const LossOptions& options = {});

struct HuberOptions {
  double delta = 1;  // positive
  Tensor weights = {};
  LossReduction reduction = LossReduction::kMean;
};
// d^2 / 2 where |d| = |prediction - target| <= delta, delta * (|d| - delta / 2) elsewhere (Huber 1964).
PANTO_EXPORT Tensor huber(Arg prediction, Arg target, const HuberOptions& options = {});

struct CrossEntropyOptions {
  bool from_logits = false;    // predictions are logits instead of probabilities
  double label_smoothing = 0;  // in [0, 1]: this share of each label is spread evenly over all classes
  int64_t axis = -1;           // of the classes; for binary losses, the axis to average over
  Tensor weights = {};
  LossReduction reduction = LossReduction::kMean;
};
// -target * log(p) - (1 - target) * log(1 - p), where p is the prediction clipped to [1e-7, 1 - 1e-7], or the sigmoid
// of logits (computed without overflow, and precise also for p near 0 or 1). Targets are in [0, 1].
PANTO_EXPORT Tensor binary_cross_entropy(Arg prediction, Arg target, const CrossEntropyOptions& options = {});
// -sum(target * log(p)) over the classes, where p is the prediction divided by its sum and clipped to [1e-7, 1 - 1e-7],
// or the softmax of logits. Targets are one-hot or any probabilities.
PANTO_EXPORT Tensor categorical_cross_entropy(Arg prediction, Arg target, const CrossEntropyOptions& options = {});

struct SparseCrossEntropyOptions {
  bool from_logits = false;
  std::optional<int64_t> ignore_class = std::nullopt;  // samples with this label do not count; may be any integer
  int64_t axis = -1;                                   // of the classes
  Tensor weights = {};
  LossReduction reduction = LossReduction::kMean;
};
// -log(p[label]), where p is the softmax of logits, or the prediction [..., classes] clipped to [1e-7, 1 - 1e-7] and
// divided by its sum. Labels are int32 or int64 of shape [...]. Throws InvalidArgument for a label not in [0, classes).
PANTO_EXPORT Tensor sparse_categorical_cross_entropy(Arg prediction, Arg labels,
                                                     const SparseCrossEntropyOptions& options = {});

// ---- TensorFlow's, with arguments (logits, labels): one value per sample --------------------------------------------
// (TensorFlow takes them by name, labels first.)

// -sum(labels * log softmax(logits)) over the last dimension, the classes: [..., classes] -> [...]. Labels are
// probabilities, in the logits' shape.
PANTO_EXPORT Tensor softmax_cross_entropy_with_logits(Arg logits, Arg labels);
// -log softmax(logits)[label]: logits [..., classes], labels [...] int32 or int64 -> [...]. Throws InvalidArgument for
// a label not in [0, classes).
PANTO_EXPORT Tensor sparse_softmax_cross_entropy_with_logits(Arg logits, Arg labels);
// -labels * log(p) - (1 - labels) * log(1 - p) with p = sigmoid(logits), element by element, without overflow. Labels
// have the logits' shape.
PANTO_EXPORT Tensor sigmoid_cross_entropy_with_logits(Arg logits, Arg labels);

// Mean over the batch of -log softmax(logits)[label]: logits [batch, classes] floating, labels [batch] int32 or int64
// in [0, classes). A scalar. Throws InvalidArgument for a label out of range.
PANTO_EXPORT Tensor sparse_cross_entropy(Arg logits, Arg labels);
// Share of the rows whose largest logit is at the label: a float32 scalar in [0, 1].
PANTO_EXPORT Tensor accuracy(Arg logits, Arg labels);

}  // namespace panto
