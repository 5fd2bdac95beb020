// LossScale: loss scaling for training with float16, in which many gradients are too small to be represented
// (Micikevicius et al. 2018).
//
//   LossScale scale;                                      // 2^15 at first
//   GradientTape tape;
//   Tensor y = matmul(cast(x, kFloat16), cast(w, kFloat16));   // variables stay float32, products are float16
//   Tensor loss = mean_squared_error(cast(y, kFloat32), target);
//   auto gradients = tape.gradient(scale.scale_loss(loss), sgd.variables());
//   scale.apply(sgd, gradients);                          // divided by the scale, or no step if one is not finite
//
// Thread-safety: one call at a time.
#pragma once

#include <cstdint>
#include <source_location>
#include <span>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/op/operation.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/nn/training/optimizers/optimizer.h"

namespace panto {

struct LossScaleOptions {
  double initial = 32768;       // as Keras; positive
  bool dynamic = true;          // false: the scale is constant
  int64_t growth_steps = 2000;  // after this many finite steps in a row the scale is multiplied by `factor`
  double factor = 2;            // above 1; a gradient that is not finite divides the scale by it, down to 1
};

// As Keras's LossScaleOptimizer. If a gradient is not finite, neither the variables nor the optimizer's slots change.
class PANTO_EXPORT LossScale {
 public:
  // Throws InvalidArgument for options out of range.
  explicit LossScale(const LossScaleOptions& options = {});

  // The loss, or losses, multiplied by the scale, in their dtype.
  Tensor scale_loss(const Tensor& loss) const;
  // Divides gradients by the scale. Undefined ones stay undefined, sparse ones stay sparse.
  std::vector<Tensor> unscale_gradients(std::span<const Tensor> gradients) const;
  std::vector<Gradient> unscale_gradients(std::span<const Gradient> gradients) const;

  // One step of the optimizer by gradients of the scaled loss; no step if one of them is not finite. The optimizer must
  // have its variables: call `optimizer.build(variables)` if it was constructed without. Throws as Optimizer::apply.
  // Inside a GraphScope: adds the nodes, and returns the one that runs them all.
  Operation apply(Optimizer& optimizer, std::span<const Tensor> gradients,
                  std::source_location where = std::source_location::current());
  Operation apply(Optimizer& optimizer, std::span<const Gradient> gradients,
                  std::source_location where = std::source_location::current());

  // The same; inside the step, applies `changed` to the divided gradients (clipping).
  using Change = Callable<std::vector<Gradient>(std::vector<Gradient> gradients)>;
  Operation apply(Optimizer& optimizer, std::span<const Gradient> gradients, const Change& changed,
                  std::source_location where = std::source_location::current());

  // The scale of the next step, a float32 scalar.
  Tensor scale() const { return scale_.value(); }
  // The variables that a checkpoint must keep: "loss_scale" (float32), "finite_steps" (int64).
  std::vector<Variable> slots() const { return {scale_, finite_steps_}; }

 private:
  void step(Optimizer& optimizer, const std::vector<Gradient>& gradients, const Change& changed);

  LossScaleOptions options_;
  Variable scale_, finite_steps_;
};

}  // namespace panto
