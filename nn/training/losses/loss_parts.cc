#include "panto/nn/training/losses/loss_parts.h"

#include <vector>

#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto::detail {

Tensor given_tensor(const Arg& x) {
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

void expect_labels(const Tensor& prediction, const Tensor& labels) {
  expect_floating(prediction);
  expect_integer_labels(prediction, labels);
}

void expect_integer_labels(const Tensor& prediction, const Tensor& labels) {
  if (!prediction.defined()) invalid("prediction: expected a tensor, got none");
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

void expect_one_shape(const Tensor& prediction, const Tensor& target) {
  if (!prediction.defined()) invalid("prediction: expected a tensor, got none");
  if (!target.defined()) invalid("target: expected a tensor, got none");
  const PartialShape& shape = prediction.partial_shape();
  if (shape.compatible_with(target.partial_shape())) return;
  invalid("target: expected the prediction's shape {}, got {}", shape.to_string(), target.partial_shape().to_string());
}

Tensor in_rows(const Tensor& x) { return reshape(x, concat({tensor({-1}), shape(x)(Slice(-1, {}))}, 0)); }

Tensor counts(const Tensor& labels, int64_t ignored) {
  return (labels.dtype() == kInt64 ? labels : cast(labels, kInt64)) != ignored;
}

Tensor like(const Tensor& prediction, const Tensor& target) {
  expect_floating(prediction);
  expect_one_shape(prediction, target);
  return target.dtype() == prediction.dtype() ? target : cast(target, prediction.dtype());
}

int known_rank(const char* what, const Tensor& x) {
  const PartialShape& shape = x.partial_shape();
  if (!shape.known_rank()) {
    invalid("{}: expected a known number of dimensions, got shape {}", what, shape.to_string());
  }
  return shape.rank();
}

int64_t axis_of(const Tensor& x, int64_t axis) {
  const int rank = known_rank("prediction", x);
  if (axis < -rank || axis >= rank) {
    invalid("axis: expected one of {} dimensions, got {} for shape {}", rank, axis, x.partial_shape().to_string());
  }
  return axis < 0 ? axis + rank : axis;
}

Tensor axis_last(const Tensor& x, int64_t axis) {
  if (axis == -1) return x;
  const int64_t rank = known_rank("prediction", x), moved = axis_of(x, axis);
  if (moved == rank - 1) return x;
  std::vector<int64_t> order;
  for (int64_t k = 0; k < rank; ++k) {
    if (k != moved) order.push_back(k);
  }
  order.push_back(moved);
  return transpose(x, order);
}

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

Tensor by_sample(const Tensor& values, int64_t axis) {
  if (known_rank("prediction", values) == 0) return values;
  const int64_t over = axis_of(values, axis);
  return values.partial_shape().rank() > 1 ? mean(values, {over}) : values;
}

Tensor reduce_losses(const Tensor& losses, const Tensor& weights, LossReduction reduction, const Tensor& mask) {
  Tensor values = mask.defined() ? where(mask, losses, zeros_like(losses)) : losses;
  Tensor factors;
  if (weights.defined()) {
    const PartialShape& shape = losses.partial_shape();
    if (!broadcasts_to(weights.partial_shape(), shape)) {
      invalid("weights: expected them to broadcast to the samples' shape {}, got {}", shape.to_string(),
              weights.partial_shape().to_string());
    }
    factors = weights.dtype() == losses.dtype() ? weights : cast(weights, losses.dtype());
    values = values * factors;
  }
  // Weight 1 for each sample that counts.
  const DType type = losses.dtype(), wide = type == kFloat16 || type == kBFloat16 ? kFloat32 : type;
  const auto widened = [&](const Tensor& x) { return x.dtype() == wide ? x : cast(x, wide); };
  const auto counted = [&] { return widened(mask.defined() ? mask : ones_like(losses)); };
  // 16-bit values are summed in float32, since the number of samples may not fit in a 16-bit float.
  const auto divided_by = [&](const Tensor& all) {
    const Tensor quotient = div_no_nan(sum(widened(values)), sum(all));
    return type == wide ? quotient : cast(quotient, type);
  };
  switch (reduction) {
    case LossReduction::kMean: return mask.defined() ? divided_by(counted()) : mean(values);
    case LossReduction::kWeightedMean: return divided_by(factors.defined() ? counted() * widened(factors) : counted());
    case LossReduction::kSum: return sum(values);
    case LossReduction::kNone: return values;
  }
  invalid("reduction: expected kMean, kWeightedMean, kSum or kNone, got number {}", static_cast<int>(reduction));
}

Tensor probabilities(const Tensor& p) { return clip(p, kLossEpsilon, 1 - kLossEpsilon); }
Tensor class_probabilities(const Tensor& p) { return probabilities(p / sum(p, {-1}, {.keep_dims = true})); }

Tensor smoothed(const Tensor& target, double share, bool binary) {
  if (!(share >= 0 && share <= 1)) invalid("label_smoothing: expected a number in [0, 1], got {}", share);
  if (share == 0) return target;
  const Tensor scaled = target * (1 - share);
  return binary ? scaled + 0.5 * share : scaled + share / cast(shape(target)[-1], target.dtype());
}

Tensor binary_losses(const Tensor& p, const Tensor& z) { return -(z * log(p) + (1.0 - z) * log(1.0 - p)); }

// log(1 + exp(x)) - x z without overflow. `where` makes the choice, so the gradient at 0 is one side's.
Tensor sigmoid_losses(const Tensor& x, const Tensor& z) {
  const Tensor positive = x >= 0.0;
  return where(positive, x, 0.0) - x * z + log1p(exp(where(positive, -x, x)));
}

Tensor normalized(const Tensor& x, int64_t axis) {
  // 1e-7 squared is 0 in float16.
  if (x.dtype() == kFloat16) return cast(normalized(cast(x, kFloat32), axis), kFloat16);
  const Tensor squares = sum(square(x), ReduceOptions{.axis = {axis}, .keep_dims = true});
  return x * rsqrt(maximum(squares, kLossEpsilon * kLossEpsilon));
}

}  // namespace panto::detail
