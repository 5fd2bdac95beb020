// Losses of classes: focal ones, hinges, overlaps of masks, embeddings, sequences of labels. What loss.h says of losses
// goes for these, too; the cross entropies are there.
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

// ---- Cross entropies in which what is easy counts less (Lin et al. 2017) -------------------------------------------

struct BinaryFocalOptions {
  bool apply_class_balancing = false;  // with weights alpha of the class 1, and 1 - alpha of the class 0
  double alpha = 0.25;
  double gamma = 2;  // not negative
  bool from_logits = false;
  double label_smoothing = 0;
  int64_t axis = -1;  // over which the mean is taken
  Tensor weights = {};
  LossReduction reduction = LossReduction::kMean;
};
// binary_cross_entropy times (1 - q)^gamma, where q is the probability that is given to the target.
PANTO_EXPORT Tensor binary_focal_cross_entropy(Arg prediction, Arg target, const BinaryFocalOptions& options = {});

struct CategoricalFocalOptions {
  double alpha = 0.25;              // of all classes
  std::vector<double> alphas = {};  // of each class: in place of alpha, where there are any
  double gamma = 2;                 // not negative
  bool from_logits = false;
  double label_smoothing = 0;
  int64_t axis = -1;  // of the classes
  Tensor weights = {};
  LossReduction reduction = LossReduction::kMean;
};
// -sum(alpha * (1 - p)^gamma * target * log(p)) over the classes, with p as of categorical_cross_entropy.
PANTO_EXPORT Tensor categorical_focal_cross_entropy(Arg prediction, Arg target,
                                                    const CategoricalFocalOptions& options = {});

struct GeneralizedCrossEntropyOptions {
  double q = 0.5;  // in (0, 1): near 0 a cross entropy, near 1 a mean absolute error
  Tensor weights = {};
  LossReduction reduction = LossReduction::kMean;
};
// (1 - p[label]^q) / q, for labels of which some are wrong (Zhang and Sabuncu 2018). Probabilities [..., classes], and
// labels [...] of int32 or int64. Throws InvalidArgument for one not in [0, classes).
PANTO_EXPORT Tensor categorical_generalized_cross_entropy(Arg prediction, Arg labels,
                                                          const GeneralizedCrossEntropyOptions& options = {});

// ---- Hinges --------------------------------------------------------------------------------------------------------

// max(1 - target * prediction, 0), where targets are -1 or 1; targets that are all 0 or 1 are taken for these.
PANTO_EXPORT Tensor hinge(Arg prediction, Arg target, const LossOptions& options = {});
// Its square.
PANTO_EXPORT Tensor squared_hinge(Arg prediction, Arg target, const LossOptions& options = {});
// max(1 + largest - sum(target * prediction), 0), where the largest is that of (1 - target) * prediction: over the
// classes, the last dimension.
PANTO_EXPORT Tensor categorical_hinge(Arg prediction, Arg target, const LossOptions& options = {});

// ---- Overlaps of masks ---------------------------------------------------------------------------------------------

struct DiceOptions {
  std::vector<int64_t> axis = {};  // what is added up; none: all, and the loss is one number
  Tensor weights = {};
  LossReduction reduction = LossReduction::kMean;
};
// 1 - 2 sum(t p) / (sum(t) + sum(p) + 1e-7), with p the prediction and t the target, both in [0, 1] (Milletari et al.
// 2016).
PANTO_EXPORT Tensor dice(Arg prediction, Arg target, const DiceOptions& options = {});

struct TverskyOptions {
  double alpha = 0.5;  // of what the target has and the prediction lacks
  double beta = 0.5;   // of what the prediction has and the target lacks
  std::vector<int64_t> axis = {};
  Tensor weights = {};
  LossReduction reduction = LossReduction::kMean;
};
// 1 - sum(t p) / (sum(t p) + alpha sum(t (1 - p)) + beta sum((1 - t) p) + 1e-7) (Salehi et al. 2017).
PANTO_EXPORT Tensor tversky(Arg prediction, Arg target, const TverskyOptions& options = {});

// ---- Embeddings and sequences --------------------------------------------------------------------------------------

struct CircleOptions {
  double gamma = 80;            // how sharp
  double margin = 0.4;          // how far apart
  bool remove_diagonal = true;  // a sample is not compared with the reference of its own number
  Tensor ref_labels = {};       // [references]: what embeddings are compared with; undefined: with each other
  Tensor ref_embeddings = {};   // [references, features]
  Tensor weights = {};
  LossReduction reduction = LossReduction::kMean;
};
// Draws embeddings [batch, features] of length 1 with the same label [batch] together, and others apart (Sun et al.
// 2020, equation 6). Samples whose loss is 0, as without another of their label, do not count for the mean.
PANTO_EXPORT Tensor circle(Arg embeddings, Arg labels, const CircleOptions& options = {});

struct CtcOptions {
  Tensor lengths = {};  // [batch], int32: how many steps of each sequence count; undefined: all
  Tensor weights = {};
  LossReduction reduction = LossReduction::kMean;
};
// The negative logarithm of the probability that logits [batch, time, classes] are read as labels [batch, position],
// int32 or int64, of which 0, the blank, fills up what is shorter (Graves et al. 2006). Has no second derivatives.
// Throws InvalidArgument where there are fewer steps than labels.
PANTO_EXPORT Tensor ctc(Arg logits, Arg labels, const CtcOptions& options = {});

}  // namespace panto
