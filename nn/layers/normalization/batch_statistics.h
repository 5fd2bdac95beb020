// Normalisation by a batch's mean and variance, or by running ones. Internal.
#pragma once

#include "panto/lib/core/tensor/tensor.h"

namespace panto::detail {

// BatchNorm's output, and in training the updated running mean and variance.
struct BatchNormalised {
  Tensor y, mean, variance;
};

// x [..., channels] of known rank, at least 2; the others [channels], float64 for an x of float64, else float32. In
// training running = momentum * running + (1 - momentum) * the batch's, with the unbiased variance.
BatchNormalised normalise_batch(const Tensor& x, const Tensor& scale, const Tensor& offset, const Tensor& mean,
                                const Tensor& variance, double momentum, double epsilon, bool training);

}  // namespace panto::detail
