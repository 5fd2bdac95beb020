#include "panto/lib/graph/outline.h"

#include <algorithm>
#include <map>

#include "panto/lib/base/format.h"
#include "panto/lib/graph/shown.h"

namespace panto {

namespace {

using Kind = OutlineNode::Kind;

// "Foo (2), Bar (1)", the most frequent first.
std::string counts_text(const std::map<std::string, int>& counts) {
  std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::greater<>(), &std::pair<std::string, int>::second);
  constexpr size_t kShown = 20;
  std::string text;
  for (size_t i = 0; i < std::min(sorted.size(), kShown); ++i) {
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", sorted[i].first, sorted[i].second);
  }
  if (sorted.size() > kShown) text += fmt::format(" and {} more", sorted.size() - kShown);
  return text;
}

std::string counted(size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

std::string Outline::output_name(NodeOutput output) const {
  const std::string& name = nodes[static_cast<size_t>(output.node)].name;
  return output.index == 0 ? name : fmt::format("{}:{}", name, output.index);
}

std::string Outline::op_text(const OutlineNode& node) {
  return node.kind == Kind::kUnknown || node.kind == Kind::kCall ? node.op + "?" : node.op;
}

std::string Outline::node_text(const OutlineNode& node) const {
  std::string text = fmt::format("{} = {}(", node.name, op_text(node));
  const char* separator = "";
  for (const NodeOutput& input : node.inputs) {
    text += separator + output_name(input);
    separator = ", ";
  }
  for (int control : node.control_inputs) {
    text += fmt::format("{}^{}", separator, nodes[static_cast<size_t>(control)].name);
    separator = ", ";
  }
  separator = "; ";
  for (const auto& [name, value] : node.attrs) {
    text += fmt::format("{}{}={}", separator, name, value);
    separator = ", ";
  }
  text += ")";
  if (!node.device.empty()) text += " @" + node.device;
  return text;
}

std::string Outline::to_string() const {
  std::string text;
  for (const OutlineNode& node : nodes) text += node_text(node) + '\n';
  return text;
}

std::string Outline::to_dot() const {
  std::string text = "digraph G {\n  rankdir=TB;\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n";
  for (size_t i = 0; i < nodes.size(); ++i) {
    const OutlineNode& node = nodes[i];
    std::string label = dot_escaped(node.name) + "\\n" + dot_escaped(op_text(node));
    for (const auto& [name, value] : node.attrs) {
      label += fmt::format("\\n{}={}", dot_escaped(name), dot_escaped(value));
    }
    const char* style = node.kind == Kind::kConstant                              ? ", style=dashed"
                        : node.kind == Kind::kPlaceholder                         ? ", shape=ellipse"
                        : node.kind == Kind::kUnknown || node.kind == Kind::kCall ? ", color=red, fontcolor=red"
                                                                                  : "";
    text += fmt::format("  n{} [label=\"{}\"{}];\n", i, label, style);
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const NodeOutput& input : nodes[i].inputs) text += fmt::format("  n{} -> n{};\n", input.node, i);
    for (int control : nodes[i].control_inputs) text += fmt::format("  n{} -> n{} [style=dotted];\n", control, i);
  }
  return text + "}\n";
}

std::string Outline::missing_text() const {
  std::map<std::string, int> ops, functions;
  size_t of_ops = 0, of_functions = 0;
  for (const OutlineNode& node : nodes) {
    if (node.kind == Kind::kUnknown) {
      ++of_ops;
      ++ops[node.op];
    } else if (node.kind == Kind::kCall) {
      ++of_functions;
      ++functions[node.op];
    }
  }
  std::string text;
  if (of_ops > 0) {
    text += fmt::format("{} of {}: {}\n", counted(of_ops, "node"), counted(ops.size(), "unknown op"), counts_text(ops));
  }
  if (of_functions > 0) {
    text += fmt::format("{} of {} of the file: {}\n", counted(of_functions, "call"),
                        counted(functions.size(), "function"), counts_text(functions));
  }
  return text.empty() ? fmt::format("cannot be run here: {}\n", why) : text;
}

}  // namespace panto
