// GraphFunction: a function that is a graph with inputs and outputs: a branch, the body of a loop, a function of a
// file.
//
//   auto f = std::make_shared<GraphFunction>("body", std::move(graph), std::move(endpoints));
//   graph.add({..., .attrs = {..., AttrValue(FunctionRef{f->name(), f})}});
//
// It has no captures: what a C++ function used from outside is an input behind the others.
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
  // Nodes that outputs and effects do not need may be in the graph; inputs are of Placeholders. `definition`: of a
  // function of a file, what the file has (the bytes of a FunctionDef).
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
  // A line with name, inputs and outputs, then the nodes as Graph::to_string has them.
  std::string to_string() const;
  // What a call runs, inputs first.
  const std::vector<int>& needed() const noexcept { return needed_; }
  // How many that is, with the nodes of the functions that they call, as often as they do: what a call becomes, or what
  // has to be looked at to know its outputs.
  int64_t size() const noexcept { return size_; }
  // Throws InvalidArgument where number, types or shapes of inputs are others.
  void check_inputs(std::span<const Tensor* const> inputs) const;

  // What a file says that computes the gradients of the inputs, of the inputs and the gradients of the outputs; without
  // a name: nothing, and they follow from its nodes. To be set before others see the function.
  void set_gradient(FunctionRef gradient) { gradient_ = std::move(gradient); }
  const FunctionRef& gradient() const noexcept { return gradient_; }

  // Of one that was made ready for gradients, of so many orders: what trace/ wants to find with it. To be set before
  // others see the function.
  void set_note(std::shared_ptr<const void> note, int gradient_orders) noexcept {
    note_ = std::move(note);
    gradient_orders_ = gradient_orders;
  }
  const std::shared_ptr<const void>& note() const noexcept { return note_; }
  // What another part of the library keeps beside it, made by the first who asks. One owner at a time: `trace`.
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

// The function of a FunctionRef, as a graph.
PANTO_EXPORT std::shared_ptr<const GraphFunction> graph_function(const FunctionRef& function);

// Calls f(reference) for each function that attributes, or those of a node, name.
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

// The functions that nodes of the graph call, and those that they call in turn, each once, in the order in which they
// are found. Throws as body_of.
PANTO_EXPORT std::vector<std::shared_ptr<const GraphFunction>> functions_of(const Graph& graph);

// The sizes of the functions that attributes name and whose bodies are known, in all.
PANTO_EXPORT int64_t size_of_functions(std::span<const AttrValue> attrs);

// Bits of Effect::What of the nodes `ids`, those of the functions that they call among them.
PANTO_EXPORT uint8_t effects_of(const Graph& graph, std::span<const int> ids);

// Adds what the function does to `graph`, on these inputs; nodes get names below `scope`. Gives where its outputs are.
// Effects get the ids of nodes that stand for those of the function.
PANTO_EXPORT std::vector<NodeOutput> insert_function(Graph& graph, const GraphFunction& function,
                                                     std::span<const NodeOutput> inputs, const std::string& scope,
                                                     std::vector<int>& effects);

}  // namespace panto
