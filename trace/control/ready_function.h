// Functions that were made ready for gradients: they also return the values that gradients will read. Internal to the
// gradients of conditionals and loops.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "panto/lib/graph/functions/graph_function.h"
#include "panto/trace/concrete_gradient.h"

namespace panto {

using FunctionGradient = ConcreteFunction::Gradient;

// The record attached to such a function: GraphFunction::note.
struct ReadyFunction {
  std::shared_ptr<FunctionGradient> gradient;
  size_t inputs = 0, outputs = 0;  // of the original function
  // By FunctionGradient::kept: the node's input that holds the value, or ~k for output k. For a loop, output k is a
  // list of values.
  std::vector<int> kept;
  // The previous record, if the function was ready already: a function that is made ready twice has second-order
  // gradients.
  std::shared_ptr<const ReadyFunction> previous;
};

// Branches made ready: each returns, after its outputs, the values that the gradients of all branches read.
struct ReadyBranches {
  std::vector<FunctionRef> functions;
  std::vector<OutputInfo> extras;
};
ReadyBranches make_branches_ready(std::span<const FunctionRef> functions);

// A loop made ready: after its values, it carries the number of rounds, and one list per entry of `elements`.
struct ReadyLoop {
  FunctionRef condition, body;
  std::vector<OutputInfo> elements;
};
// `values`: type and shape of the loop's values in every round.
ReadyLoop make_loop_ready(const FunctionRef& condition, const FunctionRef& body, std::span<const OutputInfo> values);
// The argument `element_shape` of list ops: -1 for an unknown dimension, a scalar -1 for an unknown shape.
Tensor spelled_shape(const PartialShape& shape);

// Returns the record of a function; null if it was not made ready.
const ReadyFunction* find_ready_info(const FunctionRef& function);
// Returns the record for the order of gradient that `g` asks for. Throws Unimplemented if the function was not made
// ready for that order.
const ReadyFunction& ready_info(const FunctionRef& function, const GradContext& g);
// Calls the ops that compute the gradients of the function's inputs from `dys`, those of its outputs. `kept`: by
// FunctionGradient::kept. A gradient is undefined if there is none.
std::vector<Tensor> inputs_gradients(const ReadyFunction& ready, std::span<const Tensor> kept,
                                     std::span<const Tensor> dys, std::span<const uint8_t> needed);
// The dtype of the gradient of input i, which must have one.
DType gradient_type(const FunctionGradient::Part& part, size_t i);
// Zeros of a value's shape; if `value` is a handle, of the variable's shape.
Tensor zeros_for(const Tensor& value, DType dtype);

// Turns the node into another call, with more outputs.
void replace_node(Graph& graph, int id, const Op& op, std::vector<NodeOutput> inputs, std::vector<AttrValue> attrs,
                  std::vector<OutputInfo> outputs);

void make_loop_ready(Graph& graph, int id);

}  // namespace panto
