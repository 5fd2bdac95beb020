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
  StandIns stand_ins;
};

// Adds the nodes that `init.op`'s body makes. They are called `name/Op`, except that the one (or an added identity)
// that gives the outputs has the name itself. `inputs` are stand-ins for init.inputs. Control inputs go to the nodes
// that read no other new node. Throws what the body throws.
Expansion expand_composite(Graph& graph, const NodeInit& init, std::span<const Tensor* const> inputs);
// The same of what `body` does with the tensors behind `inputs`; `init.op` is not looked at.
Expansion expand_body(Graph& graph, const NodeInit& init, std::span<const Tensor* const> inputs,
                      const std::function<std::vector<Tensor>()>& body);

// Replaces every node of a composite op, but those that cannot run here.
void expand_composites(Graph& graph);

}  // namespace panto
