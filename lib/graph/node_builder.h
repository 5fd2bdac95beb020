// NodeBuilder: a node that is put together piece by piece, by a program that reads it from somewhere.
//
//   const NodeOutput product =
//       NodeBuilder(graph, "MatMul", "product").input(x).input(w).attr("transpose_b", AttrValue(true)).build();
//
// Nothing throws until `build`, which says every mistake at once, or adds the node.
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
  // Without a name: a free one that is made of the op's. The graph must outlive the builder.
  NodeBuilder(Graph& graph, std::string_view op, std::string_view name = "");
  ~NodeBuilder();
  NodeBuilder(NodeBuilder&&) noexcept;

  // The next input; those of a list one after another. By id, or as Graph::output reads it.
  NodeBuilder& input(NodeOutput from);
  NodeBuilder& input(std::string_view from);
  // It waits for that node.
  NodeBuilder& control_input(std::string_view node);
  // Attributes that follow from inputs, and those that have defaults, may be left out.
  NodeBuilder& attr(std::string_view name, AttrValue value);
  NodeBuilder& device(std::string_view name);

  // Its first output (index 0 of a node without outputs). Types and shapes of outputs are those that the op infers.
  // Throws InvalidArgument that has every mistake.
  NodeOutput build();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace panto
