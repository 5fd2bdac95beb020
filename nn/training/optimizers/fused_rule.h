// FusedRule: runs an optimizer's element-wise rule as one kernel: it computes the new values of a variable and its
// slots from their old values, the gradient and a step's numbers. Rules that an op implements use the op instead.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/trace/function.h"

namespace panto {

class PANTO_EXPORT FusedRule {
 public:
  // Takes the elements (of the variable, its slots and the gradient) and the step's numbers.
  using Rule = Callable<std::vector<Tensor>(std::span<const Tensor> elements, std::span<const Tensor> numbers)>;

  // Applies `rule` to the elements and `numbers`, a vector in the variable's dtype (Optimizer::numbers). The rule may
  // otherwise use only C++ numbers that are the same at each call. Eagerly the rule is traced once for each variable,
  // and the trace runs as one kernel. Inside a trace or a graph its ops are called and become the same kernel there;
  // for that, the numbers come in one vector, so that none of them is known before the others.
  std::vector<Tensor> operator()(const Variable& variable, const Rule& rule, std::initializer_list<Tensor> elements,
                                 const Tensor& numbers);

 private:
  std::map<int64_t, Function> functions_;  // by the id of the variable's handle
};

}  // namespace panto
