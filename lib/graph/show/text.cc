#include <algorithm>
#include <functional>
#include <queue>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/graph/check.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/flow/flow.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/graph/show/shown.h"

namespace panto {

std::string shown_on_a_line(const AttrValue& value) {
  if (value.kind() != AttrKind::kTensor) return value.to_string();
  const std::string text = value.as<Tensor>().to_string();
  std::string out;
  for (char c : text) {
    const char shown = c == '\n' ? ' ' : c;
    if (shown != ' ' || (!out.empty() && out.back() != ' ')) out += shown;
  }
  return out;
}

std::string output_text(const OutputInfo& output) {
  if (output.dtype == DType::kInvalid) return "?";
  const PartialShape& shape = output.shape;
  if (!shape.known_rank()) return fmt::format("{}?", dtype_name(output.dtype));
  return fmt::format("{}{}", dtype_name(output.dtype), shape.rank() == 0 ? "" : shape.to_string());
}

std::vector<std::pair<std::string, std::string>> attr_texts(const Node& node) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto& attrs = node.op().signature().attrs;
  for (size_t i = 0; i < attrs.size() && !is_unknown(node); ++i) {
    const AttrValue& value = node.attrs()[i];
    if (attrs[i].inferred || (attrs[i].has_default() && value == attrs[i].default_value)) continue;
    out.emplace_back(attrs[i].name, shown_on_a_line(value));
  }
  for (const auto& [name, value] : node.internal_attrs()) {
    if (name == kKeptAttrs) {
      for (auto& kept : kept_attr_texts(node)) out.push_back(std::move(kept));
    } else {
      out.emplace_back(name, shown_on_a_line(value));
    }
  }
  return out;
}

std::vector<int> printing_order(const Graph& graph) {
  using Entry = std::pair<std::string_view, int>;
  std::vector<int> waiting(static_cast<size_t>(graph.id_limit()), 0);
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (int id : graph.ids()) {
    const Node& node = graph.at(id);
    size_t edges = node.inputs().size() + node.control_inputs().size();
    for (int slot = 1; slot < node.num_inputs() && graph.has_control_flow(); ++slot) {
      if (is_back_edge(graph.at(node.input(slot).node), node, slot)) --edges;
    }
    waiting[static_cast<size_t>(id)] = static_cast<int>(edges);
    if (edges == 0) ready.emplace(node.name(), id);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int id = ready.top().second;
    ready.pop();
    order.push_back(id);
    for (const NodeUse& use : graph.at(id).consumers()) {
      if (graph.has_control_flow() && is_back_edge(graph.at(id), graph.at(use.node), use.slot)) continue;
      if (--waiting[static_cast<size_t>(use.node)] == 0) ready.emplace(graph.at(use.node).name(), use.node);
    }
  }
  if (order.size() != static_cast<size_t>(graph.num_nodes())) {
    std::vector<Entry> rest;
    for (int id : graph.ids()) {
      if (waiting[static_cast<size_t>(id)] > 0) rest.emplace_back(graph.at(id).name(), id);
    }
    std::ranges::sort(rest);
    for (const Entry& entry : rest) order.push_back(entry.second);
  }
  return order;
}

std::string Graph::node_text(const Node& node) const {
  std::string text = fmt::format("{} = {}(", node.name(), op_text(node));
  const char* separator = "";
  for (const NodeOutput& input : node.inputs()) {
    text += separator + output_name(input);
    separator = ", ";
  }
  std::vector<std::string_view> controls;
  for (int id : node.control_inputs()) controls.push_back(at(id).name());
  std::ranges::sort(controls);  // their order has no meaning
  for (std::string_view name : controls) {
    text += fmt::format("{}^{}", separator, name);
    separator = ", ";
  }
  separator = "; ";
  for (const auto& [name, value] : attr_texts(node)) {
    text += fmt::format("{}{}={}", separator, name, value);
    separator = ", ";
  }
  text += ")";
  if (node.num_outputs() > 0) text += " -> ";
  separator = "";
  for (const OutputInfo& output : node.outputs()) {
    text += separator + output_text(output);
    separator = ", ";
  }
  if (!node.device().empty()) text += " @" + node.device();
  return text;
}

std::string Graph::to_string() const {
  std::string text;
  for (int id : printing_order(*this)) text += node_text(at(id)) + '\n';
  return text;
}

}  // namespace panto
