#include "panto/lib/runtime/session/run_metadata.h"

#include <map>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/nodes.h"
#include "panto/lib/runtime/profile/chrome_trace.h"
#include "panto/lib/runtime/session/session_impl.h"
#include "panto/lib/runtime/step_stats.h"

namespace panto {

namespace {

// ---- Costs ---------------------------------------------------------------------------------------------------------

std::vector<CostNode> cost_graph_of(const Graph& graph, const std::vector<NodeStats>& stats) {
  std::vector<CostNode> costs;
  std::vector<int> position(static_cast<size_t>(graph.id_limit()), -1);
  const std::vector<int> order = graph.topological_order();
  for (const int id : order) {
    position[static_cast<size_t>(id)] = static_cast<int>(costs.size());
    costs.emplace_back();
  }
  const auto at = [&](int id) { return position[static_cast<size_t>(id)]; };
  std::map<std::string_view, size_t> by_name;
  for (const int id : order) {
    const Node& node = graph.at(id);
    CostNode& cost = costs[static_cast<size_t>(at(id))];
    cost.name = node.name();
    cost.device = node.device();
    for (const NodeOutput input : node.inputs()) cost.inputs.push_back({at(input.node), input.index});
    for (const int before : node.control_inputs()) cost.waits_for.push_back(at(before));
    for (const OutputInfo& info : node.outputs()) {
      const bool known = info.shape.fully_known() && is_plain(info.dtype);
      cost.outputs.push_back({info.dtype, info.shape,
                              known ? Shape(info.shape).numel() * static_cast<int64_t>(dtype_size(info.dtype)) : 0});
    }
    cost.is_final = node.consumers().empty();
    by_name.emplace(node.name(), static_cast<size_t>(at(id)));
  }
  for (const NodeStats& node : stats) {
    const auto found = node.depth == 0 ? by_name.find(node.name) : by_name.end();
    if (found == by_name.end()) continue;
    CostNode& cost = costs[found->second];
    ++cost.executions;
    cost.nanoseconds += node.end - node.start;
    if (node.outputs.size() == cost.outputs.size()) cost.outputs = node.outputs;
  }
  return costs;
}

// ---- Devices -------------------------------------------------------------------------------------------------------

NodeSpec transfer(const Op& op, std::string name, const std::string& tensor, const std::string& from,
                  const std::string& to, DType dtype) {
  NodeSpec spec;
  spec.op = &op;
  spec.name = std::move(name);
  spec.attrs.resize(op.signature().attrs.size());
  const auto set = [&](std::string_view attr, AttrValue value) {
    const int at = op.signature().find_attr(attr);
    if (at >= 0) spec.attrs[static_cast<size_t>(at)] = std::move(value);
  };
  set("T", AttrValue(dtype));
  set("tensor_type", AttrValue(dtype));
  set("tensor_name", AttrValue(tensor));
  set("send_device", AttrValue(from));
  set("send_device_incarnation", AttrValue(int64_t{1}));
  set("recv_device", AttrValue(to));
  return spec;
}

// Returns the nodes of each device, in the order of the devices' first nodes.
std::vector<std::pair<std::string, Graph>> partition_graphs_of(const Graph& graph) {
  const Op& send = *find_op("_Send");
  const Op& recv = *find_op("_Recv");
  std::vector<std::pair<std::string, Graph>> parts;
  std::map<std::string, size_t> part_of;
  std::vector<int> made(static_cast<size_t>(graph.id_limit()), -1);
  std::map<std::pair<NodeOutput, size_t>, NodeOutput> received;  // by value and part
  const auto part = [&](const Node& node) {
    const auto [at, fresh] = part_of.emplace(node.device(), parts.size());
    if (fresh) parts.emplace_back(node.device(), Graph());
    return at->second;
  };
  // Returns value `from` as seen in part `to`; adds a _Send and _Recv if it comes from another part.
  const auto input_of = [&](NodeOutput from, size_t to) {
    const Node& producer = graph.at(from.node);
    const size_t home = part(producer);
    const NodeOutput local{made[static_cast<size_t>(from.node)], from.index};
    if (home == to) return local;
    const auto known = received.find({from, to});
    if (known != received.end()) return known->second;
    const std::string edge = fmt::format("edge_{}_{}", received.size(), graph.output_name(from));
    const auto& [sender, sending] = parts[home];
    const auto& [receiver, receiving] = parts[to];
    Graph& there = parts[home].second;
    Graph& here = parts[to].second;
    const DType dtype = producer.output(from.index).dtype;
    NodeSpec out = transfer(send, there.unique_name(producer.name() + "/_Send"), edge, sender, receiver, dtype);
    out.inputs = {local};
    out.device = sender;
    there.add(std::move(out));
    NodeSpec in = transfer(recv, here.unique_name(producer.name() + "/_Recv"), edge, sender, receiver, dtype);
    in.outputs = {producer.output(from.index)};
    in.device = receiver;
    const NodeOutput value{here.add(std::move(in)), 0};
    received.emplace(std::pair(from, to), value);
    return value;
  };
  for (const int id : graph.topological_order()) {
    const Node& node = graph.at(id);
    const size_t to = part(node);
    NodeSpec spec = node.spec();
    for (NodeOutput& input : spec.inputs) {
      // The back edge of a loop comes from a node that is not added yet.
      input = made[static_cast<size_t>(input.node)] >= 0 ? input_of(input, to) : spec.inputs[0];
    }
    std::erase_if(spec.control_inputs, [&](int before) { return part(graph.at(before)) != to; });
    for (int& before : spec.control_inputs) before = made[static_cast<size_t>(before)];
    spec.place = -1;
    made[static_cast<size_t>(id)] = parts[to].second.add(std::move(spec));
  }
  for (const int id : graph.ids()) {
    const Node& node = graph.at(id);
    if (!node.is(OpKind::kMerge)) continue;
    const size_t to = part(node);
    for (int i = 1; i < node.num_inputs(); ++i) {
      parts[to].second.set_input(made[static_cast<size_t>(id)], i, input_of(node.input(i), to));
    }
  }
  return parts;
}

// ---- Chrome's trace ------------------------------------------------------------------------------------------------

std::string output_text(const NodeStats& node) {
  std::string text;
  for (const OutputStats& output : node.outputs) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", dtype_name(output.dtype), output.shape.to_string());
  }
  return text;
}

}  // namespace

std::string RunMetadata::chrome_trace() const {
  std::vector<TraceEvent> events;
  for (const NodeStats& node : nodes) {
    int64_t bytes = 0;
    for (const OutputStats& output : node.outputs) bytes += output.bytes;
    events.push_back({.name = node.op,
                      .device = node.device,
                      .args = fmt::format(R"("name":{},"op":{},"outputs":{},"bytes":{},"thread":{},"depth":{})",
                                          json_text(node.name), json_text(node.op), json_text(output_text(node)), bytes,
                                          node.thread, node.depth),
                      .thread = node.thread,
                      .start = node.start,
                      .end = node.end});
  }
  return panto::chrome_trace(events);
}

void fill_metadata(RunMetadata& metadata, const Executable& executable, const StepStats& stats,
                   const RunOptions& options) {
  metadata = {};
  metadata.began = stats.began();
  metadata.took = stats.now();
  if (options.trace != RunOptions::Trace::kNone) {
    metadata.nodes = stats.nodes();
    metadata.cost_graph = cost_graph_of(executable.optimized(), metadata.nodes);
  }
  if (options.partition_graphs) metadata.partition_graphs = partition_graphs_of(executable.optimized());
}

}  // namespace panto
