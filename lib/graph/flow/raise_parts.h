// What raising loops and raising conditionals share. Internal to lib/graph/flow/raise*.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/graph/flow/liveness.h"
#include "panto/lib/graph/flow/raise.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/graph/graph.h"

namespace panto::raise {

// A graph in which loops or conditionals are being replaced.
struct Work {
  Graph& graph;
  std::set<int> kept;
  std::map<NodeOutput, NodeOutput> moved;  // not only of the given graph: also of what replaced its nodes before

  bool is_kept(int id) const { return kept.contains(id); }
  // The values of `from` are those of the node that is added; it has its name, and is kept if it was.
  int replace(int from, NodeOutput value);
};

// A function made of nodes of a graph.
class FunctionMaker {
 public:
  explicit FunctionMaker(const Graph& from) : from_(from) {}

  // `output` is the next input of the function.
  void add_input(NodeOutput output, OutputInfo info);
  // Reading `output` is reading what `same` is, which is there.
  void alias(NodeOutput output, NodeOutput same) { values_[output] = values_.at(same); }
  bool has(NodeOutput output) const { return values_.contains(output); }
  // A node whose inputs are there. Of its control inputs, those that are there are kept.
  void copy(int id);
  // A constant; where it is in the function.
  NodeOutput add_constant(std::string_view name, const Tensor& value);
  NodeOutput at(NodeOutput output) const { return values_.at(output); }
  // `outputs`: of the function's graph. Conditionals in it are raised.
  std::shared_ptr<const GraphFunction> make(std::string name, std::vector<NodeOutput> outputs);

 private:
  const Graph& from_;
  Graph graph_;
  std::map<NodeOutput, NodeOutput> values_;
  std::map<int, int> nodes_;
  std::vector<NodeOutput> inputs_;
};

// Attributes by name, the others unset.
std::vector<AttrValue> attributes(const Op& op, std::vector<std::pair<std::string_view, AttrValue>> set);
// Whether the node waits for what other nodes, or other steps, do.
bool waits(const Node& node);
// "loop" of "loop/LoopCond"; `otherwise` where the name has no scope.
std::string scope_of(const Node& node, std::string_view otherwise);
// Removes nodes that nobody but they use. Back edges among them are no matter.
void remove_all(Graph& graph, const std::set<int>& nodes);

// Each raises what it can, and returns how many.
int raise_loops(Work& work);
int raise_conditionals(Work& work);

}  // namespace panto::raise
