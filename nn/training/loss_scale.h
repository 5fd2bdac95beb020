// Loss scaling: training with float16, whose smallest numbers are too large for many gradients (Micikevicius et al.
// 2018).
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
  bool dynamic = true;          // else the scale stays
  int64_t growth_steps = 2000;  // so many finite steps make the scale `factor` times as large
  double factor = 2;            // above 1; a gradient that is not finite makes it as much smaller, down to 1
};

// As Keras's LossScaleOptimizer. Where a gradient is not finite no variable changes, and the optimizer's own do not.
class PANTO_EXPORT LossScale {
 public:
  // Throws InvalidArgument for options out of their range.
  explicit LossScale(const LossScaleOptions& options = {});

  // The loss, or losses, multiplied by the scale, in their dtype.
  Tensor scale_loss(const Tensor& loss) const;
  // Gradients divided by the scale. Undefined ones stay so, rows stay rows.
  std::vector<Tensor> unscale_gradients(std::span<const Tensor> gradients) const;
  std::vector<Gradient> unscale_gradients(std::span<const Gradient> gradients) const;

  // One step of the optimizer, which has its variables (`optimizer.build(variables)` where it was made without), by
  // gradients of the scaled loss; none where one of them is not finite. Throws as Optimizer::apply. Inside a
  // GraphScope: adds the nodes, and returns the one that runs them all.
  Operation apply(Optimizer& optimizer, std::span<const Tensor> gradients,
                  std::source_location where = std::source_location::current());
  Operation apply(Optimizer& optimizer, std::span<const Gradient> gradients,
                  std::source_location where = std::source_location::current());

  // The same with what `changed` makes of the gradients once they are divided (clipping), inside the step.
  using Change = Callable<std::vector<Gradient>(std::vector<Gradient> gradients)>;
  Operation apply(Optimizer& optimizer, std::span<const Gradient> gradients, const Change& changed,
                  std::source_location where = std::source_location::current());

  // The scale of the next step, a float32 scalar.
  Tensor scale() const { return scale_.value(); }
  // What a checkpoint must keep: "loss_scale" (float32), "finite_steps" (int64).
  std::vector<Variable> slots() const { return {scale_, finite_steps_}; }

 private:
  void step(Optimizer& optimizer, const std::vector<Gradient>& gradients, const Change& changed);

  LossScaleOptions options_;
  Variable scale_, finite_steps_;
};

}  // namespace panto
