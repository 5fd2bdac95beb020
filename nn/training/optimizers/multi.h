// MultiOptimizer: several optimizers as one, each for some of the variables.
//
//   Adam slow({.learning_rate = 1e-4});
//   Sgd others({.learning_rate = 0.1});
//   MultiOptimizer both(model.variables(), OptimizerMap(others).add("encoder/.*", slow));
//   fit(model, data, {.optimizer = both, ...});
//
// As Keras's MultiOptimizer and OptimizerMap. The optimizers must be constructed without variables, be used for nothing
// else, and outlive the MultiOptimizer. Their slots are also its slots: per variable under the same names ("m"), shared
// ones with the optimizer's number appended ("beta1_power_0"). Each optimizer has its own rate.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/nn/training/optimizers/optimizer.h"

namespace panto {

// Chooses the optimizer of a variable.
using OptimizerChoice = Callable<Optimizer&(const Variable& variable)>;

// Chooses by the variable's name: an entry with exactly that name; else the entry whose regular expression matches the
// whole name; else the optimizer of all other variables.
class PANTO_EXPORT OptimizerMap {
 public:
  explicit OptimizerMap(Optimizer& others);
  // Throws InvalidArgument for a pattern that was added before.
  OptimizerMap& add(std::string pattern, Optimizer& optimizer);
  // Throws InvalidArgument if several patterns match, and for a malformed regular expression.
  Optimizer& operator()(const Variable& variable) const;

 private:
  Optimizer* others_;
  std::map<std::string, Optimizer*, std::less<>> by_pattern_;
};

class PANTO_EXPORT MultiOptimizer final : public Optimizer {
 public:
  // Throws InvalidArgument if `choice` returns an optimizer that already has variables, or a MultiOptimizer.
  MultiOptimizer(std::vector<Variable> variables, OptimizerChoice choice);
  // For the variables of the graph, or those given to `build` or apply_gradients.
  explicit MultiOptimizer(OptimizerChoice choice);

  // The optimizers that have variables, in the order in which they were first chosen.
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
  std::vector<size_t> chosen_;                  // per variable
  std::vector<std::vector<Gradient>> waiting_;  // gradients of the step: by optimizer and its variables
};

}  // namespace panto
