// Ops that call functions, made of functions that are graphs already. Internal.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/trace/control/traced_body.h"

namespace panto {

// A call of StatelessIf, or If where a branch has effects, with what the branches use from outside. `index`: of
// StatelessCase or Case, the number of a branch; else of two branches, the first if it is true. Throws InvalidArgument
// where branches give different tensors.
std::vector<Tensor> call_branches(const Tensor& index, bool is_case, std::vector<TracedBody> branches);
// A call of StatelessWhile, or While. Both take `values`.
std::vector<Tensor> call_loop(std::span<const Tensor> values, TracedBody condition, TracedBody body,
                              int64_t parallel_iterations);

// FunctionRuntime::call_for_gradients.
std::vector<Tensor> call_for_gradients(CompositeContext& c);

// Of a call of If or Case, as a rule for it sees it.
template <class Context>
std::vector<FunctionRef> branches_of(const Context& c) {
  if (c.op().is(OpKind::kCase)) return {c.functions("branches").begin(), c.functions("branches").end()};
  return {c.function("then_branch"), c.function("else_branch")};
}

// The op of that kind for functions that have effects, or for ones that have none, and its attributes.
const Op& branches_op(bool is_case, bool stateful);
std::vector<AttrValue> branches_attrs(const Op& op, DType index, std::span<const DType> inputs,
                                      std::span<const DType> outputs, std::vector<FunctionRef> branches);
const Op& loop_op(bool stateful);
std::vector<AttrValue> loop_attrs(const Op& op, std::span<const DType> types, FunctionRef condition, FunctionRef body,
                                  int64_t parallel_iterations);

}  // namespace panto
