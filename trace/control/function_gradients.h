// Gradients of nodes that call functions: conditionals and loops. Internal.
//
// How: before gradients are added to a graph, each such node on the way is made ready: the functions that it calls
// become ones that also give what their gradients will read (a loop gives lists of it, an element for each round). The
// gradient of the node is then a conditional, or a loop that counts down, whose functions compute the gradients of the
// branches and of the rounds.
#pragma once

#include <memory>

#include "panto/lib/core/op/gradient.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/graph/graph.h"
#include "panto/trace/concrete.h"

namespace panto {

// Whether a node was made ready, and nobody reads what it gives since then: gradients with respect to that would need
// more.
bool is_ready_for_gradients(const Graph& graph, int id, std::span<const NodeOutput> ys);
// Makes a node ready: it gets more outputs, and a loop more inputs. Those that it had stay where they are.
void make_ready_for_gradients(Graph& graph, int id);

// For FunctionRuntime. Precondition: the node was made ready; Unimplemented where it was not.
void branches_gradient(GradContext& g);
void loop_gradient(GradContext& g);

// The function with its plans and gradients; made once.
std::shared_ptr<ConcreteFunction> concrete_of(const GraphFunction& function);

}  // namespace panto
