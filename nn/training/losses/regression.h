// Losses for numbers: of errors, of distributions, of directions. loss.h says what predictions and targets are.
//
//   Tensor loss = log_cosh(model(x), y);
//   Tensor loss = cosine_similarity(model(x), y, {.axis = 1, .weights = w});
#pragma once

#include <cstdint>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/nn/training/loss.h"

namespace panto {

// 100 * |prediction - target| / max(|target|, 1e-7).
PANTO_EXPORT Tensor mean_absolute_percentage_error(Arg prediction, Arg target, const LossOptions& options = {});
// (log(prediction + 1) - log(target + 1))^2, where both count as at least 1e-7.
PANTO_EXPORT Tensor mean_squared_logarithmic_error(Arg prediction, Arg target, const LossOptions& options = {});
// log(cosh(prediction - target)), without overflow: about d^2 / 2 for small errors, |d| - log(2) for large ones.
PANTO_EXPORT Tensor log_cosh(Arg prediction, Arg target, const LossOptions& options = {});
// prediction - target * log(prediction + 1e-7): up to a constant, the negative log-likelihood of the target under the
// Poisson distribution with that mean.
PANTO_EXPORT Tensor poisson(Arg prediction, Arg target, const LossOptions& options = {});
// sum(target * log(target / prediction)) over the last dimension, with probabilities clipped to [1e-7, 1] (Kullback and
// Leibler 1951).
PANTO_EXPORT Tensor kl_divergence(Arg prediction, Arg target, const LossOptions& options = {});

struct CosineSimilarityOptions {
  int64_t axis = -1;  // of the vectors
  Tensor weights = {};
  LossReduction reduction = LossReduction::kMean;
};
// The negative cosine of the angle between the vectors, so that less is better, as Keras's loss of this name: -1 if
// they have the same direction, 0 if one of them is zero. The result lacks the axis.
PANTO_EXPORT Tensor cosine_similarity(Arg prediction, Arg target, const CosineSimilarityOptions& options = {});

}  // namespace panto
