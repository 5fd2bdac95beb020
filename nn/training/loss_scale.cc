#include "panto/nn/training/loss_scale.h"

#include <limits>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/training/optimizers/by_hand.h"
#include "panto/nn/training/optimizers/checks.h"
#include "panto/nn/training/options.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/trace/control/control_flow.h"
#include "panto/trace/graph_scope.h"

namespace panto {

namespace {

Gradient divided(Gradient g, const Tensor& scale) {
  Tensor& elements = g.elements();
  if (!elements.defined()) return g;
  // The scale may be too large for a 16-bit type.
  const DType type = elements.dtype();
  const bool half = type == kFloat16 || type == kBFloat16;
  elements = half ? cast(cast(elements, kFloat32) / scale, type) : elements / cast(scale, type);
  return g;
}

}  // namespace

LossScale::LossScale(const LossScaleOptions& options) : options_(options) {
  positive("initial loss scale", options.initial);
  if (options.initial > static_cast<double>(std::numeric_limits<float>::max())) {
    invalid("initial loss scale: expected a float32, got {}", options.initial);
  }
  if (!(options.factor > 1) || !std::isfinite(options.factor)) {
    invalid("factor of a loss scale: expected a number above 1, got {}", options.factor);
  }
  if (options.growth_steps < 1) {
    invalid("growth_steps of a loss scale: expected at least 1, got {}", options.growth_steps);
  }
  const VariableUseScope beside(VariableUse::kKept);
  scale_ = Variable(tensor(static_cast<float>(options.initial)), "loss_scale");
  finite_steps_ = Variable(tensor(int64_t{0}), "finite_steps");
}

Tensor LossScale::scale_loss(const Tensor& loss) const { return loss * cast(scale_.value(), loss.dtype()); }

std::vector<Tensor> LossScale::unscale_gradients(std::span<const Tensor> gradients) const {
  const Tensor scale = scale_.value();
  std::vector<Tensor> result;
  for (const Tensor& g : gradients) result.push_back(divided({.whole = g}, scale).whole);
  return result;
}

std::vector<Gradient> LossScale::unscale_gradients(std::span<const Gradient> gradients) const {
  const Tensor scale = scale_.value();
  std::vector<Gradient> result;
  for (const Gradient& g : gradients) result.push_back(divided(g, scale));
  return result;
}

void LossScale::step(Optimizer& optimizer, const std::vector<Gradient>& gradients, const Change& changed) {
  const Tensor scale = scale_.value(), steps = finite_steps_.value();
  std::vector<Gradient> unscaled;
  Tensor finite;
  for (const Gradient& g : gradients) {
    Gradient own = divided(g, scale);
    if (own.defined()) {
      const Tensor here = all(isfinite(own.elements()));
      finite = finite.defined() ? logical_and(finite, here) : here;
    }
    unscaled.push_back(std::move(own));
  }
  if (!finite.defined()) invalid("loss scale: expected a gradient for at least one variable, got none");
  const auto good = [&] {
    optimizer.apply(changed ? changed(unscaled) : unscaled);
    if (!options_.dynamic) return;
    const Tensor now = steps + int64_t{1};
    const Tensor grows = now >= options_.growth_steps;
    // Does not grow to infinity.
    const Tensor larger = scale * static_cast<float>(options_.factor);
    scale_.assign(where(logical_and(grows, isfinite(larger)), larger, scale));
    finite_steps_.assign(where(grows, zeros_like(now), now));
  };
  const auto bad = [&] {
    if (!options_.dynamic) return;
    scale_.assign(maximum(scale / static_cast<float>(options_.factor), 1.F));
    finite_steps_.assign(zeros_like(steps));
  };
  cond(finite, good, bad);
}

Operation LossScale::apply(Optimizer& optimizer, std::span<const Tensor> gradients, std::source_location where) {
  std::vector<Gradient> all;
  for (const Tensor& g : gradients) all.push_back({.whole = g});
  return apply(optimizer, all, where);
}

Operation LossScale::apply(Optimizer& optimizer, std::span<const Gradient> gradients, std::source_location where) {
  return apply(optimizer, gradients, nullptr, where);
}

Operation LossScale::apply(Optimizer& optimizer, std::span<const Gradient> gradients, const Change& changed,
                           std::source_location where) {
  return from_caller(where, [&] {
    expect_gradients_fit(optimizer.variables(), gradients);
    // Slots cannot be created inside a branch of a conditional.
    optimizer.build(optimizer.variables());
    const std::vector<Gradient> own(gradients.begin(), gradients.end());
    if (!is_graph_by_hand()) {
      step(optimizer, own, changed);
      return Operation();
    }
    const CollectEffects changes;
    step(optimizer, own, changed);
    return group(changes.operations(), "scaled_step");
  });
}

}  // namespace panto
