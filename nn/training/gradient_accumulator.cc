#include "panto/nn/training/gradient_accumulator.h"

#include <optional>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/operators.h"
#include "panto/nn/layers/initializers.h"
#include "panto/nn/training/optimizers/by_hand.h"
#include "panto/nn/training/optimizers/checks.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/trace/control/control_flow.h"
#include "panto/trace/graph_scope.h"

namespace panto {

GradientAccumulator::GradientAccumulator(Optimizer& optimizer, const GradientAccumulatorOptions& options)
    : optimizer_(optimizer), options_(options) {
  if (options.steps < 1) invalid("steps of a gradient accumulator: expected at least 1, got {}", options.steps);
  if (optimizer.variables().empty()) {
    invalid("gradient accumulator: expected an optimizer that has variables, got one without (optimizer.build)");
  }
  // Slots cannot be created inside a branch of a conditional.
  optimizer_.build(optimizer_.variables());
  const VariableUseScope beside(VariableUse::kKept);
  const Initializer zero = constant_initializer(0);
  for (const Variable& v : optimizer.variables()) {
    sums_.emplace_back(zero(Shape(v.shape()), v.dtype()), fmt::format("{}/gradient_accumulator", v.name()));
  }
  count_ = Variable(tensor(int64_t{0}), "accumulated_steps");
}

std::vector<Variable> GradientAccumulator::slots() const {
  std::vector<Variable> all = sums_;
  all.push_back(count_);
  return all;
}

void GradientAccumulator::accumulate_or_step(const std::vector<Tensor>& gradients) {
  const Tensor count = count_.value();
  const Tensor next = count + int64_t{1};
  // Reads each sum once, before anything changes.
  std::vector<Tensor> sums;
  for (size_t i = 0; i < gradients.size(); ++i) {
    sums.push_back(gradients[i].defined() ? sums_[i].value() + gradients[i] : Tensor());
  }
  const auto step = [&] {
    std::vector<Tensor> all;
    for (const Tensor& sum : sums) {
      const bool divide = sum.defined() && options_.mean;
      all.push_back(divide ? sum / static_cast<double>(options_.steps) : sum);
    }
    optimizer_.apply(all);
    for (size_t i = 0; i < sums.size(); ++i) {
      if (sums[i].defined()) sums_[i].assign(zeros_like(sums[i]));
    }
    count_.assign(zeros_like(count));
  };
  const auto wait = [&] {
    for (size_t i = 0; i < sums.size(); ++i) {
      if (sums[i].defined()) sums_[i].assign(sums[i]);
    }
    count_.assign(next);
  };
  cond(next >= options_.steps, step, wait);
}

Operation GradientAccumulator::apply(std::span<const Tensor> gradients, std::source_location where) {
  std::vector<Gradient> all;
  for (const Tensor& g : gradients) all.push_back({.whole = g});
  return apply(all, where);
}

Operation GradientAccumulator::apply(std::span<const Gradient> gradients, std::source_location where) {
  return from_caller(where, [&] {
    expect_gradients_fit(optimizer_.variables(), gradients);
    std::vector<Tensor> whole;
    for (size_t i = 0; i < gradients.size(); ++i) {
      whole.push_back(gradients[i].dense());
      expect_gradient_fits(optimizer_.variables()[i], {.whole = whole.back()});
    }
    if (!is_graph_by_hand()) {
      accumulate_or_step(whole);
      return Operation();
    }
    const CollectEffects changes;
    accumulate_or_step(whole);
    return group(changes.operations(), "accumulate");
  });
}

}  // namespace panto
