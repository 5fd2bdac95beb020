#include "panto/lib/graph/flow/liveness.h"

#include <algorithm>
#include <iterator>

#include "panto/lib/graph/files/unknown.h"

namespace panto {

namespace {

bool is_constant_enter(const Node& enter) { return !is_unknown(enter) && enter.attr("is_constant").as<bool>(); }

}  // namespace

Liveness::Liveness(const Graph& graph) : graph_(graph), frames_(graph), when_(static_cast<size_t>(graph.id_limit())) {
  for (const int id : graph.topological_order()) when_[static_cast<size_t>(id)] = of(graph.at(id));
  find_whole_loops();
}

// A loop is whole if all values are present in the same rounds: all Enters, and all NextIterations, have the same
// conditions.
void Liveness::find_whole_loops() {
  const size_t count = frames_.all().size();
  whole_.assign(count, true);
  std::vector<const Conditions*> goes_on(count, nullptr);
  for (const int id : graph_.ids()) {
    const Node& node = graph_.at(id);
    if (flow_kind(node) != OpKind::kNextIteration) continue;
    const auto frame = static_cast<size_t>(frames_.of(id));
    const Conditions*& first = goes_on[frame];
    if (first == nullptr) first = &when_[static_cast<size_t>(id)];
    if (*first != when_[static_cast<size_t>(id)]) whole_[frame] = false;
  }
  for (size_t f = 1; f < count; ++f) {  // outer ones come first
    const Frame& frame = frames_.frame(static_cast<int>(f));
    whole_[f] = whole_[f] && whole_[static_cast<size_t>(frame.parent)] && enter_alike(frame);
  }
}

// A constant Enter may have fewer conditions: tf.while_loop passes constants into inner loops in every round, even if
// the inner loop does not run.
bool Liveness::enter_alike(const Frame& frame) const {
  const Conditions& first = entered(frame);
  return std::ranges::all_of(frame.enters, [&](int enter) {
    const Conditions& own = when_[static_cast<size_t>(enter)];
    return own == first || (is_constant_enter(graph_.at(enter)) && std::ranges::includes(first, own));
  });
}

const Conditions& Liveness::entered(const Frame& frame) const {
  const auto first = std::ranges::find_if(frame.enters, [&](int id) { return !is_constant_enter(graph_.at(id)); });
  return when_[static_cast<size_t>(first == frame.enters.end() ? frame.enters[0] : *first)];
}

Conditions Liveness::of(const Node& node) const {
  const OpKind kind = flow_kind(node);
  if (kind == OpKind::kControlTrigger) return frames_.of(node.id()) == 0 ? Conditions() : only(node);
  if (kind == OpKind::kMerge) return merged(node);
  if (kind == OpKind::kExit) return behind_loop(node);
  Conditions all;
  for (const NodeOutput& input : node.inputs()) all = both(all, of(input), node);
  for (const int control : node.control_inputs()) all = both(all, behind(graph_.at(control)), node);
  return all;
}

Conditions Liveness::of(NodeOutput output) const {
  const Node& node = graph_.at(output.node);
  Conditions when = behind(node);
  if (flow_kind(node) != OpKind::kSwitch || node.num_inputs() != 2) return when;
  return both(when, {{decides(node), output.index}}, node);
}

NodeOutput Liveness::decides(const Node& choice, std::vector<int>* controls) const {
  NodeOutput output = choice.input(1);
  while (true) {
    const Node& node = graph_.at(output.node);
    const bool same =
        !is_unknown(node) && node.has(Trait::kIdentity) && !node.is_control_flow() && node.num_inputs() == 1;
    if (!same) return output;
    if (controls != nullptr)
      controls->insert(controls->end(), node.control_inputs().begin(), node.control_inputs().end());
    output = node.input(0);
  }
}

// The conditions as consumers see them. A value that enters a loop is present in every round if it is constant,
// otherwise only in the first.
Conditions Liveness::behind(const Node& node) const {
  if (flow_kind(node) != OpKind::kEnter) return when_[static_cast<size_t>(node.id())];
  return is_constant_enter(node) ? every_round(frames_.behind(node)) : only(node);
}

// True for a Merge of an Enter and a NextIteration.
bool Liveness::begins_round(const Node& node) const {
  bool comes_round = false;
  for (int slot = 0; slot < node.num_inputs(); ++slot) {
    const Node& from = graph_.at(node.input(slot).node);
    const OpKind kind = flow_kind(from);
    if (is_back_edge(kind, OpKind::kMerge, slot)) {
      comes_round = true;
    } else if (kind != OpKind::kEnter || frames_.behind(from) != frames_.of(node.id())) {
      return false;
    }
  }
  return comes_round;
}

Conditions Liveness::both(const Conditions& a, const Conditions& b, const Node& node) {
  Conditions all;
  std::ranges::set_union(a, b, std::back_inserter(all));
  return all.size() > kMost ? only(node) : all;
}

// If all values enter the loop under the same conditions, its results are present under these conditions too.
Conditions Liveness::behind_loop(const Node& node) const {
  const Frame& frame = frames_.frame(frames_.of(node.id()));
  if (frames_.of(node.id()) == 0 || !enter_alike(frame)) return only(node);
  return entered(frame);
}

std::optional<Condition> Liveness::joins(const Node& merge) const {
  if (merge.num_inputs() != 2) return std::nullopt;
  for (int slot = 1; slot < merge.num_inputs(); ++slot) {
    if (is_back_edge(graph_.at(merge.input(slot).node), merge, slot)) return std::nullopt;
  }
  const Conditions first = of(merge.input(0)), second = of(merge.input(1));
  Conditions common, left, right;
  std::ranges::set_intersection(first, second, std::back_inserter(common));
  std::ranges::set_difference(first, second, std::back_inserter(left));
  std::ranges::set_difference(second, first, std::back_inserter(right));
  const bool branches = left.size() == 1 && right.size() == 1 && left[0].of == right[0].of && left[0].of.index >= 0 &&
                        left[0].branch != right[0].branch;
  // A Switch is dead if its deciding value is dead.
  if (!branches || !std::ranges::includes(common, of(left[0].of))) return std::nullopt;
  return left[0];
}

// A Merge of the two branches of a condition is alive whenever the deciding value is.
Conditions Liveness::merged(const Node& node) const {
  if (frames_.of(node.id()) != 0 && begins_round(node)) return every_round(frames_.of(node.id()));
  for (int slot = 1; slot < node.num_inputs(); ++slot) {
    if (is_back_edge(graph_.at(node.input(slot).node), node, slot)) return only(node);
  }
  Conditions first = of(node.input(0));
  if (node.num_inputs() == 1) return first;
  const std::optional<Condition> joined = joins(node);
  if (!joined) return node.num_inputs() == 2 && first == of(node.input(1)) ? first : only(node);
  std::erase(first, *joined);
  return first;
}

}  // namespace panto
