// What passes do to functions that nodes call: branches, and what loops run. Internal.
//
//   FunctionDraft body(*function);
//   body.take_as_input(computed, info);            // whoever calls it computes that now
//   replace_functions(spec.attrs, ...);            // with body.finish()
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "panto/lib/graph/functions/graph_function.h"

namespace panto::passes {

// The function, if a changed copy may take its place; null for one that knows only a name of it, as one that calls
// itself does, and for one with a gradient of its own.
std::shared_ptr<const GraphFunction> replaceable(const FunctionRef& function);

// Calls f(reference) for each function that attributes name, in order, and sets it to what that gives.
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

// A copy of a function that becomes another one of the same name.
class FunctionDraft {
 public:
  explicit FunctionDraft(const GraphFunction& function)
      : name_(function.name()), graph_(function.graph()), endpoints_(function.endpoints()) {}

  const Graph& graph() const { return graph_; }
  const Endpoints& endpoints() const { return endpoints_; }
  // Adds an input, the last.
  NodeOutput add_input(const std::string& name, const OutputInfo& info);
  // The same, which stands for what the function computed at `output`.
  NodeOutput take_as_input(NodeOutput output, const OutputInfo& info);
  // Adds an output, the last.
  void add_output(NodeOutput output) { endpoints_.outputs.push_back(output); }
  // Without what nobody needs any more.
  FunctionRef finish();

 private:
  std::string name_;
  Graph graph_;
  Endpoints endpoints_;
};

// Adds inputs to a call whose last argument is a list of any types. Outputs of that list of types are added too, where
// there are.
void add_arguments(const Graph& graph, NodeSpec& call, std::span<const NodeOutput> inputs);
// The new node takes the name of the old one and the place of its outputs; it may have more, the last ones. The old one
// is removed.
void take_place_of_call(Graph& graph, int id, int replacement);

}  // namespace panto::passes
