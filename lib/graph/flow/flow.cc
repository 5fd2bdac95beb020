#include "panto/lib/graph/flow/flow.h"

#include <algorithm>
#include <map>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/graph/files/import/adapters.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/flow/liveness.h"
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
  // Check the back edges, which were skipped so far.
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
  // A node that only groups its inputs, and has no consumers, may mix frames.
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

Flow flow_of(const Graph& graph) {
  Flow flow;
  if (!graph.has_control_flow()) return flow;
  const Liveness liveness(graph);
  const Frames& frames = liveness.frames();
  flow.places.assign(static_cast<size_t>(graph.id_limit()), FlowPlace::kOutside);
  flow.contexts.assign(flow.places.size(), 0);
  std::map<std::pair<int, Conditions>, int> numbers;  // by frame
  for (const int id : graph.topological_order()) {
    const Node& node = graph.at(id);
    const OpKind kind = flow_kind(node);
    FlowPlace& place = flow.places[static_cast<size_t>(id)];
    if (frames.behind(node) != 0 || kind == OpKind::kSwitch || !liveness.when(id).empty()) {
      place = FlowPlace::kInside;
    } else if (is_control_flow(kind)) {
      place = FlowPlace::kBoundary;
    }
    if (place == FlowPlace::kOutside) continue;
    int& context = flow.contexts[static_cast<size_t>(id)];
    const int frame = frames.of(id);
    if (is_control_flow(kind) || !liveness.whole(frame)) {
      context = -1;
    } else {
      const auto next = static_cast<int>(numbers.size()) + 1;
      context = numbers.emplace(std::pair(frame, liveness.when(id)), next).first->second;
    }
  }
  return flow;
}

}  // namespace panto
