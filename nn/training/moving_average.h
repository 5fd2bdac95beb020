// Moving averages of variables: what is trained jumps about, its average is better to evaluate (Polyak and Juditsky
// 1992).
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
// In a graph apply() is a node that is to run after the training step's:
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
  // A number that grows with training, as a global step: averages then decay by min(decay, (1 + n) / (10 + n)) only, so
  // that they follow faster at the beginning.
  Variable num_updates = {};
};

// As TensorFlow's: an average begins as its variable is, and apply() makes average -= (1 - decay) * (average - v).
class PANTO_EXPORT ExponentialMovingAverage {
 public:
  // Of variables that the first apply is given.
  explicit ExponentialMovingAverage(MovingAverageOptions options = {});
  // Makes the averages, so that apply can be traced. Throws InvalidArgument for a decay out of its range, and for
  // variables that are not floating.
  explicit ExponentialMovingAverage(std::initializer_list<Variable> variables, MovingAverageOptions options = {});
  // A template, so that options in braces are taken for what they are.
  template <std::same_as<std::vector<Variable>> Variables>
  explicit ExponentialMovingAverage(const Variables& variables, MovingAverageOptions options = {})
      : ExponentialMovingAverage(std::move(options)) {
    add(variables);
  }

  // One step of those averages: of all so far, or of these, where it makes those that are missing. Without any, of the
  // trainable variables of the graph; FailedPrecondition outside of one. In a graph returns the node that makes it.
  Operation apply(std::source_location where = std::source_location::current());
  Operation apply(const std::vector<Variable>& variables, std::source_location where = std::source_location::current());

  // The variable that holds it. Throws InvalidArgument for a variable that has none.
  const Variable& average(const Variable& variable) const;
  // All of them, as what a checkpoint must keep: named "VARIABLE/ExponentialMovingAverage".
  std::vector<Variable> averages() const;
  const std::vector<Variable>& variables() const { return variables_; }

  // Variables get their averages, and averages what the variables were. Twice: nothing has changed. In a graph returns
  // the node that does it.
  Operation swap(std::source_location where = std::source_location::current());

 private:
  void add(const std::vector<Variable>& variables);
  const Variable* find(const Variable& variable) const;
  Operation update(const std::vector<Variable>& variables, const std::source_location& where);

  MovingAverageOptions options_;
  std::vector<Variable> variables_, averages_;
};

}  // namespace panto
