// Losses for classes: focal losses, hinges, overlaps of masks, embeddings, sequences of labels. loss.h says what
// predictions and targets are; it also has the cross entropies.
//
//   Tensor loss = binary_focal_cross_entropy(model(x), y, {.gamma = 3, .from_logits = true});
//   Tensor loss = dice(model(images), masks, {.axis = {1, 2, 3}});
//   Tensor loss = ctc(model(sound), letters);
#pragma once

#include <cstdint>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/nn/training/loss.h"

namespace panto {

// ---- Cross entropies that weigh easy samples less (Lin et al. 2017) ------------------------------------------------

struct BinaryFocalOptions {
  bool apply_class_balancing = false;  // weight class 1 by alpha, and class 0 by 1 - alpha
  double alpha = 0.25;
  double gamma = 2;  // not negative
  bool from_logits = false;
  double label_smoothing = 0;
  int64_t axis = -1;  // the axis to average over
  Tensor weights = {};
  LossReduction reduction = LossReduction::kMean;
};
// binary_cross_entropy times (1 - q)^gamma, where q is the predicted probability of the target.
PANTO_EXPORT Tensor binary_focal_cross_entropy(Arg prediction, Arg target, const BinaryFocalOptions& options = {});

struct CategoricalFocalOptions {
  double alpha = 0.25;              // of all classes
  std::vector<double> alphas = {};  // of each class: replaces alpha if not empty
  double gamma = 2;                 // not negative
  bool from_logits = false;
  double label_smoothing = 0;
  int64_t axis = -1;  // of the classes
  Tensor weights = {};
  LossReduction reduction = LossReduction::kMean;
};
// -sum(alpha * (1 - p)^gamma * target * log(p)) over the classes, with p as in categorical_cross_entropy.
PANTO_EXPORT Tensor categorical_focal_cross_entropy(Arg prediction, Arg target,
                                                    const CategoricalFocalOptions& options = {});

struct GeneralizedCrossEntropyOptions {
  double q = 0.5;  // in (0, 1): near 0 a cross entropy, near 1 a mean absolute error
  Tensor weights = {};
  LossReduction reduction = LossReduction::kMean;
};
// (1 - p[label]^q) / q, robust to wrong labels (Zhang and Sabuncu 2018). Probabilities [..., classes], and labels [...]
// of int32 or int64. Throws InvalidArgument for a label not in [0, classes).
PANTO_EXPORT Tensor categorical_generalized_cross_entropy(Arg prediction, Arg labels,
                                                          const GeneralizedCrossEntropyOptions& options = {});

// ---- Hinges --------------------------------------------------------------------------------------------------------

// max(1 - target * prediction, 0), where targets are -1 or 1; if all are 0 or 1, 0 stands for -1.
PANTO_EXPORT Tensor hinge(Arg prediction, Arg target, const LossOptions& options = {});
// The square of hinge.
PANTO_EXPORT Tensor squared_hinge(Arg prediction, Arg target, const LossOptions& options = {});
// max(1 + max((1 - target) * prediction) - sum(target * prediction), 0), with max and sum over the classes, the last
// dimension.
PANTO_EXPORT Tensor categorical_hinge(Arg prediction, Arg target, const LossOptions& options = {});

// ---- Overlaps of masks ---------------------------------------------------------------------------------------------

struct DiceOptions {
  std::vector<int64_t> axis = {};  // the axes to sum over; none: all, and the loss is one number
  Tensor weights = {};
  LossReduction reduction = LossReduction::kMean;
};
// 1 - 2 sum(t p) / (sum(t) + sum(p) + 1e-7), with p the prediction and t the target, both in [0, 1] (Milletari et al.
// 2016).
PANTO_EXPORT Tensor dice(Arg prediction, Arg target, const DiceOptions& options = {});

struct TverskyOptions {
  double alpha = 0.5;  // weight of what only the target has
  double beta = 0.5;   // weight of what only the prediction has
  std::vector<int64_t> axis = {};
  Tensor weights = {};
  LossReduction reduction = LossReduction::kMean;
};
// 1 - sum(t p) / (sum(t p) + alpha sum(t (1 - p)) + beta sum((1 - t) p) + 1e-7) (Salehi et al. 2017).
PANTO_EXPORT Tensor tversky(Arg prediction, Arg target, const TverskyOptions& options = {});

// ---- Embeddings and sequences --------------------------------------------------------------------------------------

struct CircleOptions {
  double gamma = 80;            // how sharp the loss is
  double margin = 0.4;          // how far apart classes should be
  bool remove_diagonal = true;  // do not compare a sample with the reference of the same index
  Tensor ref_labels = {};       // [references]: labels of ref_embeddings; undefined: compare embeddings with each other
  Tensor ref_embeddings = {};   // [references, features]
  Tensor weights = {};
  LossReduction reduction = LossReduction::kMean;
};
// Pulls embeddings [batch, features] of length 1 with the same label [batch] together, and others apart (Sun et al.
// 2020, equation 6). Samples whose loss is 0, such as the only one of its label, do not count for the mean.
PANTO_EXPORT Tensor circle(Arg embeddings, Arg labels, const CircleOptions& options = {});

struct CtcOptions {
  Tensor lengths = {};  // [batch], int32: how many steps of each sequence count; undefined: all
  Tensor weights = {};
  LossReduction reduction = LossReduction::kMean;
};
// The negative logarithm of the probability that logits [batch, time, classes] are read as labels [batch, position],
// int32 or int64; label 0, the blank, pads shorter sequences (Graves et al. 2006). Has no second derivatives. Throws
// InvalidArgument if there are fewer steps than labels.
PANTO_EXPORT Tensor ctc(Arg logits, Arg labels, const CtcOptions& options = {});

}  // namespace panto
