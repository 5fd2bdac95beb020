#include "panto/lib/runtime/rewrite.h"

#include <algorithm>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/check.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/flow/flow.h"
#include "panto/lib/graph/infer.h"
#include "panto/lib/graph/nodes.h"
#include "panto/ops/array.h"

namespace panto {

const Tensor* constant_value(const Graph& graph, NodeOutput output) {
  const Node& node = graph.at(output.node);
  if (!node.is(OpKind::kConstant)) return nullptr;
  for (const AttrValue& attr : node.attrs()) {
    if (attr.kind() == AttrKind::kTensor) return &attr.as<Tensor>();
  }
  return nullptr;
}

void set_by_name(const Op& op, std::vector<AttrValue>& attrs, std::string_view attr, AttrValue value) {
  const int at = op.signature().find_attr(attr);
  if (at < 0) failf(Code::kInternal, "attribute: expected one of {}, got {}", op.name(), attr);
  attrs.resize(op.signature().attrs.size());
  attrs[static_cast<size_t>(at)] = std::move(value);
}

std::string free_name(const Graph& graph, std::string_view name) {
  std::string candidate(name.substr(0, kMaxNameLength - 16));
  const size_t base = candidate.size();
  for (int i = 1; graph.find(candidate) != nullptr; ++i) {
    candidate.resize(base);
    candidate += fmt::format("_{}", i);
  }
  return candidate;
}

NodeOutput add_const(Graph& graph, const std::string& name, const Tensor& value, const Node& like) {
  NodeSpec spec = const_spec(free_name(graph, name), value);
  spec.device = like.device();
  spec.where = like.where();
  return {graph.add(std::move(spec)), 0};
}

void replace_node(Graph& graph, int id, std::span<const NodeOutput> with) {
  const std::vector<int> controls(graph.at(id).control_inputs().begin(), graph.at(id).control_inputs().end());
  for (size_t k = 0; k < with.size(); ++k) {
    const NodeOutput old{id, static_cast<int>(k)};
    const OutputInfo& before = graph.info(old);
    const OutputInfo& after = graph.info(with[k]);
    if (before.dtype != after.dtype || !before.shape.compatible_with(after.shape)) {
      failf(Code::kInternal, "replacement of node '{}': expected {}{}, got {}{}", graph.at(id).name(),
            dtype_name(before.dtype), before.shape.to_string(), dtype_name(after.dtype), after.shape.to_string());
    }
  }
  for (const NodeUse& use : std::vector<NodeUse>(graph.at(id).consumers().begin(), graph.at(id).consumers().end())) {
    // Nodes that came after the node still wait for what the node waited for.
    for (int control : controls) graph.add_control_input(use.node, control);
    if (use.slot != NodeUse::kControl) graph.set_input(use.node, use.slot, with[static_cast<size_t>(use.output)]);
  }
  if (!with.empty()) graph.replace_control(id, with[0].node);
}

void take_place(Graph& graph, int id, int replacement) {
  std::vector<NodeOutput> with;
  for (int k = 0; k < graph.at(replacement).num_outputs(); ++k) with.push_back({replacement, k});
  for (const NodeUse& use : graph.at(id).consumers()) {
    if (use.slot == NodeUse::kControl || static_cast<size_t>(use.output) < with.size()) continue;
    failf(Code::kInternal, "replacement of node '{}': expected {} outputs, got {}", graph.at(id).name(), use.output + 1,
          with.size());
  }
  const std::string name = graph.at(id).name();
  replace_node(graph, id, with);
  graph.remove(id);
  graph.rename(replacement, name);
}

int remove_dead(Graph& graph, int sink, std::span<const NodeOutput> keep) {
  std::vector<int> roots{sink};
  for (const NodeOutput& output : keep) roots.push_back(output.node);
  return remove_dead(graph, roots);
}

int remove_dead(Graph& graph, std::span<const int> roots) {
  std::vector<uint8_t> alive(static_cast<size_t>(graph.id_limit()), 0);
  // Walk from high to low ids: most edges come from lower ids, and memory is then read in order. The stack holds live
  // nodes found behind the walk's position.
  std::vector<int> stack;
  int position = graph.id_limit();
  const auto reach = [&](int id) {
    if (std::exchange(alive[static_cast<size_t>(id)], uint8_t{1}) == 0 && id >= position) stack.push_back(id);
  };
  for (const int root : roots) reach(root);
  const auto visit = [&](const Node& node) {
    for (const NodeOutput& input : node.inputs()) reach(input.node);
    for (int control : node.control_inputs()) reach(control);
  };
  while (--position >= 0) {
    if (alive[static_cast<size_t>(position)] != 0) visit(graph.at(position));
    while (!stack.empty()) {
      const int id = stack.back();
      stack.pop_back();
      visit(graph.at(id));
    }
  }
  // Remove consumers before producers: consumers of a dead node are dead.
  std::vector<int> unused;
  // In an unneeded loop every node has a consumer: cut its back edges.
  for (int id = 0; id < graph.id_limit(); ++id) {
    const Node* node = graph.find(id);
    if (!graph.has_control_flow()) break;
    if (node == nullptr || alive[static_cast<size_t>(id)] != 0) continue;
    for (int slot = 1; slot < node->num_inputs(); ++slot) {
      if (is_back_edge(graph.at(node->input(slot).node), *node, slot)) graph.set_input(id, slot, node->input(0));
    }
  }
  const auto push_if_unused = [&](int id) {
    if (alive[static_cast<size_t>(id)] != 0 || !graph.at(id).consumers().empty()) return;
    alive[static_cast<size_t>(id)] = 1;  // once
    unused.push_back(id);
  };
  for (int id = 0; id < graph.id_limit(); ++id) {
    if (graph.find(id) != nullptr) push_if_unused(id);
  }
  int removed = 0;
  std::vector<int> before;
  for (; !unused.empty(); ++removed) {
    const Node& node = graph.at(unused.back());
    unused.pop_back();
    before.assign(node.control_inputs().begin(), node.control_inputs().end());
    for (const NodeOutput& input : node.inputs()) before.push_back(input.node);
    graph.remove(node.id());
    for (int id : before) push_if_unused(id);
  }
  return removed;
}

namespace {

// The Placeholder that stands for a fed output.
NodeOutput feed_placeholder(Graph& graph, NodeOutput output, const OutputInfo& info) {
  const Node& node = graph.at(output.node);
  if (node.is(OpKind::kPlaceholder)) {
    const int at = node.op().signature().find_attr("shape");
    if (at >= 0 && node.attrs()[static_cast<size_t>(at)].kind() == AttrKind::kShape) {
      graph.set_attr(node.id(), "shape", AttrValue(info.shape));
    }
    graph.set_outputs(node.id(), {info});
    return output;
  }
  NodeSpec spec = placeholder_spec(free_name(graph, node.name() + "/feed"), info);
  spec.where = node.where();
  const NodeOutput placeholder{graph.add(std::move(spec)), 0};
  graph.replace_output(output, placeholder);
  // If its only output is fed, nodes that wait for it need not wait for the node to run.
  if (graph.at(output.node).num_outputs() == 1) graph.replace_control(output.node, placeholder.node);
  return placeholder;
}

}  // namespace

WorkGraph make_work_graph(const Graph& graph, std::span<const NodeOutput> feeds, std::span<const OutputInfo> infos,
                          std::span<const NodeOutput> fetches, std::span<const int> targets) {
  WorkGraph work;
  work.graph = graph;
  Graph& g = work.graph;
  // Add the sink before feeds are replaced, so that a fetch of a fed output reads its Placeholder too.
  NodeSpec sink;
  sink.op = fetches.empty() ? &kNoOp : &kIdentityN;
  sink.name = free_name(g, "fetches");
  sink.inputs.assign(fetches.begin(), fetches.end());
  sink.control_inputs.assign(targets.begin(), targets.end());
  std::vector<DType> types;
  for (const NodeOutput& fetch : fetches) {
    sink.outputs.push_back(g.info(fetch));
    if (sink.outputs.back().dtype == DType::kInvalid) {  // of an unknown op: it may be fed
      const auto fed = std::ranges::find(feeds, fetch);
      if (fed == feeds.end()) fail_unknown(g.at(fetch.node));
      sink.outputs.back() = infos[static_cast<size_t>(fed - feeds.begin())];
    }
    types.push_back(sink.outputs.back().dtype);
  }
  if (!fetches.empty()) set_by_name(kIdentityN, sink.attrs, "T", AttrValue(std::move(types)));
  work.sink = g.add(std::move(sink));
  for (size_t i = 0; i < feeds.size(); ++i) work.feeds.push_back(feed_placeholder(g, feeds[i], infos[i]));
  remove_dead(g, work.sink, work.feeds);
  return work;
}

void infer_from_feeds(WorkGraph& work, std::span<const Tensor> values) {
  std::vector<std::pair<NodeOutput, Tensor>> given;
  for (size_t i = 0; i < values.size(); ++i) given.emplace_back(work.feeds[i], values[i]);
  infer_shapes(work.graph, given);
}

}  // namespace panto
