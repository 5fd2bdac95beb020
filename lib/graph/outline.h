// What a file says of a graph, for those who look at graphs that this build cannot run: ops that it does not have,
// calls of functions, types and attributes unknown to it. Internal.
//
//   auto shown = read_to_show("model.pb");
//   if (const auto* outline = std::get_if<Outline>(&shown)) std::cout << outline->to_string();
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/graph/io.h"

namespace panto {

// Every text is visible and short, whatever the file has.
struct OutlineNode {
  enum class Kind : uint8_t { kOp, kPlaceholder, kConstant, kUnknown, kCall };
  std::string name;
  std::string op;
  Kind kind = Kind::kOp;           // kUnknown: an op that is not here; kCall: of a function of the file
  std::vector<NodeOutput> inputs;  // node: a position in Outline::nodes
  std::vector<int> control_inputs;
  std::vector<std::pair<std::string, std::string>> attrs;
  std::string device;
};

struct PANTO_EXPORT Outline {
  std::vector<OutlineNode> nodes;  // as in the file: there may be cycles (TensorFlow's loops are some)
  GraphVersions versions;
  std::string why;  // this build cannot run it

  // "x", "x:1".
  std::string output_name(NodeOutput output) const;
  // The op, marked where it is not here: "Foo?".
  static std::string op_text(const OutlineNode& node);
  // "y = Foo?(x, ^c; k=2) @device".
  std::string node_text(const OutlineNode& node) const;
  // Each node on a line, in the file's order.
  std::string to_string() const;
  std::string to_dot() const;
  // "3 nodes of 2 unknown ops: Foo (2), Bar (1)", then the same of functions; where there are neither, why it cannot be
  // run. Lines.
  std::string missing_text() const;
};

// The graph, or what the file says where read_graph throws Unimplemented. Throws what else read_graph throws.
PANTO_EXPORT std::variant<Graph, Outline> read_to_show(const std::string& path, const ImportOptions& options = {});
PANTO_EXPORT std::variant<Graph, Outline> parse_to_show(std::string_view bytes, const ImportOptions& options = {});

}  // namespace panto
