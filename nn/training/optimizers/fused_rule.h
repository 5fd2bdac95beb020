// An optimizer's rule of elements as one kernel: what a variable and its slots become, of what they are, their gradient
// and a step's numbers. Rules that ops have are those.
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
  // Of the elements (the variable's, its slots', the gradient's) and of a step's numbers.
  using Rule = Callable<std::vector<Tensor>(std::span<const Tensor> elements, std::span<const Tensor> numbers)>;

  // What `rule` makes of the elements and `numbers`, a vector of so many in the variable's dtype (Optimizer::numbers).
  // Beside these it takes numbers of C++ only, the same at each call. Eagerly it is traced for each variable, and runs
  // as the kernel that the trace becomes. Inside a trace or a graph its ops are called, which become the same kernel
  // there: that is why numbers come in a vector, so that none of them is known before the others.
  std::vector<Tensor> operator()(const Variable& variable, const Rule& rule, std::initializer_list<Tensor> elements,
                                 const Tensor& numbers);

 private:
  std::map<int64_t, Function> functions_;  // by the id of the variable's handle
};

}  // namespace panto
