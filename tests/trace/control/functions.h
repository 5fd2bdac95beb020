// Functions with a conditional or a loop, for tests of what is done with them.
#pragma once

#include <memory>
#include <vector>

#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/panto.h"
#include "panto/trace/control/traced_body.h"

namespace panto::test {

inline Tensor root_or_zero(const Tensor& x) {
  return cond(sum(x) > 0.F, [&] { return sqrt(x); }, [&] { return zeros_like(x); });
}

// x to the power n, by n products.
inline Tensor power(const Tensor& x, const Tensor& n) {
  auto [i, result] = while_loop([&](const Tensor& i, const Tensor&) { return i < n; },
                                [&](const Tensor& i, const Tensor& p) { return std::tuple(i + 1, p * x); },
                                std::tuple(tensor(0), ones_like(x)));
  return result;
}

// A function of tensors of these types and shapes, for an op's attribute.
inline FunctionRef function_ref(const char* name, const std::vector<OutputInfo>& arguments, const TensorFunction& fn) {
  std::vector<Tensor> likes;
  for (const OutputInfo& info : arguments) likes.push_back(meta_tensor(info.dtype, info.shape));
  const std::shared_ptr<const GraphFunction> made = function_of(trace_body(name, likes, fn));
  return {.name = name, .body = made};
}

}  // namespace panto::test
