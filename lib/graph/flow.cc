#include "panto/lib/graph/flow.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "panto/lib/base/format.h"
#include "panto/lib/base/quote.h"
#include "panto/lib/graph/files/adapters.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/infer.h"

namespace panto {

OpKind flow_kind(const Node& node) {
  if (!is_unknown(node)) return node.op().kind();
  const Op* op = find_op(op_name(node));
  if (op == nullptr) {
    const Adapter* adapter = find_adapter(op_name(node));
    if (adapter != nullptr && adapter->becomes != nullptr) op = find_op(adapter->becomes);
  }
  return op == nullptr ? OpKind::kOrdinary : op->kind();
}

bool is_back_edge(const Node& producer, const Node& reader, int slot) {
  return slot > 0 && is_back_edge(flow_kind(producer), flow_kind(reader), slot);
}

void refuse_control_flow(const Node& node) {
  if (!node.is_control_flow()) return;
  failf(Code::kUnimplemented,
        "graph: expected one without TensorFlow 1's loops and conditionals where it is called op by op or "
        "differentiated, got {} [{}]",
        node.op().name(), whole(node_context(node)));
}

// ---- Frames --------------------------------------------------------------------------------------------------------

Frames::Frames(const Graph& graph)
    : frames_(1), of_(static_cast<size_t>(graph.id_limit()), 0), behind_(static_cast<size_t>(graph.id_limit()), 0) {
  if (!graph.has_control_flow()) return;
  const std::vector<int> order = graph.topological_order();
  for (const int id : order) {
    const Node& node = graph.at(id);
    all_known_ = all_known_ && !(is_unknown(node) && is_control_flow(flow_kind(node)));
  }
  for (const int id : order) {
    const Node& node = graph.at(id);
    with_context([&] { return node_context(node); }, [&] { visit(graph, node); });
  }
  // What leads back was not looked at yet.
  for (const int id : order) {
    const Node& node = graph.at(id);
    if (flow_kind(node) != OpKind::kMerge) continue;
    for (int slot = 0; slot < node.num_inputs(); ++slot) {
      const Node& from = graph.at(node.input(slot).node);
      if (!is_back_edge(from, node, slot) || behind(from) == of(id)) continue;
      with_context([&] { return node_context(node); },
                   [&] {
                     invalid("input {}: expected '{}' in {}, got it in {}", slot, from.name(), text(of(id)),
                             text(behind(from)));
                   });
    }
  }
}

int Frames::behind(const Node& node) const { return behind_[static_cast<size_t>(node.id())]; }

std::string Frames::text(int frame) const {
  return frame == 0 ? "no loop" : fmt::format("loop '{}'", printable(frames_[static_cast<size_t>(frame)].name));
}

void Frames::visit(const Graph& graph, const Node& node) {
  int frame = -1;
  const Node* first = nullptr;
  // What only gathers, and nobody reads, does nothing with what it gathers.
  const bool gathers = node.consumers().empty() && (node.has(Trait::kIdentity) || node.is(OpKind::kNoOperation));
  const auto look = [&](const Node& from) {
    const int seen = behind(from);
    if (frame < 0) {
      frame = seen;
      first = &from;
    } else if (frame != seen && !gathers) {
      invalid("inputs: expected all in one loop, got '{}' in {} and '{}' in {}", first->name(), text(frame),
              from.name(), text(seen));
    }
  };
  for (int slot = 0; slot < node.num_inputs(); ++slot) {
    const Node& from = graph.at(node.input(slot).node);
    if (!is_back_edge(from, node, slot)) look(from);
  }
  for (const int control : node.control_inputs()) look(graph.at(control));
  frame = std::max(frame, 0);
  of_[static_cast<size_t>(node.id())] = behind_[static_cast<size_t>(node.id())] = frame;
  const OpKind kind = flow_kind(node);
  if (kind == OpKind::kEnter && !is_unknown(node)) return enter(node, frame);
  if (kind != OpKind::kExit && kind != OpKind::kNextIteration) return;
  if (frame == 0 && all_known_) invalid("{}: expected it in a loop, got it in none", node.op().name());
  if (kind == OpKind::kExit && frame > 0)
    behind_[static_cast<size_t>(node.id())] = frames_[static_cast<size_t>(frame)].parent;
}

void Frames::enter(const Node& node, int from) {
  const auto& name = node.attr("frame_name").as<std::string>();
  const auto parallel = node.attr("parallel_iterations").as<int64_t>();
  if (name.empty()) invalid("frame_name: expected a name, got none");
  if (parallel < 1) invalid("parallel_iterations: expected at least 1, got {}", parallel);
  const auto [found, first] = by_name_.emplace(name, static_cast<int>(frames_.size()));
  behind_[static_cast<size_t>(node.id())] = found->second;
  if (first) {
    frames_.push_back({.name = name, .parent = from, .parallel_iterations = parallel, .enters = {node.id()}});
    return;
  }
  Frame& frame = frames_[static_cast<size_t>(found->second)];
  if (frame.parent != from) {
    invalid("frame_name: expected loop '{}' to be entered from {} only, got an Enter from {}", printable(name),
            text(frame.parent), text(from));
  }
  frame.parallel_iterations = std::min(frame.parallel_iterations, parallel);
  frame.enters.push_back(node.id());
}

// ---- What may be dead ----------------------------------------------------------------------------------------------

namespace {

// When a node runs, as far as Switches decide: if all these conditions hold.
struct Condition {
  NodeOutput of;   // what decides; of an invalid index: nothing else is known but that it is this node's affair
  int branch = 0;  // which output of its Switches it takes
  auto operator<=>(const Condition&) const = default;
};
using Conditions = std::vector<Condition>;  // sorted

class Liveness {
 public:
  explicit Liveness(const Graph& graph) : graph_(graph), frames_(graph), when_(static_cast<size_t>(graph.id_limit())) {}

  Flow run() {
    Flow flow;
    flow.places.assign(when_.size(), FlowPlace::kOutside);
    flow.contexts.assign(when_.size(), 0);
    const std::vector<int> order = graph_.topological_order();
    for (const int id : order) {
      const Node& node = graph_.at(id);
      when_[static_cast<size_t>(id)] = of(node);
      const OpKind kind = flow_kind(node);
      FlowPlace& place = flow.places[static_cast<size_t>(id)];
      if (frames_.behind(node) != 0 || kind == OpKind::kSwitch || !when_[static_cast<size_t>(id)].empty()) {
        place = FlowPlace::kInside;
      } else if (is_control_flow(kind)) {
        place = FlowPlace::kBoundary;
      }
    }
    find_whole_loops();
    for (const int id : order) {
      if (flow.places[static_cast<size_t>(id)] != FlowPlace::kOutside) {
        flow.contexts[static_cast<size_t>(id)] = context_of(graph_.at(id));
      }
    }
    return flow;
  }

 private:
  static constexpr size_t kMost = 64;  // a graph that was made to be slow is not worth more

  static Conditions only(const Node& node) { return {{{node.id(), -1}, 0}}; }
  // In every round of the loop. That this is so, `find_whole_loops` sees in the end.
  static Conditions every_round(int frame) { return {{{-1 - frame, -1}, 0}}; }

  int context_of(const Node& node) {
    const int frame = frames_.of(node.id());
    if (is_control_flow(flow_kind(node)) || !whole_[static_cast<size_t>(frame)]) return -1;
    const auto next = static_cast<int>(numbers_.size()) + 1;
    return numbers_.emplace(std::pair(frame, when_[static_cast<size_t>(node.id())]), next).first->second;
  }

  // Those in which all values come round in the same rounds: all enter, and all go on, under the same conditions.
  void find_whole_loops() {
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

  bool enter_alike(const Frame& frame) const {
    const Conditions& first = when_[static_cast<size_t>(frame.enters[0])];
    return std::ranges::all_of(frame.enters, [&](int enter) { return when_[static_cast<size_t>(enter)] == first; });
  }

  Conditions of(const Node& node) const {
    const OpKind kind = flow_kind(node);
    if (kind == OpKind::kControlTrigger) return frames_.of(node.id()) == 0 ? Conditions() : only(node);
    if (kind == OpKind::kMerge) return merged(node);
    if (kind == OpKind::kExit) return behind_loop(node);
    Conditions all;
    for (const NodeOutput& input : node.inputs()) all = both(all, of(input), node);
    for (const int control : node.control_inputs()) all = both(all, behind(graph_.at(control)), node);
    return all;
  }

  Conditions of(NodeOutput output) const {
    const Node& node = graph_.at(output.node);
    Conditions when = behind(node);
    if (flow_kind(node) != OpKind::kSwitch || node.num_inputs() != 2) return when;
    return both(when, {{node.input(1), output.index}}, node);
  }

  // As who reads the node sees it. What enters is there in every round, or in the first one only.
  Conditions behind(const Node& node) const {
    if (flow_kind(node) != OpKind::kEnter) return when_[static_cast<size_t>(node.id())];
    const bool constant = !is_unknown(node) && node.attr("is_constant").as<bool>();
    return constant ? every_round(frames_.behind(node)) : only(node);
  }

  // The Merge at which what enters and what comes round meet.
  bool begins_round(const Node& node) const {
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

  static Conditions both(const Conditions& a, const Conditions& b, const Node& node) {
    Conditions all;
    std::ranges::set_union(a, b, std::back_inserter(all));
    return all.size() > kMost ? only(node) : all;
  }

  // The branches of one condition together are as alive as what decides between them.
  Conditions merged(const Node& node) const {
    if (frames_.of(node.id()) != 0 && begins_round(node)) return every_round(frames_.of(node.id()));
    for (int slot = 1; slot < node.num_inputs(); ++slot) {
      if (is_back_edge(graph_.at(node.input(slot).node), node, slot)) return only(node);
    }
    Conditions first = of(node.input(0));
    if (node.num_inputs() == 1) return first;
    if (node.num_inputs() != 2) return only(node);
    const Conditions second = of(node.input(1));
    if (first == second) return first;
    Conditions common, left, right;
    std::ranges::set_intersection(first, second, std::back_inserter(common));
    std::ranges::set_difference(first, second, std::back_inserter(left));
    std::ranges::set_difference(second, first, std::back_inserter(right));
    const bool branches = left.size() == 1 && right.size() == 1 && left[0].of == right[0].of && left[0].of.index >= 0 &&
                          left[0].branch != right[0].branch;
    // A Switch is dead where what decides is.
    return branches && std::ranges::includes(common, of(left[0].of)) ? common : only(node);
  }

  // If all that is brought into the loop is there under the same conditions, so is what comes out of it.
  Conditions behind_loop(const Node& node) const {
    const Frame& frame = frames_.frame(frames_.of(node.id()));
    if (frames_.of(node.id()) == 0 || !enter_alike(frame)) return only(node);
    return when_[static_cast<size_t>(frame.enters[0])];
  }

  const Graph& graph_;
  const Frames frames_;
  std::vector<Conditions> when_;                       // by node id: in its frame
  std::vector<bool> whole_;                            // by frame
  std::map<std::pair<int, Conditions>, int> numbers_;  // by frame
};

}  // namespace

Flow flow_of(const Graph& graph) {
  if (!graph.has_control_flow()) return {};
  return Liveness(graph).run();
}

}  // namespace panto
