// What _CustomGradient and _OptimizationBarrier are called with from C++: gradients that the user wrote, or that
// compute anew.
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

// How gradients by some inputs follow from those by outputs that were made of them. A graph's node and a tape's entry
// keep it alive. Thread-safe.
class PANTO_EXPORT GradientRule : public Resource {
 public:
  GradientRule() : Resource("", "gradient rule") {}
  std::string_view kind() const noexcept override { return "gradient rule"; }

  // By input, undefined: zero. All output gradients are defined. `needed`, by input: others are not looked at.
  virtual std::vector<Tensor> gradient(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                                       std::span<const Tensor> output_gradients,
                                       std::span<const uint8_t> needed) const = 0;
  // The same for a batch of `size`, of which the inputs that are `batched`, and all outputs, have the dimension in
  // front. Gradients by other inputs are summed over it.
  virtual std::shared_ptr<const GradientRule> batched(std::vector<uint8_t> batched, int64_t size) const = 0;
};

// `values`, with this gradient by `inputs`, of which they are made; none flows into what they were computed by.
PANTO_EXPORT std::vector<Tensor> with_gradient(std::span<const Tensor> values, std::span<const Tensor> inputs,
                                               const std::shared_ptr<const GradientRule>& rule);
// `values`, which no pass takes for what they were made of, computed when `after` are there.
PANTO_EXPORT std::vector<Tensor> behind_barrier(std::span<const Tensor> values, std::span<const Tensor> after);

}  // namespace panto
