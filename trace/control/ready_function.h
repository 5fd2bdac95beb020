// Functions that were made ready for gradients: beside what they gave before, they give what gradients will read.
// Internal to the gradients of conditionals and loops.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "panto/lib/graph/functions/graph_function.h"
#include "panto/trace/concrete_gradient.h"

namespace panto {

using FunctionGradient = ConcreteFunction::Gradient;

// What such a function says of itself: GraphFunction::note.
struct ReadyFunction {
  std::shared_ptr<FunctionGradient> gradient;
  size_t inputs = 0, outputs = 0;  // of the function before
  // By FunctionGradient::kept: which input of the node, or output (~k) of it, has the value. Of a loop ~k is a list of
  // values.
  std::vector<int> kept;
  // Where the function was ready before: what it said then. What is made ready twice has gradients of gradients.
  std::shared_ptr<const ReadyFunction> previous;
};

// Branches made ready: each gives, behind its outputs, what the gradient of any of them reads.
struct ReadyBranches {
  std::vector<FunctionRef> functions;
  std::vector<OutputInfo> extras;
};
ReadyBranches make_branches_ready(std::span<const FunctionRef> functions);

// A loop made ready: it takes and gives, behind its values, the number of rounds, and lists of such elements.
struct ReadyLoop {
  FunctionRef condition, body;
  std::vector<OutputInfo> elements;
};
// `values`: what is known of them in every round.
ReadyLoop make_loop_ready(const FunctionRef& condition, const FunctionRef& body, std::span<const OutputInfo> values);
// As list ops take it: -1 for a dimension that may be any, a scalar -1 for any shape.
Tensor spelled_shape(const PartialShape& shape);

// Null for a function that was not made ready.
const ReadyFunction* find_ready_info(const FunctionRef& function);
// What says how the gradient is made that `g` asks for. Throws Unimplemented for a function that was not made ready, or
// not for gradients of that order.
const ReadyFunction& ready_info(const FunctionRef& function, const GradContext& g);
// The gradients of the function's inputs, from those of its outputs: calls of the ops that compute them. `kept`: by
// FunctionGradient::kept. Undefined where there is none.
std::vector<Tensor> inputs_gradients(const ReadyFunction& ready, std::span<const Tensor> kept,
                                     std::span<const Tensor> dys, std::span<const uint8_t> needed);
// Of input i, which has one.
DType gradient_type(const FunctionGradient::Part& part, size_t i);
// Zeros of a value's shape; of a variable's, where `value` is a handle.
Tensor zeros_for(const Tensor& value, DType dtype);

// The node is of another call from now on, with more outputs.
void replace_node(Graph& graph, int id, const Op& op, std::vector<NodeOutput> inputs, std::vector<AttrValue> attrs,
                  std::vector<OutputInfo> outputs);

void make_loop_ready(Graph& graph, int id);

}  // namespace panto
