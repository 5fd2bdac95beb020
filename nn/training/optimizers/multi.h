// Several optimizers as one, each of its own variables.
//
//   Adam slow({.learning_rate = 1e-4});
//   Sgd others({.learning_rate = 0.1});
//   MultiOptimizer both(model.variables(), OptimizerMap(others).add("encoder/.*", slow));
//   fit(model, data, {.optimizer = both, ...});
//
// As Keras's MultiOptimizer and OptimizerMap. The optimizers are made without variables, are used for nothing else, and
// outlive it. What they keep are its slots too: of all variables by their names ("m"), what is shared with the
// optimizer's number behind it ("beta1_power_0"). Rates are each optimizer's own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/nn/training/optimizers/optimizer.h"

namespace panto {

// Which optimizer a variable has.
using OptimizerChoice = Callable<Optimizer&(const Variable& variable)>;

// By the variable's name: the optimizer of that name; else that of the pattern, a regular expression, which is the
// whole name; else the one that has all others.
class PANTO_EXPORT OptimizerMap {
 public:
  explicit OptimizerMap(Optimizer& others);
  // Throws InvalidArgument for a pattern that is there already.
  OptimizerMap& add(std::string pattern, Optimizer& optimizer);
  // Throws InvalidArgument where several patterns fit, and for one that is no regular expression.
  Optimizer& operator()(const Variable& variable) const;

 private:
  Optimizer* others_;
  std::map<std::string, Optimizer*, std::less<>> by_pattern_;
};

class PANTO_EXPORT MultiOptimizer final : public Optimizer {
 public:
  // Throws InvalidArgument where the choice is an optimizer that has variables already, or is a MultiOptimizer.
  MultiOptimizer(std::vector<Variable> variables, OptimizerChoice choice);
  // Of the variables of the graph, or those that `build` and apply_gradients are given.
  explicit MultiOptimizer(OptimizerChoice choice);

  // Those that have variables, in the order in which they were chosen first.
  const std::vector<Optimizer*>& optimizers() const { return optimizers_; }

 private:
  void create_slots(const std::vector<Variable>& variables) override;
  void prepare() override;
  void apply_dense(const Tensor& gradient, const Variable& variable) override;
  void apply_sparse_duplicates(const Gradient& rows, const Variable& variable) override;
  void finish() override;
  bool has_rate() const override { return false; }

  size_t number_of(Optimizer& optimizer);
  void wait(Gradient gradient, const Variable& variable);

  OptimizerChoice choice_;
  std::vector<Optimizer*> optimizers_;
  std::vector<size_t> chosen_;                  // by variable
  std::vector<std::vector<Gradient>> waiting_;  // of a step: by optimizer and its variables
};

}  // namespace panto
