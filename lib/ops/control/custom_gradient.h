// The C++ interface of _CustomGradient and _OptimizationBarrier: gradients that the user wrote, or that recompute
// values.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// Computes the gradients of inputs from the gradients of outputs. Kept alive by nodes of graphs and entries of tapes.
// Thread-safe.
class PANTO_EXPORT GradientRule : public Resource {
 public:
  GradientRule() : Resource("", "gradient rule") {}
  std::string_view kind() const noexcept override { return "gradient rule"; }

  // Returns one gradient per input; undefined means zero. All output gradients are defined. `needed`, by input:
  // gradients of other inputs are ignored.
  virtual std::vector<Tensor> gradient(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                                       std::span<const Tensor> output_gradients,
                                       std::span<const uint8_t> needed) const = 0;
  // Returns the rule for a batch of `size`: the inputs that are `batched`, and all outputs, have the batch's dimension
  // in front. Gradients of other inputs are summed over the batch.
  virtual std::shared_ptr<const GradientRule> batched(std::vector<uint8_t> batched, int64_t size) const = 0;
};

// Returns `values`, with `rule` as their gradient with respect to `inputs`. No gradient flows through the ops that
// computed them.
PANTO_EXPORT std::vector<Tensor> with_gradient(std::span<const Tensor> values, std::span<const Tensor> inputs,
                                               const std::shared_ptr<const GradientRule>& rule);
// Returns `values` behind a barrier: no pass replaces them by the values that they were computed from, and they are
// computed after `after`.
PANTO_EXPORT std::vector<Tensor> behind_barrier(std::span<const Tensor> values, std::span<const Tensor> after);

}  // namespace panto
