#include "panto/nn/training/optimizers/fused_rule.h"

#include <algorithm>
#include <source_location>

#include "panto/ops/array.h"

namespace panto {

std::vector<Tensor> FusedRule::operator()(const Variable& variable, const Rule& rule,
                                          std::initializer_list<Tensor> elements, const Tensor& numbers) {
  const auto apply = [rule](std::span<const Tensor> inputs) {
    std::vector<Tensor> scalars;
    for (int64_t i = 0; i < inputs.back().dim(0); ++i) scalars.push_back(inputs.back()[i]);
    return rule(inputs.first(inputs.size() - 1), scalars);
  };
  std::vector<Tensor> inputs = elements;
  inputs.push_back(numbers);
  // Also for tensors of a transform, which are symbolic.
  if (std::ranges::any_of(inputs, [](const Tensor& t) { return t.is_meta(); })) return apply(inputs);
  Function& function = functions_[variable.handle().id()];
  if (!function.defined()) function = make_polymorphic(apply, std::source_location::current());
  return function.call(inputs);
}

}  // namespace panto
