#include "panto/nn/training/losses/regression.h"

#include <numbers>

#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/training/losses/loss_parts.h"
#include "panto/ops/math.h"

namespace panto {

using detail::by_sample, detail::kLossEpsilon, detail::loss_of;

namespace {

// log(1 + 2 sinh(x / 2)^2) is precise for small numbers; the other form does not overflow for large ones.
Tensor log_of_cosh(const Tensor& x) {
  const Tensor size = abs(x);
  const Tensor small = log1p(2.0 * square(sinh(0.5 * clip(x, -1.0, 1.0))));
  return where(size < 1.0, small, size + log1p(exp(-2.0 * size)) - std::numbers::ln2);
}

}  // namespace

Tensor mean_absolute_percentage_error(Arg prediction, Arg target, const LossOptions& options) {
  return loss_of(prediction, target, options, [](const Tensor& p, const Tensor& t) {
    return 100.0 * by_sample(abs((p - t) / maximum(abs(t), kLossEpsilon)));
  });
}

Tensor mean_squared_logarithmic_error(Arg prediction, Arg target, const LossOptions& options) {
  return loss_of(prediction, target, options, [](const Tensor& p, const Tensor& t) {
    return by_sample(square(log1p(maximum(p, kLossEpsilon)) - log1p(maximum(t, kLossEpsilon))));
  });
}

Tensor log_cosh(Arg prediction, Arg target, const LossOptions& options) {
  return loss_of(prediction, target, options,
                 [](const Tensor& p, const Tensor& t) { return by_sample(log_of_cosh(p - t)); });
}

Tensor poisson(Arg prediction, Arg target, const LossOptions& options) {
  return loss_of(prediction, target, options,
                 [](const Tensor& p, const Tensor& t) { return by_sample(p - t * log(p + kLossEpsilon)); });
}

Tensor kl_divergence(Arg prediction, Arg target, const LossOptions& options) {
  return loss_of(prediction, target, options, [](const Tensor& p, const Tensor& t) {
    detail::expect_classes(p);
    const Tensor truth = clip(t, kLossEpsilon, 1.0);
    return sum(truth * log(truth / clip(p, kLossEpsilon, 1.0)), {-1});
  });
}

Tensor cosine_similarity(Arg prediction, Arg target, const CosineSimilarityOptions& options) {
  return loss_of(prediction, target, options, [&](const Tensor& p, const Tensor& t) {
    const int64_t axis = detail::axis_of(p, options.axis);
    return -sum(detail::normalized(p, axis) * detail::normalized(t, axis), {axis});
  });
}

}  // namespace panto
