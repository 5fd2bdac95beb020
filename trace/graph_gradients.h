// Gradients of a graph: nodes are added to it that compute them.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/graph/graph.h"

namespace panto {

class Tracer;

// Extends `graph` by nodes that compute the gradients of the sum of `ys` (each weighed by its seed; an invalid output:
// ones) with respect to `xs`, which are floating outputs, or handles of variables. The forward nodes stay untouched,
// but for composites without a gradient of their own: they become identities of what the nodes of their bodies give.
// And where the graph has loops and conditionals of TensorFlow 1, these become While and If (lib/graph/flow/raise.h).
// The result is invalid for an x that no y depends on. Throws Unimplemented where an op on the way has no gradient.
// `known`: Placeholders that have the same value at every run (what a function captured): what sizes other tensors, and
// what a variable declares, is then known.
PANTO_EXPORT std::vector<NodeOutput> gradients(Graph& graph, std::span<const NodeOutput> ys,
                                               std::span<const NodeOutput> xs, std::span<const NodeOutput> seeds,
                                               std::span<const std::pair<NodeOutput, Tensor>> known);
PANTO_EXPORT std::vector<NodeOutput> gradients(Graph& graph, std::span<const NodeOutput> ys,
                                               std::span<const NodeOutput> xs, std::span<const NodeOutput> seeds);
PANTO_EXPORT std::vector<NodeOutput> gradients(Graph& graph, std::span<const NodeOutput> ys,
                                               std::span<const NodeOutput> xs);

// The same with the symbolic tensors of the innermost open GraphScope. Undefined tensors where there is no dependence.
PANTO_EXPORT std::vector<Tensor> gradients(const Tensor& y, std::span<const GradSource> xs);
// The same, rows where GradientTape::sparse_gradient gives rows. `seed`, of y's dtype and shape, is the gradient that
// flows into y; undefined: ones. Throws InvalidArgument for one that is not like y.
PANTO_EXPORT std::vector<Gradient> sparse_gradients(const Tensor& y, std::span<const GradSource> xs,
                                                    const Tensor& seed = {});

}  // namespace panto
