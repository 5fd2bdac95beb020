// GradientAccumulator: accumulates the gradients of several small batches into one large batch's.
//
//   Adam adam(model.variables());
//   GradientAccumulator accumulator(adam, {.steps = 4});
//   for (auto [x, y] : dataset) {
//     GradientTape tape;
//     Tensor loss = mean_squared_error(model(x), y);
//     accumulator.apply(tape.gradient(loss, adam.variables()));   // every fourth time Adam makes a step
//   }
//
// Thread-safety: one call at a time.
#pragma once

#include <cstdint>
#include <source_location>
#include <span>
#include <string_view>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/op/operation.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/nn/training/optimizers/optimizer.h"

namespace panto {

struct GradientAccumulatorOptions {
  int64_t steps = 2;  // calls of `apply` per step of the optimizer
  bool mean = true;   // average the gradients, as Keras's gradient_accumulation_steps; else sum them
};

// A variable changes only if it has a gradient in the last of the calls; otherwise its accumulated gradient stays for
// later calls. Sparse gradients become dense.
class PANTO_EXPORT GradientAccumulator {
 public:
  // The optimizer must outlive the accumulator and have its variables: call `optimizer.build(variables)` if it was
  // constructed without. Throws InvalidArgument unless steps is positive, and if there are no variables.
  GradientAccumulator(Optimizer& optimizer, const GradientAccumulatorOptions& options);

  // Takes gradients by variable as Optimizer::apply, and throws as that. Inside a GraphScope: adds the nodes, and
  // returns the one that runs them all.
  Operation apply(std::span<const Tensor> gradients, std::source_location where = std::source_location::current());
  Operation apply(std::span<const Gradient> gradients, std::source_location where = std::source_location::current());

  // The variables that a checkpoint must keep beside the optimizer's: the accumulated gradient of each variable
  // ("VARIABLE/gradient_accumulator"), then "accumulated_steps" (int64).
  std::vector<Variable> slots() const;

 private:
  void accumulate_or_step(const std::vector<Tensor>& gradients);

  Optimizer& optimizer_;
  GradientAccumulatorOptions options_;
  std::vector<Variable> sums_;
  Variable count_;
};

}  // namespace panto
