// C++ functions made graphs that ops call: branches, conditions, bodies of loops. Internal.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/trace/function.h"

namespace panto {

// What a C++ function does, as a graph. What it uses from outside, symbolic or not, is an input behind its arguments.
struct TracedBody {
  std::string name;
  Graph graph;
  Endpoints endpoints;
  std::vector<Tensor> captures;  // values of the last inputs
};

// Calls `fn` once with symbolic tensors for `arguments`, of which dtypes, shapes and what handles refer to count. No
// recorder that is open hears of it. Throws what `fn` throws.
PANTO_EXPORT TracedBody trace_body(std::string name, std::span<const Tensor> arguments, const TensorFunction& fn);

// Makes the bodies functions that take the same inputs: the arguments, then what any of them uses from outside, which
// is returned.
std::vector<Tensor> share_captures(std::span<TracedBody> bodies);

PANTO_EXPORT std::shared_ptr<const GraphFunction> function_of(TracedBody body);

}  // namespace panto
