// NodeBuilder: builds a node step by step, for programs that read nodes from some source.
//
//   const NodeOutput product =
//       NodeBuilder(graph, "MatMul", "product").input(x).input(w).attr("transpose_b", AttrValue(true)).build();
//
// Nothing throws until `build`, which reports all mistakes at once, or adds the node.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/core/op/attr.h"
#include "panto/lib/graph/graph.h"

namespace panto {

class PANTO_EXPORT NodeBuilder {
 public:
  // Without a name the node gets a free one that is made from the op's. The graph must outlive the builder.
  NodeBuilder(Graph& graph, std::string_view op, std::string_view name = "");
  ~NodeBuilder();
  NodeBuilder(NodeBuilder&&) noexcept;

  // Adds the next input; the elements of a list one after another. By id, or by the text that Graph::output parses.
  NodeBuilder& input(NodeOutput from);
  NodeBuilder& input(std::string_view from);
  // Adds a control input.
  NodeBuilder& control_input(std::string_view node);
  // Attributes that follow from the inputs, and attributes with defaults, may be left out.
  NodeBuilder& attr(std::string_view name, AttrValue value);
  NodeBuilder& device(std::string_view name);

  // Returns the node's first output (index 0 even if the node has no outputs). Types and shapes of the outputs are
  // inferred by the op. Throws InvalidArgument with all mistakes.
  NodeOutput build();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace panto
