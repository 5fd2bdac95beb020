// Normalisation by a batch's mean and variance, or by running ones. Internal.
#pragma once

#include "panto/lib/core/tensor/tensor.h"

namespace panto::detail {

// What BatchNorm gives, and in training the running mean and variance, moved by the batch's.
struct BatchNormalised {
  Tensor y, mean, variance;
};

// x [..., channels] of known rank, at least 2; the others [channels], float64 for an x of float64, else float32. In
// training running = momentum * running + (1 - momentum) * the batch's, of the variance the unbiased one.
BatchNormalised normalise_batch(const Tensor& x, const Tensor& scale, const Tensor& offset, const Tensor& mean,
                                const Tensor& variance, double momentum, double epsilon, bool training);

}  // namespace panto::detail
