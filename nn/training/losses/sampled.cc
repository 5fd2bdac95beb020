#include "panto/nn/training/losses/sampled.h"

#include <limits>

#include "panto/lib/core/tensor/device.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/training/losses/loss_parts.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"
#include "panto/ops/random.h"

namespace panto {

using detail::given_tensor;

namespace {

struct Scores {
  Tensor logits, labels;  // [batch, num_true + num_sampled]
};

SampledValues drawn(const Tensor& labels, int64_t num_sampled, int64_t num_classes, int64_t num_true,
                    const std::optional<int64_t>& seed) {
  LogUniformCandidateSamplerAttrs attrs;
  if (seed) attrs = {.seed = *seed, .seed2 = 1};  // both 0: the process's generator
  const DeviceScope only_there("CPU:0");
  const auto made = log_uniform_candidate_sampler(labels, num_true, num_sampled, true, num_classes, attrs);
  return {made.sampled_candidates, made.true_expected_count, made.sampled_expected_count};
}

// Offsets for the scores of drawn classes, [batch, num_sampled]: the lowest number where the class is a label.
Tensor hits_of(const Tensor& labels, const Tensor& candidates, int64_t num_true, const Tensor& batch,
               int64_t num_sampled) {
  const DeviceScope only_there("CPU:0");
  const auto hits = compute_accidental_hits(labels, candidates, num_true);
  const Tensor places = stack({hits.indices, cast(hits.ids, kInt32)}, 1);
  return scatter_nd(places, hits.weights, {batch, num_sampled});
}

// Scores, each less the logarithm of the class's expected count among the drawn ones.
template <class Options>
Scores scores_of(Arg&& weights, Arg&& biases, const Arg& labels_arg, const Arg& inputs_arg, int64_t num_sampled,
                 int64_t num_classes, const Options& options) {
  const Tensor inputs = given_tensor(inputs_arg);
  Tensor labels = given_tensor(labels_arg);
  if (!inputs.defined() || (inputs.dtype() != kFloat32 && inputs.dtype() != kFloat64)) {
    invalid("inputs: expected float32 or float64, got {}", inputs.defined() ? dtype_name(inputs.dtype()) : "none");
  }
  if (!labels.defined() || (labels.dtype() != kInt64 && labels.dtype() != kInt32)) {
    invalid("labels: expected int64 or int32, got {}", labels.defined() ? dtype_name(labels.dtype()) : "none");
  }
  if (!PartialShape{-1, -1}.compatible_with(inputs.partial_shape())) {
    invalid("inputs: expected shape [batch, features], got {}", inputs.partial_shape().to_string());
  }
  const int64_t num_true = options.num_true;
  if (num_true < 1) invalid("num_true: expected at least 1, got {}", num_true);
  if (num_sampled < 1) invalid("num_sampled: expected at least 1, got {}", num_sampled);
  if (!PartialShape{-1, num_true}.compatible_with(labels.partial_shape())) {
    invalid("labels: expected shape [batch, {}], got {}", num_true, labels.partial_shape().to_string());
  }
  if (labels.dtype() != kInt64) labels = cast(labels, kInt64);
  const SampledValues sampled = options.sampled.sampled_candidates.defined()
                                    ? options.sampled
                                    : drawn(labels, num_sampled, num_classes, num_true, options.seed);
  const Tensor& candidates = sampled.sampled_candidates;

  const Tensor ids = concat({reshape(labels, {-1}), candidates}, 0);
  const Tensor rows = gather(std::move(weights), ids), offsets = gather(std::move(biases), ids);
  const Slice of_labels(0, -num_sampled), of_sampled(-num_sampled, {});
  const Tensor dims = shape(inputs);
  const Tensor true_rows = reshape(rows(of_labels), {dims[0], num_true, dims[1]});
  Tensor right = sum(expand_dims(inputs, 1) * true_rows, {2}) + reshape(offsets(of_labels), {-1, num_true});
  Tensor wrong = matmul(inputs, rows(of_sampled), {.transpose_b = true}) + offsets(of_sampled);
  if (options.remove_accidental_hits) {
    const Tensor out = hits_of(labels, candidates, num_true, dims[0], num_sampled);
    // If a class is several labels of a sample, the sum of lowest numbers would overflow to infinity.
    wrong = wrong + cast(maximum(out, static_cast<double>(std::numeric_limits<float>::lowest())), wrong.dtype());
  }
  right = right - log(cast(sampled.true_expected_count, right.dtype()));
  wrong = wrong - log(cast(sampled.sampled_expected_count, wrong.dtype()));
  const Tensor targets = concat({ones_like(right) / static_cast<double>(num_true), zeros_like(wrong)}, 1);
  return {concat({right, wrong}, 1), stop_gradient(targets)};
}

}  // namespace

Tensor sampled_softmax_loss(Arg weights, Arg biases, Arg labels, Arg inputs, int64_t num_sampled, int64_t num_classes,
                            const SampledSoftmaxOptions& options) {
  return from_caller(inputs.where(), [&]() -> Tensor {
    const auto [logits, targets] =
        scores_of(std::move(weights), std::move(biases), labels, inputs, num_sampled, num_classes, options);
    return softmax_cross_entropy_and_backprop(logits, targets).loss;
  });
}

Tensor nce_loss(Arg weights, Arg biases, Arg labels, Arg inputs, int64_t num_sampled, int64_t num_classes,
                const NceOptions& options) {
  return from_caller(inputs.where(), [&]() -> Tensor {
    const auto [logits, targets] =
        scores_of(std::move(weights), std::move(biases), labels, inputs, num_sampled, num_classes, options);
    return sum(detail::sigmoid_losses(logits, targets), {1});
  });
}

Tensor weighted_cross_entropy_with_logits(Arg logits_arg, Arg labels_arg, Arg pos_weight) {
  return from_caller(logits_arg.where(), [&]() -> Tensor {
    const Tensor x = given_tensor(logits_arg);
    const Tensor z = detail::like(x, given_tensor(labels_arg));
    const Tensor factor = 1.0 + (ones_like(x) * std::move(pos_weight) - 1.0) * z;
    // (1 - z) x + factor log(1 + exp(-x)).
    const Tensor positive = x >= 0.0;
    const Tensor softplus_of_minus = where(positive, 0.0, -x) + log1p(exp(where(positive, -x, x)));
    return (1.0 - z) * x + factor * softplus_of_minus;
  });
}

}  // namespace panto
