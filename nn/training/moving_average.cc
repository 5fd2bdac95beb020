#include "panto/nn/training/moving_average.h"

#include <optional>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/tensor/dtype.h"
#include "panto/lib/ops/operators.h"
#include "panto/nn/training/optimizers/by_hand.h"
#include "panto/nn/training/options.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/trace/graph_scope.h"

namespace panto {

ExponentialMovingAverage::ExponentialMovingAverage(MovingAverageOptions options) : options_(std::move(options)) {
  expect_share("decay", options_.decay, true);
  const Variable& n = options_.num_updates;
  if (n.defined() && (!dtypes::kReal.contains(n.dtype()) || !n.shape().compatible_with(Shape()))) {
    invalid("num_updates: expected a scalar number, got {}{}", dtype_name(n.dtype()), n.shape().to_string());
  }
}

ExponentialMovingAverage::ExponentialMovingAverage(std::initializer_list<Variable> variables,
                                                   MovingAverageOptions options)
    : ExponentialMovingAverage(std::move(options)) {
  add(variables);
}

const Variable* ExponentialMovingAverage::find(const Variable& variable) const {
  for (size_t i = 0; i < variables_.size(); ++i) {
    if (variables_[i].handle().id() == variable.handle().id()) return &averages_[i];
  }
  return nullptr;
}

void ExponentialMovingAverage::add(const std::vector<Variable>& variables) {
  for (const Variable& v : variables) {
    if (!v.defined() || !dtypes::kFloating.contains(v.dtype())) {
      invalid("moving average: expected a floating variable, got {}",
              v.defined() ? fmt::format("'{}' of {}", v.name(), dtype_name(v.dtype())) : "a default-constructed one");
    }
  }
  const VariableUseScope beside(VariableUse::kKept);
  for (const Variable& v : variables) {
    if (find(v) != nullptr) continue;
    averages_.emplace_back(v.initialized_value(), fmt::format("{}/ExponentialMovingAverage", v.name()));
    variables_.push_back(v);
  }
}

Operation ExponentialMovingAverage::apply(std::source_location where) {
  return from_caller(where, [&]() -> Operation {
    if (variables_.empty() && is_graph_by_hand()) return apply(trainable_variables(), where);
    if (variables_.empty()) {
      fail(Code::kFailedPrecondition, "apply: expected a moving average of some variables, got one of none");
    }
    return update(variables_, where);
  });
}

Operation ExponentialMovingAverage::apply(const std::vector<Variable>& variables, std::source_location where) {
  return from_caller(where, [&] {
    add(variables);
    return update(variables, where);
  });
}

Operation ExponentialMovingAverage::update(const std::vector<Variable>& variables, const std::source_location& where) {
  return from_caller(where, [&] {
    std::optional<CollectEffects> changes;
    if (is_graph_by_hand()) changes.emplace();
    Tensor decay = tensor(options_.decay);
    if (options_.num_updates.defined()) {
      const Tensor n = cast(options_.num_updates.value(), kFloat64);
      decay = minimum(decay, (1.0 + n) / (10.0 + n));
    }
    const Tensor follows = 1.0 - decay;
    const bool all = &variables == &variables_;
    for (size_t i = 0; i < variables.size(); ++i) {
      const Variable& v = variables[i];
      const Variable& average = all ? averages_[i] : *find(v);
      average.assign_sub((average.value() - v.value()) * cast(follows, v.dtype()));
    }
    return changes ? group(changes->operations(), "moving_average") : Operation();
  });
}

const Variable& ExponentialMovingAverage::average(const Variable& variable) const {
  const Variable* const found = find(variable);
  if (found == nullptr) invalid("average: expected a variable that has one, got '{}'", variable.name());
  return *found;
}

std::vector<Variable> ExponentialMovingAverage::averages() const { return averages_; }

Operation ExponentialMovingAverage::swap(std::source_location where) {
  return from_caller(where, [&] {
    const bool by_hand = is_graph_by_hand();
    std::optional<CollectEffects> changes;
    if (by_hand) changes.emplace();
    for (size_t i = 0; i < variables_.size(); ++i) {
      const Tensor own = variables_[i].value(), average = averages_[i].value();
      std::optional<ControlDependencies> read;
      if (by_hand) read.emplace(GraphElements{own, average});
      variables_[i].assign(average);
      averages_[i].assign(own);
    }
    return changes ? group(changes->operations(), "swap") : Operation();
  });
}

}  // namespace panto
