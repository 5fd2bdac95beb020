// Composite ops in graphs: a node of one is replaced by the nodes that its body makes. Internal.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "panto/lib/graph/graph.h"
#include "panto/lib/graph/infer.h"

namespace panto {

struct Expansion {
  std::vector<NodeOutput> outputs;
  AbstractValues abstract_values;
};

// Adds the nodes that `spec.op`'s body makes. They are called `name/Op`, except that the one (or an added identity)
// that gives the outputs has the name itself. `inputs` are abstract values for spec.inputs. Control inputs go to the
// nodes that read no other new node. Throws what the body throws.
Expansion expand_composite(Graph& graph, const NodeSpec& spec, std::span<const Tensor* const> inputs);
// The same of what `body` does with the tensors behind `inputs`; `spec.op` is not looked at.
Expansion expand_body(Graph& graph, const NodeSpec& spec, std::span<const Tensor* const> inputs,
                      const std::function<std::vector<Tensor>()>& body);

// Replaces every node of a composite op, but those that cannot run here.
void expand_composites(Graph& graph);

}  // namespace panto
