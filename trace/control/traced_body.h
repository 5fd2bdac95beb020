// Traces C++ functions as graphs for ops that call functions: branches, conditions, bodies of loops. Internal.
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

// The graph of a C++ function. Tensors that it captures, symbolic or not, are inputs after its arguments.
struct TracedBody {
  std::string name;
  Graph graph;
  Endpoints endpoints;
  std::vector<Tensor> captures;  // values of the last inputs
};

// Calls `fn` once with symbolic tensors that have the dtypes, shapes and handle data of `arguments`. Active recorders
// do not record the calls. Throws what `fn` throws.
PANTO_EXPORT TracedBody trace_body(std::string name, std::span<const Tensor> arguments, const TensorFunction& fn);

// Gives all bodies the same inputs: the arguments, then the captures of all bodies, which are returned.
std::vector<Tensor> share_captures(std::span<TracedBody> bodies);

PANTO_EXPORT std::shared_ptr<const GraphFunction> function_of(TracedBody body);

}  // namespace panto
