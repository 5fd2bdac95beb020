#include "panto/lib/graph/graph_element.h"

#include <string_view>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"

namespace panto {

namespace {

const Node& node_of(const Graph& graph, const Operation& operation, const void* identity) {
  if (!operation.defined()) invalid("operation: expected one of this graph, got an undefined one (it has run already)");
  const void* made_in = operation.graph();
  const bool other = identity != nullptr && made_in != nullptr && made_in != identity;
  const Node* node = other ? nullptr : graph.find(operation.id());
  if (node == nullptr) invalid("operation: expected one of this graph, got '{}'", operation.name());
  return *node;
}

NodeOutput output_of_tensor(const Graph& graph, const GraphElement& element) {
  const NodeOutput output = element.tensor().defined() ? graph.output_of(element.tensor()) : NodeOutput();
  if (!output.valid()) {
    invalid("{}: expected one of this graph, got {}", element.is_variable() ? "variable" : "symbolic tensor",
            element.to_string());
  }
  return output;
}

}  // namespace

GraphElements::GraphElements(std::initializer_list<GraphElement> elements) : elements_(elements) {}
GraphElements::GraphElements(std::vector<GraphElement> elements) : elements_(std::move(elements)) {}

std::string GraphElement::to_string() const {
  switch (kind_) {
    case Kind::kName: return "'" + printable(name_) + "'";
    case Kind::kOperation: return operation_.defined() ? "'" + printable(operation_.name()) + "'" : "nothing";
    default: return tensor_.defined() ? tensor_.to_string() : "an undefined one";
  }
}

int node_of(const Graph& graph, const GraphElement& element, const void* identity) {
  switch (element.kind()) {
    case GraphElement::Kind::kOperation: return node_of(graph, element.operation(), identity).id();
    case GraphElement::Kind::kName: break;
    default: return output_of_tensor(graph, element).node;
  }
  const std::string_view name = element.name();
  if (name.starts_with('^')) return graph.at(name.substr(1)).id();
  if (const Node* node = graph.find(name)) return node->id();
  return graph.output(name).node;
}

NodeOutput output_of(const Graph& graph, const GraphElement& element, const void* identity) {
  switch (element.kind()) {
    case GraphElement::Kind::kOperation: node_of(graph, element.operation(), identity); return {};
    case GraphElement::Kind::kName: break;
    default: return output_of_tensor(graph, element);
  }
  const std::string_view name = element.name();
  if (name.starts_with('^')) {
    graph.at(name.substr(1));
    return {};
  }
  if (const Node* node = graph.find(name); node != nullptr && node->num_outputs() == 0) return {};
  return graph.output(name);
}

}  // namespace panto
