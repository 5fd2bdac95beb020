// Gradients of several small batches as one large batch's.
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
  int64_t steps = 2;  // calls of `apply` that make one step of the optimizer
  bool mean = true;   // of their gradients, as Keras's gradient_accumulation_steps; else their sum
};

// A variable changes if it has a gradient at the last of the calls. What it has accumulated by then stays for later
// calls otherwise. Rows are made whole.
class PANTO_EXPORT GradientAccumulator {
 public:
  // The optimizer, which must outlive this, has its variables: `optimizer.build(variables)` where it was made without.
  // Throws InvalidArgument unless steps is positive, and where there are no variables.
  GradientAccumulator(Optimizer& optimizer, const GradientAccumulatorOptions& options);

  // Gradients by variable, as Optimizer::apply takes them, and throws. Inside a GraphScope: adds the nodes, and returns
  // the one that runs them all.
  Operation apply(std::span<const Tensor> gradients, std::source_location where = std::source_location::current());
  Operation apply(std::span<const Gradient> gradients, std::source_location where = std::source_location::current());

  // What a checkpoint must keep beside the optimizer's: of each variable what has accumulated
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
