// Expansion of composite ops in graphs: a node is replaced by the nodes of its body. Internal.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/graph/infer.h"

namespace panto {

struct Expansion {
  std::vector<NodeOutput> outputs;
  AbstractValues abstract_values;
};

// Adds the nodes that `body` records for the abstract values `inputs` of spec.inputs; spec.op is ignored. The nodes are
// called `name/Op`; the node that gives the outputs (or an added identity) is called `name`. Control inputs go to the
// new nodes that read no other new node. Nodes that wait for the outputs' node wait for all that the body writes.
// Throws what the body throws.
Expansion expand_body(Graph& graph, const NodeSpec& spec, std::span<const Tensor* const> inputs,
                      const std::function<std::vector<Tensor>()>& body);

// Expands the composites for which `which` is true, also those in bodies. The shapes in the graph must be correct. The
// new nodes take the old nodes' place in the order (Node::place).
PANTO_EXPORT void expand_composites(Graph& graph, const std::function<bool(const Node&)>& which);

// Records which function calls each call was expanded from, so that endless recursion is detected instead of adding
// nodes forever.
class CallTrail {
 public:
  // Calls `expand`, which replaces node `id` by other nodes. Throws InvalidArgument if the node calls a function that
  // it was itself expanded from.
  void expanding(const Graph& graph, int id, const std::function<void()>& expand);

 private:
  // A function, identified by its body, or by its library and name.
  struct Callee {
    std::shared_ptr<const void> owner;
    std::string name;
    bool operator==(const Callee&) const = default;
  };
  struct Place {
    Callee callee;
    int around;  // the place of the call that this call was expanded from; -1: none
    int depth;
  };
  bool is_in(const Callee& callee, int place) const;

  std::vector<Place> places_;
  std::unordered_map<int, int> within_;  // node id -> the place of the call that the node was expanded from
};

// Calls `expand` for node `id`, then for those of the resulting calls for which `which` is true, and so on. Works
// without a pass over the graph for each level of nested calls.
void for_calls_within(const Graph& graph, int id, const std::function<bool(int)>& which,
                      const std::function<void(int)>& expand);

// Expands one node, which stays, with its id and name, as an identity of the results of its body.
void expand_in_place(Graph& graph, int id, CallTrail& trail);

// True for a node of a composite that can run here.
bool is_composite(const Node& node);

}  // namespace panto
