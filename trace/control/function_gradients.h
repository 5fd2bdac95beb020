// Gradients of nodes that call functions: conditionals and loops. Internal.
//
// Method: before gradients are added to a graph, each such node on a path is "made ready": the functions that it calls
// also return the values that their gradients will read (a loop returns lists of them, one element per round). The
// gradient of the node is then a conditional, or a loop that counts down, whose functions compute the gradients of the
// branches or rounds.
#pragma once

#include <memory>

#include "panto/lib/core/op/gradient.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/graph/graph.h"
#include "panto/trace/concrete.h"

namespace panto {

// Whether a node was made ready and the outputs added then are not read: if gradients flow into these too, it must be
// made ready once more.
bool is_ready_for_gradients(const Graph& graph, int id, std::span<const NodeOutput> ys);
// Makes a node ready: appends outputs, and for a loop also inputs. Existing ones keep their positions.
void make_ready_for_gradients(Graph& graph, int id);

// For FunctionRuntime. Throw Unimplemented unless the node was made ready.
void branches_gradient(GradContext& g);
void loop_gradient(GradContext& g);

// The ConcreteFunction of `function`, with its plans and gradients; made once.
std::shared_ptr<ConcreteFunction> concrete_of(const GraphFunction& function);

}  // namespace panto
