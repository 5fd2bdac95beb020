// GraphFunction: a function whose body is a graph: a branch, a loop body, a function of a file.
//
//   auto f = std::make_shared<GraphFunction>("body", std::move(graph), std::move(endpoints));
//   graph.add({..., .attrs = {..., AttrValue(FunctionRef{f->name(), f})}});
//
// It has no captures: values that a C++ function used from outside are additional inputs at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/op/function_body.h"
#include "panto/lib/graph/functions/endpoints.h"
#include "panto/lib/graph/graph.h"

namespace panto {

class PANTO_EXPORT GraphFunction final : public FunctionBody {
 public:
  // The graph may have nodes that outputs and effects do not need. Inputs must be Placeholders. `definition`: for a
  // function of a file, its serialized FunctionDef.
  GraphFunction(std::string name, Graph graph, Endpoints endpoints, std::string definition = "");

  const std::string& name() const noexcept override { return name_; }
  std::span<const DType> input_types() const noexcept override { return input_types_; }
  std::span<const DType> output_types() const noexcept override { return output_types_; }
  uint8_t effects() const noexcept override { return effects_; }
  int gradient_orders() const noexcept override { return gradient_orders_; }
  std::vector<Tensor> infer(std::span<const Tensor* const> inputs) const override;

  const Graph& graph() const noexcept { return graph_; }
  const Endpoints& endpoints() const noexcept { return endpoints_; }
  const std::string& definition() const noexcept { return definition_; }
  // One line with name, inputs and outputs, then the nodes as in Graph::to_string.
  std::string to_string() const;
  // Ids of the nodes that a call runs, inputs first.
  const std::vector<int>& needed() const noexcept { return needed_; }
  // The number of these nodes plus, for each call in them, the size of the called function: the number of nodes after
  // expanding all calls, and the work of inferring the outputs.
  int64_t size() const noexcept { return size_; }
  // Throws InvalidArgument if number, types or shapes of the inputs do not fit.
  void check_inputs(std::span<const Tensor* const> inputs) const;

  // The function, given by a file, that computes the gradients of the inputs from the inputs and the gradients of the
  // outputs. Without a name: there is none, and the gradients follow from the nodes. Set it before the function is
  // shared.
  void set_gradient(FunctionRef gradient) { gradient_ = std::move(gradient); }
  const FunctionRef& gradient() const noexcept { return gradient_; }

  // For a function that was prepared for `gradient_orders` gradients: data of trace/. Set it before the function is
  // shared.
  void set_note(std::shared_ptr<const void> note, int gradient_orders) noexcept {
    note_ = std::move(note);
    gradient_orders_ = gradient_orders;
  }
  const std::shared_ptr<const void>& note() const noexcept { return note_; }
  // Data that another part of the library keeps with the function; the first caller makes it. Only `trace` uses it.
  std::shared_ptr<void> companion(const std::function<std::shared_ptr<void>()>& make) const;

 private:
  std::string name_;
  Graph graph_;
  Endpoints endpoints_;
  std::string definition_;
  std::vector<DType> input_types_, output_types_;
  std::vector<int> needed_;
  uint8_t effects_ = 0;
  int gradient_orders_ = 0;
  int64_t size_ = 0;
  FunctionRef gradient_;
  std::shared_ptr<const void> note_;
  mutable std::once_flag once_;
  mutable std::shared_ptr<void> companion_;
};

// The graph function of a FunctionRef.
PANTO_EXPORT std::shared_ptr<const GraphFunction> graph_function(const FunctionRef& function);

// Calls f(reference) for each function named by the attributes, or by the attributes of a node.
template <class F>
void for_each_function(std::span<const AttrValue> attrs, const F& f) {
  for (const AttrValue& attr : attrs) {
    if (attr.kind() == AttrKind::kFunc) f(attr.as<FunctionRef>());
    if (attr.kind() != AttrKind::kFuncList) continue;
    for (const FunctionRef& function : attr.as<std::vector<FunctionRef>>()) f(function);
  }
}
template <class F>
void for_each_function(const Node& node, const F& f) {
  for_each_function(node.attrs(), f);
}

// The functions that nodes of the graph call, directly or indirectly, each once, in the order in which they are found.
// Throws as body_of.
PANTO_EXPORT std::vector<std::shared_ptr<const GraphFunction>> functions_of(const Graph& graph);

// The sum of the sizes of the functions that the attributes name and whose bodies are known.
PANTO_EXPORT int64_t size_of_functions(std::span<const AttrValue> attrs);

// The union of the effects of the nodes `ids`, including those of functions that they call: bits of Effect::What.
PANTO_EXPORT uint8_t effects_of(const Graph& graph, std::span<const int> ids);

// Adds a copy of the function's nodes to `graph`, with `inputs`; their names are below `scope`. Returns its outputs in
// `graph`. The ids of the nodes for the function's effects are added to `effects`.
PANTO_EXPORT std::vector<NodeOutput> insert_function(Graph& graph, const GraphFunction& function,
                                                     std::span<const NodeOutput> inputs, const std::string& scope,
                                                     std::vector<int>& effects);

}  // namespace panto
