// The order of a graph's nodes.
#include <algorithm>
#include <functional>
#include <queue>

#include "panto/lib/graph/check.h"
#include "panto/lib/graph/flow/flow.h"
#include "panto/lib/graph/graph.h"

namespace panto {

std::vector<int> Graph::topological_order() const {
  if (backward_ == 0 && placed_ == 0) return ids();
  std::vector<int> waiting(nodes_.size(), 0);
  const auto leads_back = [&](const Node& producer, const NodeUse& use) {
    return flow_nodes_ > 0 && is_back_edge(producer, *nodes_[static_cast<size_t>(use.node)], use.slot);
  };
  for (const auto& node : nodes_) {
    if (node == nullptr) continue;
    waiting[static_cast<size_t>(node->id_)] += static_cast<int>(node->inputs_.size() + node->control_inputs_.size());
    if (flow_nodes_ == 0) continue;
    for (const NodeUse& use : node->consumers_) {
      if (leads_back(*node, use)) --waiting[static_cast<size_t>(use.node)];
    }
  }
  // Positions equal ids, unless some nodes have another place.
  std::vector<int> ids_by_place, positions;
  if (placed_ > 0) {
    ids_by_place = ids();
    std::ranges::stable_sort(ids_by_place, {}, [&](int id) { return nodes_[static_cast<size_t>(id)]->place_; });
    positions.resize(nodes_.size());
    for (size_t i = 0; i < ids_by_place.size(); ++i) {
      positions[static_cast<size_t>(ids_by_place[i])] = static_cast<int>(i);
    }
  }
  const auto position_of = [&](int id) { return placed_ > 0 ? positions[static_cast<size_t>(id)] : id; };
  const auto id_at = [&](int position) { return placed_ > 0 ? ids_by_place[static_cast<size_t>(position)] : position; };
  const int end = placed_ > 0 ? count_ : id_limit();
  // Visits the ready node with the lowest position: first the nodes that the walk over all positions has passed by and
  // that became ready later, then the walk continues. In most graphs few nodes are passed by.
  std::priority_queue<int, std::vector<int>, std::greater<>> passed;
  std::vector<int> order;
  order.reserve(static_cast<size_t>(count_));
  int next = 0;
  const auto visit = [&](int id) {
    order.push_back(id);
    const Node& node = *nodes_[static_cast<size_t>(id)];
    for (const NodeUse& use : node.consumers_) {
      if (leads_back(node, use)) continue;
      if (--waiting[static_cast<size_t>(use.node)] == 0 && position_of(use.node) < next) {
        passed.push(position_of(use.node));
      }
    }
  };
  while (next < end || !passed.empty()) {
    if (!passed.empty()) {
      const int id = id_at(passed.top());
      passed.pop();
      visit(id);
      continue;
    }
    const int id = id_at(next++);
    if (nodes_[static_cast<size_t>(id)] != nullptr && waiting[static_cast<size_t>(id)] == 0) visit(id);
  }
  if (order.size() != static_cast<size_t>(count_)) {
    fail_cycle(
        waiting,
        [&](int id) {
          const Node& node = *nodes_[static_cast<size_t>(id)];
          std::vector<int> before = node.control_inputs_;
          for (int slot = 0; slot < node.num_inputs(); ++slot) {
            const Node& producer = at(node.input(slot).node);
            if (!is_back_edge(producer, node, slot)) before.push_back(producer.id());
          }
          return before;
        },
        [&](int id) { return at(id).name(); });
  }
  return order;
}

}  // namespace panto
