#include "panto/lib/graph/show/difference.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/flow/flow.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/graph/show/shown.h"

namespace panto {
namespace {

// The text of what a node computes: everything but its name, with inputs named by `name_of`.
template <class Names>
std::string computation(const Graph& graph, const Node& node, Names&& name_of) {
  std::string text = op_text(node) + "(";
  for (int slot = 0; slot < node.num_inputs(); ++slot) {
    const NodeOutput input = node.input(slot);
    // The back edge of a loop is not matched yet when its Merge is.
    const bool returns = is_back_edge(graph.at(input.node), node, slot);
    text += returns ? std::string("...") : name_of(input.node);
    text += fmt::format(":{}, ", input.index);
  }
  std::vector<std::string> controls;
  for (const int control : node.control_inputs()) controls.push_back("^" + name_of(control));
  std::ranges::sort(controls);
  for (const std::string& control : controls) text += control + ", ";
  for (const auto& [name, value] : attr_texts(node)) text += fmt::format("; {}={}", name, value);
  return text + ") @" + node.device();
}

// Compares tensor attributes: the texts that computation() returns leave out the middle of large tensors.
bool same_tensors(const Node& a, const Node& b) {
  return std::ranges::equal(a.attrs(), b.attrs(), [](const AttrValue& x, const AttrValue& y) {
    return x.kind() != AttrKind::kTensor || x == y;
  });
}

class Matching {
 public:
  Matching(const Graph& before, const Graph& after) : before_(before), after_(after) {
    for (const int id : printing_order(before)) {
      const Node& node = before.at(id);
      by_computation_[computation(before, node, [&](int input) { return before.at(input).name(); })].push_back(id);
    }
  }

  GraphDifference difference() {
    for (const int id : printing_order(after_)) match(after_.at(id));
    GraphDifference result;
    for (const int id : printing_order(after_)) {
      const Node& node = after_.at(id);
      if (const auto found = partner_.find(id); found != partner_.end()) {
        const std::string& name = before_.at(found->second).name();
        if (name != node.name()) result.renamed.emplace_back(name, node.name());
      } else if (const Node* same_name = before_.find(node.name()); same_name != nullptr && !taken(same_name->id())) {
        taken_.insert(same_name->id());
        result.changed.emplace_back(before_.node_text(*same_name), after_.node_text(node));
      } else {
        result.added.push_back(after_.node_text(node));
      }
    }
    for (const int id : printing_order(before_)) {
      if (!taken(id)) result.removed.push_back(before_.node_text(before_.at(id)));
    }
    return result;
  }

 private:
  bool taken(int id) const { return taken_.contains(id); }

  void match(const Node& node) {
    const std::string text = computation(after_, node, [&](int input) {
      const auto found = partner_.find(input);
      // '+' occurs in no name.
      return found == partner_.end() ? "+" + after_.at(input).name() : before_.at(found->second).name();
    });
    const auto candidates = by_computation_.find(text);
    if (candidates == by_computation_.end()) return;
    std::optional<int> best;
    for (const int id : candidates->second) {
      if (taken(id) || !same_tensors(before_.at(id), node)) continue;
      const std::string& name = before_.at(id).name();
      if (name == node.name()) {
        best = id;
        break;
      }
      // If a node of `after_` that has no partner yet has this name, the candidate may belong to that node.
      const Node* other = after_.find(name);
      if (!best && (other == nullptr || partner_.contains(other->id()))) best = id;
    }
    if (!best) return;
    partner_[node.id()] = *best;
    taken_.insert(*best);
  }

  const Graph& before_;
  const Graph& after_;
  std::unordered_map<std::string, std::vector<int>> by_computation_;  // nodes of before_
  std::unordered_map<int, int> partner_;                              // node of after_ -> node of before_
  std::unordered_set<int> taken_;                                     // nodes of before_
};

std::map<std::string, std::shared_ptr<const GraphFunction>> functions_by_name(const Graph& graph) {
  std::map<std::string, std::shared_ptr<const GraphFunction>> functions;
  for (auto& function : functions_of(graph)) functions.emplace(function->name(), function);
  return functions;
}

void add_lines(std::string& text, const GraphDifference& difference, std::string_view margin) {
  const auto line = [&](std::string_view mark, const std::string& what) {
    text.append(margin).append(mark).append(what).append("\n");
  };
  for (const std::string& node : difference.removed) line("- ", node);
  for (const auto& [before, after] : difference.changed) {
    line("- ", before);
    line("+ ", after);
  }
  for (const std::string& node : difference.added) line("+ ", node);
  for (const auto& [before, after] : difference.renamed) line("  ", fmt::format("{} is called {}", before, after));
}

}  // namespace

bool GraphDifference::empty() const noexcept {
  return removed.empty() && added.empty() && changed.empty() && renamed.empty() && functions.empty() &&
         removed_functions.empty() && added_functions.empty();
}

std::string GraphDifference::to_string() const {
  std::string text;
  add_lines(text, *this, "");
  for (const std::string& name : removed_functions) text += "- function " + name + "\n";
  for (const std::string& name : added_functions) text += "+ function " + name + "\n";
  for (const auto& [name, difference] : functions) {
    text += "  function " + name + "\n";
    add_lines(text, difference, "    ");
  }
  return text;
}

GraphDifference graph_difference(const Graph& before, const Graph& after) {
  GraphDifference result = Matching(before, after).difference();
  const auto old_functions = functions_by_name(before), new_functions = functions_by_name(after);
  for (const auto& [name, function] : old_functions) {
    const auto found = new_functions.find(name);
    if (found == new_functions.end()) {
      result.removed_functions.push_back(name);
    } else if (auto inner = Matching(function->graph(), found->second->graph()).difference(); !inner.empty()) {
      result.functions.push_back({name, std::move(inner)});
    }
  }
  for (const auto& [name, function] : new_functions) {
    if (!old_functions.contains(name)) result.added_functions.push_back(name);
  }
  return result;
}

}  // namespace panto
