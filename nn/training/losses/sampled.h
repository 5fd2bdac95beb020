// Losses over many classes that look at a few randomly drawn ones in each step, and TensorFlow's weighted cross
// entropy.
//
//   Variable weights(random_normal({50000, 128}), "weights"), biases(zeros({50000}), "biases");
//   Tensor loss = mean(nce_loss(weights, biases, words, hidden, 64, 50000));
//
// Thread-safety: as that of ops.
#pragma once

#include <cstdint>
#include <optional>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// The outputs of a sampler such as `log_uniform_candidate_sampler`.
struct SampledValues {
  Tensor sampled_candidates = {};      // [num_sampled], int64
  Tensor true_expected_count = {};     // [batch, num_true]
  Tensor sampled_expected_count = {};  // [num_sampled]
};

struct SampledSoftmaxOptions {
  int64_t num_true = 1;                // labels per sample
  SampledValues sampled = {};          // undefined: drawn by log_uniform_candidate_sampler, without repetition
  bool remove_accidental_hits = true;  // ignore drawn classes that are labels, instead of counting them as wrong
  std::optional<int64_t> seed = std::nullopt;  // of the draw; none: the process's generator
};
// For training only: the softmax cross entropy of each sample over its labels and `num_sampled` drawn classes (Jean et
// al. 2015). Weights [classes, features] and biases [classes] are tensors or variables, with sparse gradients; labels
// [batch, num_true] are int64 (or int32), inputs [batch, features] float32 or float64; the result is [batch]. Throws
// InvalidArgument for labels not in [0, num_classes), and as the sampler.
PANTO_EXPORT Tensor sampled_softmax_loss(Arg weights, Arg biases, Arg labels, Arg inputs, int64_t num_sampled,
                                         int64_t num_classes, const SampledSoftmaxOptions& options = {});

struct NceOptions {
  int64_t num_true = 1;
  SampledValues sampled = {};
  bool remove_accidental_hits = false;
  std::optional<int64_t> seed = std::nullopt;
};
// Noise-contrastive estimation (Gutmann and Hyvarinen 2010; Mnih and Kavukcuoglu 2013): the sum of the sigmoid cross
// entropies of the labels, which share a target of 1, and of the drawn classes, whose targets are 0. Arguments as of
// sampled_softmax_loss.
PANTO_EXPORT Tensor nce_loss(Arg weights, Arg biases, Arg labels, Arg inputs, int64_t num_sampled, int64_t num_classes,
                             const NceOptions& options = {});

// -pos_weight * labels * log(p) - (1 - labels) * log(1 - p) with p = sigmoid(logits), element by element, without
// overflow. Labels have the logits' shape; `pos_weight` is broadcast to it. (TensorFlow takes labels first.)
PANTO_EXPORT Tensor weighted_cross_entropy_with_logits(Arg logits, Arg labels, Arg pos_weight);

}  // namespace panto
