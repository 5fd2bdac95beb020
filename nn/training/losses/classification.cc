#include "panto/nn/training/losses/classification.h"

#include <cmath>

#include "panto/lib/core/tensor/device.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/training/losses/loss_parts.h"
#include "panto/nn/training/options.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {

using detail::axis_last, detail::by_sample, detail::expect_classes, detail::kLossEpsilon, detail::loss_of,
    detail::reduce_losses, detail::smoothed, detail::given_tensor;

namespace {

// Maps targets of 0 and 1 to -1 and 1. Decided at run time, since it depends on their values.
Tensor signs(const Tensor& t) {
  const Tensor binary = all(logical_or(t == 0.0, t == 1.0));
  return where(binary, 2.0 * t - 1.0, t);
}

Tensor margins(const Tensor& p, const Tensor& t) { return maximum(1.0 - signs(t) * p, 0.0); }

Tensor sum_over(const Tensor& x, const std::vector<int64_t>& axis) { return sum(x, ReduceOptions{.axis = axis}); }

// Checks embeddings [n, features] and labels [n].
void expect_embeddings(const char* what, const Tensor& x, const Tensor& labels) {
  const PartialShape& shape = x.partial_shape();
  if (shape.known_rank() && shape.rank() != 2) {
    invalid("{}: expected shape [batch, features], got {}", what, shape.to_string());
  }
  detail::expect_labels(x, labels);
}

// log(sum(exp(x))) over each row's chosen elements; if none is chosen, a number whose exponential is 0. (Minus infinity
// would be correct too, but its gradients are NaN.)
Tensor logsumexp_of(const Tensor& x, const Tensor& chosen) {
  return logsumexp(where(chosen, x, x.dtype() == kFloat16 ? -6e4 : -1e30), {1});
}

}  // namespace

Tensor binary_focal_cross_entropy(Arg prediction, Arg target, const BinaryFocalOptions& options) {
  return loss_of(prediction, target, options, [&](const Tensor& x, const Tensor& t) {
    const double gamma = not_negative("gamma", options.gamma), alpha = options.alpha;
    const Tensor z = smoothed(t, options.label_smoothing, true);
    const Tensor p = options.from_logits ? sigmoid(x) : x;
    const Tensor given = z * p + (1.0 - z) * (1.0 - p);
    Tensor losses = pow(1.0 - given, gamma) * detail::binary_losses(detail::probabilities(p), z);
    if (options.apply_class_balancing) losses = losses * (z * alpha + (1.0 - z) * (1 - alpha));
    return by_sample(losses, options.axis);
  });
}

Tensor categorical_focal_cross_entropy(Arg prediction, Arg target, const CategoricalFocalOptions& options) {
  return loss_of(prediction, target, options, [&](const Tensor& x, const Tensor& t) {
    const double gamma = not_negative("gamma", options.gamma);
    expect_classes(x);
    const Tensor z = smoothed(axis_last(t, options.axis), options.label_smoothing, false);
    const Tensor classes = axis_last(x, options.axis);
    const Tensor p = detail::class_probabilities(options.from_logits ? softmax(classes) : classes);
    const Tensor losses = pow(1.0 - p, gamma) * (-z * log(p));
    if (options.alphas.empty()) return sum(options.alpha * losses, {-1});
    const Tensor alphas = cast(tensor(options.alphas), losses.dtype());
    if (!detail::broadcasts_to(alphas.partial_shape(), losses.partial_shape())) {
      invalid("alphas: expected one for each class of shape {}, got {}", losses.partial_shape().to_string(),
              options.alphas.size());
    }
    return sum(alphas * losses, {-1});
  });
}

Tensor categorical_generalized_cross_entropy(Arg prediction_arg, Arg labels_arg,
                                             const GeneralizedCrossEntropyOptions& options) {
  return from_caller(prediction_arg.where(), [&]() -> Tensor {
    const double q = options.q;
    if (!(q > 0 && q < 1)) invalid("q: expected a number in (0, 1), got {}", q);
    const Tensor p = given_tensor(prediction_arg), labels = given_tensor(labels_arg);
    detail::expect_labels(p, labels);
    const int rank = detail::known_rank("prediction", p);
    const Tensor of_label =
        squeeze(gather(p, expand_dims(labels, -1), rank - 1, {.batch_dims = rank - 1}), {.squeeze_dims = {-1}});
    return reduce_losses((1.0 - pow(of_label, q)) / q, options.weights, options.reduction);
  });
}

Tensor hinge(Arg prediction, Arg target, const LossOptions& options) {
  return loss_of(prediction, target, options,
                 [](const Tensor& p, const Tensor& t) { return by_sample(margins(p, t)); });
}

Tensor squared_hinge(Arg prediction, Arg target, const LossOptions& options) {
  return loss_of(prediction, target, options,
                 [](const Tensor& p, const Tensor& t) { return by_sample(square(margins(p, t))); });
}

Tensor categorical_hinge(Arg prediction, Arg target, const LossOptions& options) {
  return loss_of(prediction, target, options, [](const Tensor& p, const Tensor& t) {
    expect_classes(p);
    return maximum(max((1.0 - t) * p, {-1}) - sum(t * p, {-1}) + 1.0, 0.0);
  });
}

Tensor dice(Arg prediction, Arg target, const DiceOptions& options) {
  return loss_of(prediction, target, options, [&](const Tensor& p, const Tensor& t) {
    const Tensor both = sum_over(t * p, options.axis);
    return 1.0 - 2.0 * both / (sum_over(t, options.axis) + sum_over(p, options.axis) + kLossEpsilon);
  });
}

Tensor tversky(Arg prediction, Arg target, const TverskyOptions& options) {
  return loss_of(prediction, target, options, [&](const Tensor& p, const Tensor& t) {
    const Tensor both = sum_over(t * p, options.axis);
    const Tensor missed = sum_over((1.0 - p) * t, options.axis), wrong = sum_over(p * (1.0 - t), options.axis);
    return 1.0 - both / (both + missed * options.alpha + wrong * options.beta + kLossEpsilon);
  });
}

Tensor circle(Arg embeddings_arg, Arg labels_arg, const CircleOptions& options) {
  return from_caller(embeddings_arg.where(), [&]() -> Tensor {
    const double gamma = not_negative("gamma", options.gamma), margin = options.margin;
    const Tensor x = given_tensor(embeddings_arg);
    Tensor labels = given_tensor(labels_arg);
    expect_embeddings("embeddings", x, labels);
    if (options.ref_embeddings.defined() && !options.ref_labels.defined()) {
      invalid("ref_labels: expected a label for each reference, got none");
    }
    Tensor others = x, their_labels = labels;
    if (options.ref_labels.defined()) {
      if (options.ref_embeddings.defined()) others = options.ref_embeddings;
      their_labels = options.ref_labels;
      expect_embeddings("ref_embeddings", others, their_labels);
      if (others.dtype() != x.dtype()) others = cast(others, x.dtype());
      if (their_labels.dtype() != labels.dtype()) {
        labels = cast(labels, kInt64);
        their_labels = cast(their_labels, kInt64);
      }
    }
    const Tensor distance = maximum(1.0 - matmul(x, others, {.transpose_b = true}), 0.0);
    const Tensor same = equal(expand_dims(labels, 1), expand_dims(their_labels, 0));
    Tensor positive = same;
    if (options.remove_diagonal) {
      const Tensor own =
          equal(expand_dims(range(0, shape(labels)[0], 1), 1), expand_dims(range(0, shape(their_labels)[0], 1), 0));
      positive = logical_and(same, logical_not(own));
    }
    const Tensor near = (-gamma) * (margin + distance) * (margin - distance);
    const Tensor far = gamma * maximum(1 + margin - distance, 0.0) * (1 - margin - distance);
    const Tensor losses = softplus(logsumexp_of(near, positive) + logsumexp_of(far, logical_not(same)));
    return reduce_losses(losses, options.weights, options.reduction, losses > 0.0);
  });
}

Tensor ctc(Arg logits_arg, Arg labels_arg, const CtcOptions& options) {
  return from_caller(logits_arg.where(), [&]() -> Tensor {
    Tensor logits = given_tensor(logits_arg);
    const Tensor labels = given_tensor(labels_arg);
    detail::expect_floating(logits);
    if (const PartialShape& shape = logits.partial_shape(); shape.known_rank() && shape.rank() != 3) {
      invalid("logits: expected shape [batch, time, classes], got {}", shape.to_string());
    }
    if (!labels.defined() || (labels.dtype() != kInt32 && labels.dtype() != kInt64)) {
      invalid("labels: expected int32 or int64, got {}", labels.defined() ? dtype_name(labels.dtype()) : "none");
    }
    if (const PartialShape& shape = labels.partial_shape(); shape.known_rank() && shape.rank() != 2) {
      invalid("labels: expected shape [batch, position], got {}", shape.to_string());
    }
    if (logits.dtype() != kFloat64 && logits.dtype() != kFloat32) logits = cast(logits, kFloat32);
    const DeviceScope only_there("CPU:0");
    // The op's blank is the last class, and its first dimension is time.
    const Tensor by_time = transpose(logits, {1, 0, 2});
    const Tensor scores = concat({by_time(Ellipsis, Slice(1, {})), by_time(Ellipsis, Slice(0, 1))}, 2);
    const Tensor places = where(labels != 0);
    const Tensor values = cast(gather_nd(labels, places), kInt32) - 1;
    const Tensor dims = shape(by_time);
    const Tensor lengths = !options.lengths.defined()          ? fill({dims[1]}, dims[0])
                           : options.lengths.dtype() == kInt32 ? options.lengths
                                                               : cast(options.lengths, kInt32);
    const Tensor losses = ctc_loss(scores, places, values, lengths).loss;
    return reduce_losses(losses, options.weights, options.reduction);
  });
}

}  // namespace panto
