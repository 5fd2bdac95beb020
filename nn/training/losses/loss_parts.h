// What losses and metrics are made of. Internal.
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

// An undefined one for a number.
Tensor given_tensor(const Arg& x);
// Throws InvalidArgument unless it is a floating tensor.
void expect_floating(const Tensor& prediction);
// Throws InvalidArgument for a scalar.
void expect_classes(const Tensor& prediction);
// Throws InvalidArgument unless labels are integers with the shape of the prediction without its last dimension.
void expect_integer_labels(const Tensor& prediction, const Tensor& labels);
// The same, and of a floating prediction.
void expect_labels(const Tensor& prediction, const Tensor& labels);
// Throws InvalidArgument unless the target has the shape of the prediction, whatever their types.
void expect_one_shape(const Tensor& prediction, const Tensor& target);
// [..., classes] -> [batch, classes].
Tensor in_rows(const Tensor& x);
// Whether labels are others than the ignored class, any integer.
Tensor counts(const Tensor& labels, int64_t ignored);
// The target in the type of the floating prediction. Throws InvalidArgument unless it has that shape.
Tensor like(const Tensor& prediction, const Tensor& target);
// Throws InvalidArgument where the number of dimensions is not known.
int known_rank(const char* what, const Tensor& x);
// The axis, counted from 0. Throws InvalidArgument unless x has it.
int64_t axis_of(const Tensor& x, int64_t axis);
// With `axis` behind all others: where the classes of a loss are.
Tensor axis_last(const Tensor& x, int64_t axis);
// Whether x can be broadcast to `shape`, as far as both are known.
bool broadcasts_to(const PartialShape& x, const PartialShape& shape);

// The mean over an axis, where there is another one.
Tensor by_sample(const Tensor& values, int64_t axis = -1);
// Samples' losses with their weights, reduced. `mask`: bool, of the samples that count; undefined: all.
Tensor reduce_losses(const Tensor& losses, const Tensor& weights, LossReduction reduction, const Tensor& mask = {});

// Brought into [1e-7, 1 - 1e-7].
Tensor probabilities(const Tensor& p);
// The same, divided by the sum over the last dimension before.
Tensor class_probabilities(const Tensor& p);
// (1 - share) * target + share / n, where n is the size of the last dimension, or 2 if `binary`. Throws InvalidArgument
// unless share is in [0, 1].
Tensor smoothed(const Tensor& target, double share, bool binary);
// -z log(p) - (1 - z) log(1 - p).
Tensor binary_losses(const Tensor& p, const Tensor& z);
// The same of p = sigmoid(x), without overflow.
Tensor sigmoid_losses(const Tensor& x, const Tensor& z);
// x divided by its Euclidean norm along an axis, which counts as 1e-7 at least.
Tensor normalized(const Tensor& x, int64_t axis);

// The loss of predictions and targets of one shape: `losses(prediction, target)` gives the samples'.
template <class Options, class Losses>
Tensor loss_of(const Arg& prediction_arg, const Arg& target_arg, const Options& options, Losses&& losses) {
  return from_caller(prediction_arg.where(), [&]() -> Tensor {
    const Tensor prediction = given_tensor(prediction_arg);
    const Tensor target = like(prediction, given_tensor(target_arg));
    return reduce_losses(std::forward<Losses>(losses)(prediction, target), options.weights, options.reduction);
  });
}

}  // namespace panto::detail
