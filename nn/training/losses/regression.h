// Losses of numbers: of errors, of distributions, of directions. What loss.h says of losses goes for these, too.
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
// (log(prediction + 1) - log(target + 1))^2, where both count as 1e-7 at least.
PANTO_EXPORT Tensor mean_squared_logarithmic_error(Arg prediction, Arg target, const LossOptions& options = {});
// log(cosh(prediction - target)), without overflow: about d^2 / 2 of small errors, |d| - log(2) of large ones.
PANTO_EXPORT Tensor log_cosh(Arg prediction, Arg target, const LossOptions& options = {});
// prediction - target * log(prediction + 1e-7): the negative logarithm of what the Poisson distribution with that mean
// gives a count, but for a constant.
PANTO_EXPORT Tensor poisson(Arg prediction, Arg target, const LossOptions& options = {});
// sum(target * log(target / prediction)) over the last dimension, of probabilities that are brought into [1e-7, 1]
// (Kullback and Leibler 1951).
PANTO_EXPORT Tensor kl_divergence(Arg prediction, Arg target, const LossOptions& options = {});

struct CosineSimilarityOptions {
  int64_t axis = -1;  // of the vectors
  Tensor weights = {};
  LossReduction reduction = LossReduction::kMean;
};
// Minus the cosine of the angle between the vectors, so that less is better, as Keras's loss of this name: -1 where
// they have one direction, 0 where one of them is zero. [..., without the axis].
PANTO_EXPORT Tensor cosine_similarity(Arg prediction, Arg target, const CosineSimilarityOptions& options = {});

}  // namespace panto
