// Composite ops in graphs: nodes of them become the nodes that their bodies make, where somebody needs those. Internal.
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

// Adds the nodes that `body` makes of the tensors behind `inputs`, which are abstract values for spec.inputs; spec.op
// is not looked at. The nodes are called `name/Op`, except that the one (or an added identity) that gives the outputs
// has the name itself. Control inputs go to the nodes that read no other new node; whoever waits for the outputs' node
// waits for all that the body writes. Throws what the body throws.
Expansion expand_body(Graph& graph, const NodeSpec& spec, std::span<const Tensor* const> inputs,
                      const std::function<std::vector<Tensor>()>& body);

// Replaces those nodes of composites, and of composites in their bodies, for which `which` is true. What the graph says
// of shapes must hold. The new nodes come where the old ones did (Node::place).
PANTO_EXPORT void expand_composites(Graph& graph, const std::function<bool(const Node&)>& which);

// Which functions the calls are in that came out of other calls: one that always calls itself is found there, and does
// not become more and more nodes.
class CallTrail {
 public:
  // Calls `expand`, which puts nodes in the place of node `id`. Throws InvalidArgument where that calls a function that
  // it is itself in.
  void expanding(const Graph& graph, int id, const std::function<void()>& expand);

 private:
  // A function, by its body, or in its library by its name.
  struct Callee {
    std::shared_ptr<const void> owner;
    std::string name;
    bool operator==(const Callee&) const = default;
  };
  struct Place {
    Callee callee;
    int around;  // the place that this call came out of; -1: none
    int depth;
  };
  bool is_in(const Callee& callee, int place) const;

  std::vector<Place> places_;
  std::unordered_map<int, int> within_;  // node id -> the place that the node came out of
};

// Calls `expand` for node `id`, and then for those calls that came out of that, for which `which` is true, and out of
// these: at once, so that the graph is not gone through for each level of calls in calls.
void for_calls_within(const Graph& graph, int id, const std::function<bool(int)>& which,
                      const std::function<void(int)>& expand);

// The same of one node, which stays, with its id and name, as an identity of what the nodes of its body give.
void expand_in_place(Graph& graph, int id, CallTrail& trail);

// A node of a composite that can run here.
bool is_composite(const Node& node);

}  // namespace panto
