// Helpers shared by losses and metrics. Internal.
#pragma once

#include <cstdint>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/tensor/shape.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/nn/training/loss.h"

namespace panto::detail {

// Keras's epsilon: probabilities stay this far from 0 and 1.
inline constexpr double kLossEpsilon = 1e-7;

// The tensor of an argument; an undefined tensor if it is a number.
Tensor given_tensor(const Arg& x);
// Throws InvalidArgument unless it is a floating tensor.
void expect_floating(const Tensor& prediction);
// Throws InvalidArgument for a scalar.
void expect_classes(const Tensor& prediction);
// Throws InvalidArgument unless labels are integers whose shape is the prediction's without its last dimension.
void expect_integer_labels(const Tensor& prediction, const Tensor& labels);
// The same, and throws unless the prediction is floating.
void expect_labels(const Tensor& prediction, const Tensor& labels);
// Throws InvalidArgument unless the target has the shape of the prediction, whatever their types.
void expect_one_shape(const Tensor& prediction, const Tensor& target);
// [..., classes] -> [batch, classes].
Tensor in_rows(const Tensor& x);
// True for labels other than the ignored class, which may be any integer.
Tensor counts(const Tensor& labels, int64_t ignored);
// Casts the target to the type of the floating prediction. Throws InvalidArgument unless both have one shape.
Tensor like(const Tensor& prediction, const Tensor& target);
// Throws InvalidArgument if the rank is unknown.
int known_rank(const char* what, const Tensor& x);
// Returns the axis counted from 0. Throws InvalidArgument unless x has it.
int64_t axis_of(const Tensor& x, int64_t axis);
// Moves `axis` to the end, where losses expect the classes.
Tensor axis_last(const Tensor& x, int64_t axis);
// Whether x broadcasts to `shape`, as far as both are known.
bool broadcasts_to(const PartialShape& x, const PartialShape& shape);

// The mean over an axis, if there is another one.
Tensor by_sample(const Tensor& values, int64_t axis = -1);
// Multiplies the samples' losses by their weights and reduces them. `mask`: bool, true for samples that count;
// undefined: all.
Tensor reduce_losses(const Tensor& losses, const Tensor& weights, LossReduction reduction, const Tensor& mask = {});

// Clips to [1e-7, 1 - 1e-7].
Tensor probabilities(const Tensor& p);
// The same, after dividing by the sum over the last dimension.
Tensor class_probabilities(const Tensor& p);
// (1 - share) * target + share / n, where n is the size of the last dimension, or 2 if `binary`. Throws InvalidArgument
// unless share is in [0, 1].
Tensor smoothed(const Tensor& target, double share, bool binary);
// -z log(p) - (1 - z) log(1 - p).
Tensor binary_losses(const Tensor& p, const Tensor& z);
// The same with p = sigmoid(x), without overflow.
Tensor sigmoid_losses(const Tensor& x, const Tensor& z);
// x divided by its Euclidean norm along an axis; the norm counts as at least 1e-7.
Tensor normalized(const Tensor& x, int64_t axis);

// The loss of a prediction and a target of one shape: `losses(prediction, target)` returns a value per sample.
template <class Options, class Losses>
Tensor loss_of(const Arg& prediction_arg, const Arg& target_arg, const Options& options, Losses&& losses) {
  return from_caller(prediction_arg.where(), [&]() -> Tensor {
    const Tensor prediction = given_tensor(prediction_arg);
    const Tensor target = like(prediction, given_tensor(target_arg));
    return reduce_losses(std::forward<Losses>(losses)(prediction, target), options.weights, options.reduction);
  });
}

}  // namespace panto::detail
