// How passes change functions that nodes call: branches, and conditions and bodies of loops. Internal.
//
//   FunctionDraft body(*function);
//   body.take_as_input(computed, info);            // callers compute that value now
//   replace_functions(spec.attrs, ...);            // with body.finish()
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "panto/lib/graph/functions/graph_function.h"

namespace panto::passes {

// Returns the function if a changed copy may replace it; null for a function that is known by name only (as one that
// calls itself) and for one with a custom gradient.
std::shared_ptr<const GraphFunction> replaceable(const FunctionRef& function);

// Replaces each function reference in the attributes by f(reference), in order.
template <class F>
void replace_functions(std::vector<AttrValue>& attrs, const F& f) {
  for (AttrValue& attr : attrs) {
    if (attr.kind() == AttrKind::kFunc) attr = AttrValue(FunctionRef(f(attr.as<FunctionRef>())));
    if (attr.kind() != AttrKind::kFuncList) continue;
    std::vector<FunctionRef> list = attr.as<std::vector<FunctionRef>>();
    for (FunctionRef& function : list) function = f(function);
    attr = AttrValue(std::move(list));
  }
}

// A copy of a function to be changed; it becomes a new function of the same name.
class FunctionDraft {
 public:
  explicit FunctionDraft(const GraphFunction& function)
      : name_(function.name()), graph_(function.graph()), endpoints_(function.endpoints()) {}

  const Graph& graph() const { return graph_; }
  const Endpoints& endpoints() const { return endpoints_; }
  // Appends an input.
  NodeOutput add_input(const std::string& name, const OutputInfo& info);
  // Appends an input that replaces `output`, which the function computed so far.
  NodeOutput take_as_input(NodeOutput output, const OutputInfo& info);
  // Appends an output.
  void add_output(NodeOutput output) { endpoints_.outputs.push_back(output); }
  // Removes nodes that are no longer needed and returns the new function.
  FunctionRef finish();

 private:
  std::string name_;
  Graph graph_;
  Endpoints endpoints_;
};

// Appends inputs to a call whose last argument is a list of any types. If the call has outputs of the same list of
// types, appends outputs too.
void add_arguments(const Graph& graph, NodeSpec& call, std::span<const NodeOutput> inputs);
// Gives node `replacement` the name and consumers of node `id`, which is removed. The new node may have more outputs,
// at the end.
void take_place_of_call(Graph& graph, int id, int replacement);

}  // namespace panto::passes
