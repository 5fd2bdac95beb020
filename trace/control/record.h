// Calls of conditional and loop ops, made from traced functions. Internal.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/trace/control/traced_body.h"

namespace panto {

// Calls StatelessCase if `is_case`, else StatelessIf (Case or If if a branch has effects), with the values that the
// branches capture. `index`: the number of the branch, or the condition, which selects the first of two branches if
// true. Throws InvalidArgument if the branches' results differ in number or dtype.
std::vector<Tensor> call_branches(const Tensor& index, bool is_case, std::vector<TracedBody> branches);
// Calls StatelessWhile, or While if there are effects. `condition` and `body` take `values`.
std::vector<Tensor> call_loop(std::span<const Tensor> values, TracedBody condition, TracedBody body,
                              int64_t parallel_iterations);

// FunctionRuntime::call_for_gradients.
std::vector<Tensor> call_for_gradients(CompositeContext& c);

// The branches of a call of If or Case, in the call's rule.
template <class Context>
std::vector<FunctionRef> branches_of(const Context& c) {
  if (c.op().is(OpKind::kCase)) return {c.functions("branches").begin(), c.functions("branches").end()};
  return {c.function("then_branch"), c.function("else_branch")};
}

// The conditional or loop op for functions with or without effects, and its attributes.
const Op& branches_op(bool is_case, bool stateful);
std::vector<AttrValue> branches_attrs(const Op& op, DType index, std::span<const DType> inputs,
                                      std::span<const DType> outputs, std::vector<FunctionRef> branches);
const Op& loop_op(bool stateful);
std::vector<AttrValue> loop_attrs(const Op& op, std::span<const DType> types, FunctionRef condition, FunctionRef body,
                                  int64_t parallel_iterations);

}  // namespace panto
