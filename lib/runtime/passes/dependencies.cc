// Removes control edges that have no effect: a node waits for another that it follows anyway, or for a node that has no
// effects and cannot fail; and NoOps that only pass such edges on. Nodes that have effects or may fail are waited for
// as before, in the same order.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "panto/lib/runtime/passes/passes.h"
#include "panto/lib/runtime/passes/rules.h"

namespace panto::passes {

namespace {

constexpr int kMostVisits = 1 << 20;  // nodes visited in searches for paths
constexpr int kMostDepth = 16;        // depth of chains of nodes that need not be waited for

class Cleaner {
 public:
  explicit Cleaner(PassContext& context) : context_(context), graph_(context.graph) {}

  int run() {
    const std::vector<int> ids = graph_.ids();
    const auto waits = [&](int id) { return !graph_.at(id).control_inputs().empty(); };
    if (std::ranges::none_of(ids, waits)) return 0;
    for (const int id : ids) {
      if (graph_.at(id).is(OpKind::kNoOperation) && is_outside(id) && !context_.fixed(id)) hand_on(id);
    }
    for (const int id : ids) {
      if (waits(id) && is_outside(id)) wait_for_what_matters(id);
    }
    order_ = graph_.topological_order();
    position_.assign(static_cast<size_t>(graph_.id_limit()), 0);
    visited_.assign(position_.size(), -1);
    for (size_t i = 0; i < order_.size(); ++i) position_[static_cast<size_t>(order_[i])] = static_cast<int>(i);
    for (const int id : order_) {
      if (waits(id) && is_outside(id)) drop_implied(id);
    }
    return changes_;
  }

 private:
  // Whether the pass may change the node's control edges. In loops and branches of TensorFlow 1, control edges
  // determine the round that a node runs in; the sink waits for targets; recomputed nodes wait so that they run late.
  bool is_outside(int id) const {
    return context_.runs_once(id) && graph_.at(id).internal_attr(kRecomputed) == nullptr;
  }

  // Removes a NoOp, connecting the nodes around it, if that does not add edges.
  void hand_on(int id) {
    const Node& node = graph_.at(id);
    const std::vector<int> before(node.control_inputs().begin(), node.control_inputs().end());
    const std::vector<NodeUse> uses(node.consumers().begin(), node.consumers().end());
    const auto reachable = [&](const NodeUse& use) { return is_outside(use.node); };
    if (uses.empty() || !std::ranges::all_of(uses, reachable)) return;
    if (before.size() * uses.size() > before.size() + uses.size()) return;
    for (const NodeUse& use : uses) {
      graph_.remove_control_input(use.node, id);
      for (const int other : before) graph_.add_control_input(use.node, other);
    }
    ++changes_;
  }

  // Whether waiting for the node only means waiting for what it follows itself.
  bool has_nothing_to_wait_for(const Node& node) const {
    if (!is_outside(node.id())) return false;
    return node.is(OpKind::kConstant) || node.is(OpKind::kPlaceholder) || node.is(OpKind::kVariableHandle) ||
           node.is(OpKind::kNoOperation) || cannot_fail(graph_, node);
  }

  void wait_for_what_matters(int id) {
    const auto controls = graph_.at(id).control_inputs();
    for (const int control : std::vector<int>(controls.begin(), controls.end())) {
      if (!has_nothing_to_wait_for(graph_.at(control))) continue;
      std::vector<int> instead;
      if (!add_followed(graph_.at(control), instead, 0) || instead.size() > 1) continue;
      graph_.remove_control_input(id, control);
      for (const int other : instead) graph_.add_control_input(id, other);
      ++changes_;
    }
  }

  // Adds to `found` the nodes that `node` follows and that must be waited for. Returns false if the chain is too deep.
  bool add_followed(const Node& node, std::vector<int>& found, int depth) const {
    if (depth == kMostDepth) return false;
    const auto add = [&](int before) {
      if (has_nothing_to_wait_for(graph_.at(before))) return add_followed(graph_.at(before), found, depth + 1);
      if (std::ranges::find(found, before) == found.end()) found.push_back(before);
      return found.size() <= 1;
    };
    return std::ranges::all_of(node.inputs(), [&](const NodeOutput& input) { return add(input.node); }) &&
           std::ranges::all_of(node.control_inputs(), add);
  }

  void drop_implied(int id) {
    const auto controls = graph_.at(id).control_inputs();
    for (const int control : std::vector<int>(controls.begin(), controls.end())) {
      if (!follows(id, control)) continue;
      graph_.remove_control_input(id, control);
      ++changes_;
    }
  }

  // Whether the node follows `first` even without the control edge between them. Paths count only through nodes that
  // really run: constants, feeds, handles and aliases are available at once.
  bool follows(int id, int first) {
    const int from = position_[static_cast<size_t>(first)];
    std::vector<int> stack;
    const auto push_inputs = [&](const Node& node) {
      for (const NodeOutput& input : node.inputs()) stack.push_back(input.node);
      for (const int control : node.control_inputs()) {
        if (node.id() != id || control != first) stack.push_back(control);
      }
    };
    push_inputs(graph_.at(id));
    ++search_;
    while (!stack.empty() && visits_ < kMostVisits) {
      const int at = stack.back();
      stack.pop_back();
      if (at == first) return true;
      const Node& node = graph_.at(at);
      const bool runs = !node.is(OpKind::kConstant) && !node.is(OpKind::kPlaceholder) &&
                        !node.is(OpKind::kVariableHandle) && !node.has(Trait::kIdentity) && is_outside(at);
      if (!runs || position_[static_cast<size_t>(at)] <= from) continue;
      if (std::exchange(visited_[static_cast<size_t>(at)], search_) == search_) continue;
      ++visits_;
      push_inputs(node);
    }
    return false;
  }

  PassContext& context_;
  Graph& graph_;
  std::vector<int> order_;
  std::vector<int> position_, visited_;  // by node
  int search_ = 0, visits_ = 0;
  int changes_ = 0;
};

}  // namespace

int clean_dependencies(PassContext& context) { return Cleaner(context).run(); }

}  // namespace panto::passes
