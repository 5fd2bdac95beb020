#include "panto/lib/graph/show/dot.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/flow/flow.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/graph/show/shown.h"

namespace panto {
namespace {

// Colours that colour-blind readers can tell apart, too (Okabe and Ito).
constexpr std::array kColours = {"#56b4e9", "#e69f00", "#009e73", "#cc79a7",
                                 "#f0e442", "#d55e00", "#0072b2", "#bbbbbb"};

// Escapes text for a quoted string in Graphviz's language.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// The first `depth` scopes of a node's name, "a/b" of "a/b/c/MatMul"; all scopes if there are fewer.
std::string_view scope_of(std::string_view name, int depth) {
  size_t end = 0;
  for (size_t slash = name.find('/'); slash != std::string_view::npos && depth > 0; --depth) {
    end = slash;
    slash = name.find('/', slash + 1);
  }
  return name.substr(0, end);
}

int scopes_of(std::string_view name) { return static_cast<int>(std::ranges::count(name, '/')); }

class Drawing {
 public:
  Drawing(const Graph& graph, const DotOptions& options)
      : graph_(graph), options_(options), order_(printing_order(graph)) {
    if (options.most_boxes > 0) depth_ = depth_for(options.most_boxes);
    for (const int id : order_) {
      const Node& node = graph_.at(id);
      ++scope_sizes_[std::string(closed_scope(node))];
      if (options_.devices) devices_.insert(node.device());
    }
  }

  std::string text() {
    text_ = "digraph G {\n  rankdir=TB;\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n";
    if (options_.devices) legend();
    draw_boxes();
    draw_edges();
    return text_ + "}\n";
  }

 private:
  static constexpr int kAllOpen = 1 << 20;

  size_t boxes_at(int depth) const {
    size_t boxes = 0;
    std::set<std::string_view> closed;
    for (const int id : order_) {
      const std::string_view name = graph_.at(id).name();
      if (scopes_of(name) <= depth) {
        ++boxes;
      } else {
        closed.insert(scope_of(name, depth + 1));
      }
    }
    return boxes + closed.size();
  }

  // The greatest depth at which there are at most `most` boxes, if deeper scopes are collapsed into one box each.
  int depth_for(int most) const {
    const auto limit = static_cast<size_t>(most);
    if (const size_t boxes = boxes_at(0); boxes > limit) {
      failf(Code::kResourceExhausted, "picture: expected at most {} boxes, got {} where every name scope is one", most,
            boxes);
    }
    int good = 0, bad = 1;
    for (const int id : order_) bad = std::max(bad, scopes_of(graph_.at(id).name()) + 1);
    while (bad - good > 1) {
      const int middle = good + (bad - good) / 2;
      (boxes_at(middle) <= limit ? good : bad) = middle;
    }
    return good;
  }

  // The collapsed scope of the node; "" if the node is a box of its own.
  std::string_view closed_scope(const Node& node) const {
    return scopes_of(node.name()) <= depth_ ? std::string_view() : scope_of(node.name(), depth_ + 1);
  }
  std::string box_of(const Node& node) const {
    const std::string_view scope = closed_scope(node);
    return scope.empty() ? fmt::format("n{}", node.id()) : fmt::format("\"scope {}\"", escaped(scope));
  }

  std::string colour(const std::string& device) const {
    const auto position = std::distance(devices_.begin(), devices_.find(device));
    return kColours[static_cast<size_t>(position) % kColours.size()];
  }

  void legend() {
    text_ += "  subgraph cluster_devices {\n    label=\"devices\";\n";
    for (const std::string& device : devices_) {
      text_ += fmt::format("    \"device {0}\" [label=\"{0}\", class=\"device\", style=filled, fillcolor=\"{1}\"];\n",
                           escaped(device), colour(device));
    }
    text_ += "  }\n";
  }

  std::string style(const Node& node) const {
    if (options_.devices) return fmt::format(", style=\"rounded,filled\", fillcolor=\"{}\"", colour(node.device()));
    if (node.is(OpKind::kConstant)) return ", style=dashed";
    if (node.is(OpKind::kPlaceholder)) return ", shape=ellipse";
    if (is_unknown(node)) return ", color=red, fontcolor=red";
    return node.op().has_effects() ? ", style=bold" : "";
  }

  void draw_node(const Node& node, const std::string& margin) {
    std::string label = escaped(node.name()) + "\\n" + escaped(op_text(node));
    if (options_.most_boxes == 0) {
      for (const auto& [name, value] : attr_texts(node)) {
        label += fmt::format("\\n{}={}", escaped(name), escaped(printable(value)));
      }
      text_ += fmt::format("{}n{} [label=\"{}\"{}];\n", margin, node.id(), label, style(node));
      return;
    }
    // Details are in the tooltip; functions are shown by name in the node that calls them.
    const char* shape = "";
    for_each_function(node, [&](const FunctionRef& function) {
      shape = ", shape=component";
      label += "\\n" + escaped(printable(function.name));
    });
    text_ += fmt::format("{}n{} [label=\"{}\"{}{}, class=\"node\", tooltip=\"{}\"];\n", margin, node.id(), label,
                         style(node), shape, escaped(printable(graph_.node_text(node))));
  }

  // Draws the boxes in the order of their scopes, so that each scope is one frame.
  void draw_boxes() {
    std::map<std::string, std::vector<const Node*>> by_scope;
    std::set<std::string> closed;
    for (const int id : order_) {
      const Node& node = graph_.at(id);
      if (const std::string_view scope = closed_scope(node); !scope.empty()) {
        closed.insert(std::string(scope));
      } else {
        const bool framed = options_.most_boxes > 0;
        by_scope[std::string(framed ? scope_of(node.name(), kAllOpen) : "")].push_back(&node);
      }
    }
    for (const std::string& scope : closed) by_scope[parent_of(scope)];
    std::string open;
    int depth = 0;
    for (const auto& [scope, nodes] : by_scope) {
      enter(open, scope, depth);
      const std::string margin(static_cast<size_t>(2 * (depth + 1)), ' ');
      for (const Node* node : nodes) draw_node(*node, margin);
      for (const std::string& inner : closed) {
        if (parent_of(inner) == scope) draw_closed(inner, margin);
      }
    }
    enter(open, "", depth);
  }

  static std::string parent_of(const std::string& scope) {
    const size_t slash = scope.rfind('/');
    return slash == std::string::npos ? "" : scope.substr(0, slash);
  }

  void draw_closed(const std::string& scope, const std::string& margin) {
    const int nodes = scope_sizes_.at(scope);
    text_ += fmt::format("{}\"scope {}\" [label=\"{}\\n{} node{}\", shape=folder, class=\"scope\"];\n", margin,
                         escaped(scope), escaped(scope), nodes, nodes == 1 ? "" : "s");
  }

  // Closes the frames that `to` is not in, and opens those that it is in.
  void enter(std::string& open, const std::string& to, int& depth) {
    const auto holds = [&](const std::string& scope) {
      return scope.empty() || to == scope || to.starts_with(scope + "/");
    };
    while (!holds(open)) {
      open = parent_of(open);
      text_ += std::string(static_cast<size_t>(2 * depth--), ' ') + "}\n";
    }
    while (open != to) {
      const size_t slash = to.find('/', open.empty() ? 0 : open.size() + 1);
      open = to.substr(0, slash);
      const std::string margin(static_cast<size_t>(2 * ++depth), ' ');
      text_ += fmt::format("{}subgraph \"cluster_{}\" {{\n{}  label=\"{}\"; style=rounded; color=\"#999999\";\n",
                           margin, escaped(open), margin, escaped(open));
    }
  }

  void draw_edges() {
    if (options_.most_boxes > 0) return draw_collapsed_edges();
    for (const int id : order_) {
      const Node& node = graph_.at(id);
      for (const NodeOutput& input : node.inputs()) {
        text_ +=
            fmt::format("  n{} -> n{} [label=\"{}\"];\n", input.node, id, escaped(output_text(graph_.info(input))));
      }
      for (const int control : node.control_inputs()) {
        text_ += fmt::format("  n{} -> n{} [style=dotted];\n", control, id);
      }
    }
  }

  // Draws one edge between two boxes, however many tensors it stands for.
  void draw_collapsed_edges() {
    struct Edge {
      std::set<std::string> tensors;
      bool carries = false, crosses = false, returns = false;
    };
    std::map<std::pair<std::string, std::string>, Edge> edges;
    for (const int id : order_) {
      const Node& node = graph_.at(id);
      const std::string to = box_of(node);
      const auto add = [&](const Node& from, std::string what, bool carries, bool returns) {
        const std::string begin = box_of(from);
        if (begin == to && !closed_scope(node).empty()) return;
        Edge& edge = edges[{begin, to}];
        edge.tensors.insert(std::move(what));
        edge.carries |= carries;
        edge.returns |= returns;
        edge.crosses |= options_.devices && from.device() != node.device();
      };
      for (int slot = 0; slot < node.num_inputs(); ++slot) {
        const Node& from = graph_.at(node.input(slot).node);
        add(from, graph_.output_name(node.input(slot)), true, is_back_edge(from, node, slot));
      }
      for (const int control : node.control_inputs()) {
        add(graph_.at(control), "^" + graph_.at(control).name(), false, false);
      }
    }
    constexpr size_t kMostShown = 12;
    for (const auto& [ends, edge] : edges) {
      std::string shown;
      for (size_t i = 0; const std::string& tensor : edge.tensors) {
        if (i++ == kMostShown) break;
        shown += (shown.empty() ? "" : ", ") + tensor;
      }
      if (edge.tensors.size() > kMostShown) shown += ", ...";
      text_ += fmt::format("  {} -> {} [class=\"{}\", edgetooltip=\"{}\"{}{}{}{}];\n", ends.first, ends.second,
                           edge.crosses ? "transfer" : "edge", escaped(shown),
                           edge.tensors.size() > 1 ? fmt::format(", label=\"{}\"", edge.tensors.size()) : "",
                           edge.carries ? "" : ", style=dotted", edge.crosses ? ", penwidth=2.5" : "",
                           edge.returns ? ", constraint=false" : "");
    }
  }

  const Graph& graph_;
  const DotOptions options_;
  const std::vector<int> order_;
  int depth_ = kAllOpen;                    // scopes deeper than this are closed
  std::map<std::string, int> scope_sizes_;  // closed scope -> number of nodes
  std::set<std::string> devices_;
  std::string text_;
};

}  // namespace

std::string graph_dot(const Graph& graph, const DotOptions& options) { return Drawing(graph, options).text(); }

std::string Graph::to_dot() const { return graph_dot(*this); }

}  // namespace panto
