// Adds nodes that compute gradients to a graph.
//
//   GraphScope in(graph);
//   ...
//   const GradSource sources[] = {w, b};
//   const std::vector<Tensor> d = gradients(loss, sources);   // symbolic tensors, one per source
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

// Extends `graph` by nodes that compute the gradients of the sum of `ys`, each weighted by its seed (an invalid seed:
// ones), with respect to `xs`, which are floating outputs or handles of variables. Forward nodes stay unchanged, with
// two exceptions: composites without a gradient of their own are expanded and become identities of their bodies'
// results, and loops and conditionals of TensorFlow 1 become While and If (lib/graph/flow/raise.h). The result is
// invalid for an x that no y depends on. Throws Unimplemented if an op on a path has no gradient. `known`: Placeholders
// that have the same value at every run (captures of a function), so that sizes in them, and shapes of variables, are
// known.
PANTO_EXPORT std::vector<NodeOutput> gradients(Graph& graph, std::span<const NodeOutput> ys,
                                               std::span<const NodeOutput> xs, std::span<const NodeOutput> seeds,
                                               std::span<const std::pair<NodeOutput, Tensor>> known);
PANTO_EXPORT std::vector<NodeOutput> gradients(Graph& graph, std::span<const NodeOutput> ys,
                                               std::span<const NodeOutput> xs, std::span<const NodeOutput> seeds);
PANTO_EXPORT std::vector<NodeOutput> gradients(Graph& graph, std::span<const NodeOutput> ys,
                                               std::span<const NodeOutput> xs);

// The same for symbolic tensors of the innermost open GraphScope. A result is undefined if y does not depend on the x.
PANTO_EXPORT std::vector<Tensor> gradients(const Tensor& y, std::span<const GradSource> xs);
// The same, with rows where GradientTape::sparse_gradient returns rows. `seed`, of y's dtype and shape, is the gradient
// that flows into y; undefined: ones. Throws InvalidArgument if its dtype or shape is not y's.
PANTO_EXPORT std::vector<Gradient> sparse_gradients(const Tensor& y, std::span<const GradSource> xs,
                                                    const Tensor& seed = {});

}  // namespace panto
