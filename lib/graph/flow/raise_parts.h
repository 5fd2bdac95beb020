// Code shared by the conversion of loops and of conditionals. Internal to lib/graph/flow/raise*.
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

// A graph whose loops or conditionals are being replaced.
struct Work {
  Graph& graph;
  std::set<int> kept;
  std::map<NodeOutput, NodeOutput> moved;  // also of nodes that earlier replacements added

  bool is_kept(int id) const { return kept.contains(id); }
  // Replaces the outputs of node `from` by a new node with output `value`; the new node gets the name, and is kept if
  // `from` was.
  int replace(int from, NodeOutput value);
};

// Builds a function from nodes of a graph.
class FunctionMaker {
 public:
  explicit FunctionMaker(const Graph& from) : from_(from) {}

  // Makes `output` the next input of the function.
  void add_input(NodeOutput output, OutputInfo info);
  // Maps `output` to the value of `same`, which must be in the function.
  void alias(NodeOutput output, NodeOutput same) { values_[output] = values_.at(same); }
  bool has(NodeOutput output) const { return values_.contains(output); }
  // Copies a node whose inputs are in the function. Keeps those control inputs that are in the function.
  void copy(int id);
  // Adds a constant; returns its output in the function.
  NodeOutput add_constant(std::string_view name, const Tensor& value);
  NodeOutput at(NodeOutput output) const { return values_.at(output); }
  // `outputs`: of the function's graph. Converts the conditionals in it.
  std::shared_ptr<const GraphFunction> make(std::string name, std::vector<NodeOutput> outputs);

 private:
  const Graph& from_;
  Graph graph_;
  std::map<NodeOutput, NodeOutput> values_;
  std::map<int, int> nodes_;
  std::vector<NodeOutput> inputs_;
};

// A list of attributes by position: those in `set` by name, others unset.
std::vector<AttrValue> attributes(const Op& op, std::vector<std::pair<std::string_view, AttrValue>> set);
// True if the node waits for the action of other nodes or other steps.
bool waits(const Node& node);
// "loop" of "loop/LoopCond"; `otherwise` where the name has no scope.
std::string scope_of(const Node& node, std::string_view otherwise);
// Removes nodes that are only used by each other. Back edges among them are allowed.
void remove_all(Graph& graph, const std::set<int>& nodes);

// Each raises what it can, and returns how many.
int raise_loops(Work& work);
int raise_conditionals(Work& work);

}  // namespace panto::raise
