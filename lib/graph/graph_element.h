// GraphElement: a reference to a part of a graph, in any form: a name, a symbolic tensor, a variable, an operation.
// Fetches, groups and control dependencies take any mix of these.
//
//   session.run({"loss:0", accuracy, w, train});
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/op/operation.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/graph/graph.h"

namespace panto {

class PANTO_EXPORT GraphElement {
 public:
  enum class Kind : uint8_t { kName, kTensor, kVariable, kOperation };
  // NOLINTBEGIN(google-explicit-constructor): written as {"y", loss, w, step}
  // "y" or "y:0": a node's output. "^y", or the name of a node without outputs: the node.
  GraphElement(std::string name) : name_(std::move(name)) {}
  GraphElement(const char* name) : name_(name) {}
  GraphElement(Tensor symbolic) : kind_(Kind::kTensor), tensor_(std::move(symbolic)) {}
  GraphElement(const Variable& variable) : kind_(Kind::kVariable), tensor_(variable.handle()) {}
  GraphElement(Operation operation) : kind_(Kind::kOperation), operation_(std::move(operation)) {}
  // NOLINTEND(google-explicit-constructor)

  Kind kind() const noexcept { return kind_; }
  bool is_variable() const noexcept { return kind_ == Kind::kVariable; }
  const std::string& name() const noexcept { return name_; }
  const Tensor& tensor() const noexcept { return tensor_; }  // for a variable: its handle
  const Operation& operation() const noexcept { return operation_; }
  bool operator==(const GraphElement& other) const noexcept {
    return kind_ == other.kind_ && tensor_.impl() == other.tensor_.impl() && name_ == other.name_ &&
           operation_ == other.operation_;
  }
  // For errors: "'y'", "<symbolic float32[2]>"; an operation's name, "'step'".
  std::string to_string() const;

 private:
  Kind kind_ = Kind::kName;
  std::string name_;
  Tensor tensor_;
  Operation operation_;
};

// A list of elements: braces with any mix, or a container of one kind (vector<string>, vector<Tensor>, span<Variable>).
class PANTO_EXPORT GraphElements {
 public:
  // NOLINTBEGIN(google-explicit-constructor): implicit on purpose
  GraphElements(std::initializer_list<GraphElement> elements);
  GraphElements(std::vector<GraphElement> elements);
  template <class Range>
    requires(requires(const Range& range) { GraphElement(*std::begin(range)); } &&
             !std::convertible_to<const Range&, std::string> && !std::same_as<Range, std::vector<GraphElement>>)
  GraphElements(const Range& range) {
    for (const auto& element : range) elements_.emplace_back(element);
  }
  // NOLINTEND(google-explicit-constructor)
  const std::vector<GraphElement>& elements() const noexcept { return elements_; }

 private:
  std::vector<GraphElement> elements_;
};

// The node of `graph` that the element refers to. `identity`: of the graph that operations must belong to, which is
// `graph` or the graph that it was copied from; null if that is gone. Throws NotFound for a name that no node has,
// InvalidArgument for an element of another graph, or one that refers to nothing.
PANTO_EXPORT int node_of(const Graph& graph, const GraphElement& element, const void* identity);
// The output that the element refers to; invalid if it refers to a node: an operation, "^name", or a node without
// outputs. Throws as node_of, and OutOfRange for an output that the node does not have.
PANTO_EXPORT NodeOutput output_of(const Graph& graph, const GraphElement& element, const void* identity);

}  // namespace panto
