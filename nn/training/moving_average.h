// ExponentialMovingAverage: moving averages of variables. Trained variables fluctuate; their averages often evaluate
// better (Polyak and Juditsky 1992).
//
//   ExponentialMovingAverage average(model.variables(), {.decay = 0.999});
//   for (...) {
//     adam.apply(...);
//     average.apply();
//   }
//   average.swap();              // the model has the averages, and
//   evaluate(model);
//   average.swap();              // its own values again
//
// In a graph apply() returns a node, which must run after the training step:
//
//   ControlDependencies after({train});
//   Operation step = average.apply();
//
// Thread-safety: one call at a time.
#pragma once

#include <concepts>
#include <initializer_list>
#include <source_location>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/op/operation.h"
#include "panto/lib/core/tensor/variable.h"

namespace panto {

struct MovingAverageOptions {
  double decay = 0.999;  // in [0, 1]
  // A number that grows with training, such as a global step: averages then decay by min(decay, (1 + n) / (10 + n))
  // only, so that they follow faster at the beginning.
  Variable num_updates = {};
};

// As TensorFlow's: an average starts at its variable's value, and apply() computes average -= (1 - decay) * (average -
// v).
class PANTO_EXPORT ExponentialMovingAverage {
 public:
  // Averages the variables given to the first apply.
  explicit ExponentialMovingAverage(MovingAverageOptions options = {});
  // Makes the averages now, so that apply can be traced. Throws InvalidArgument for a decay out of range, and for
  // variables that are not floating.
  explicit ExponentialMovingAverage(std::initializer_list<Variable> variables, MovingAverageOptions options = {});
  // A template, so that options in braces are not taken for variables.
  template <std::same_as<std::vector<Variable>> Variables>
  explicit ExponentialMovingAverage(const Variables& variables, MovingAverageOptions options = {})
      : ExponentialMovingAverage(std::move(options)) {
    add(variables);
  }

  // One step of all averages so far; or of the given variables' averages, making those that are missing. If there are
  // none, of the graph's trainable variables; FailedPrecondition outside of a graph. In a graph it returns the node
  // that runs the step.
  Operation apply(std::source_location where = std::source_location::current());
  Operation apply(const std::vector<Variable>& variables, std::source_location where = std::source_location::current());

  // The variable that holds the average. Throws InvalidArgument for a variable without one.
  const Variable& average(const Variable& variable) const;
  // All averages, for a checkpoint to keep: named "VARIABLE/ExponentialMovingAverage".
  std::vector<Variable> averages() const;
  const std::vector<Variable>& variables() const { return variables_; }

  // Swaps the values of variables and averages. Calling it twice changes nothing. In a graph it returns the node that
  // swaps.
  Operation swap(std::source_location where = std::source_location::current());

 private:
  void add(const std::vector<Variable>& variables);
  const Variable* find(const Variable& variable) const;
  Operation update(const std::vector<Variable>& variables, const std::source_location& where);

  MovingAverageOptions options_;
  std::vector<Variable> variables_, averages_;
};

}  // namespace panto
