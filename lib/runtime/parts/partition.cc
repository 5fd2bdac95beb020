#include "panto/lib/runtime/parts/partition.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/graph/nodes.h"
#include "panto/lib/runtime/placement/placer.h"

namespace panto {

namespace {

class Partitioner {
 public:
  Partitioner(const WorkGraph& work, const std::vector<ExecutableFeed>& feeds, const Device& usual,
              std::vector<int> split)
      : graph_(work.graph), sink_(work.sink), usual_(usual), split_(std::move(split)) {
    const auto limit = static_cast<size_t>(graph_.id_limit());
    made_.part_of.assign(limit, -1);
    feed_of_.assign(limit, nullptr);
    for (size_t i = 0; i < feeds.size(); ++i) feed_of_[static_cast<size_t>(work.feeds[i].node)] = &feeds[i];
    if (devices().size() > 1 || !split_.empty()) homes_.resize(limit);
  }

  Partition run() {
    made_.order = graph_.topological_order();
    for (int id : made_.order) {
      if (id != sink_) add(graph_.at(id));
    }
    return std::move(made_);
  }

 private:
  void add(const Node& node) {
    if (homes_.empty()) {
      if (!node.is(OpKind::kNoOperation) && !is_there_before(node)) join(node, cpu_device());
      return;
    }
    if (node.is(OpKind::kNoOperation)) {
      steps_behind(node.id());  // cached in order, as a long chain of NoOps would mean deep recursion
      return;
    }
    Device& device = device_to_run(node);
    if (is_there_before(node)) {
      steps_behind(node.id());
      return set_home(node, device);
    }
    const int part = join(node, device);
    add_orders(node, part);
    for (int slot = 0; slot < node.num_inputs(); ++slot) add_edge(node, slot, part);
    set_home(node, device);
  }

  bool is_there_before(const Node& node) const {
    return node.is(OpKind::kPlaceholder) || node.is(OpKind::kConstant) || node.is(OpKind::kVariableHandle);
  }

  int join(const Node& node, Device& device) {
    if (!split_.empty()) return made_.part_of[static_cast<size_t>(node.id())] = join_split(node, device);
    auto found = std::ranges::find(made_.parts, &device);
    if (found == made_.parts.end()) {
      found = made_.parts.insert(found, &device);
      const bool shares =
          &device == &cpu_device() || &device == &usual_ || device.stream() != nullptr || device.captures();
      made_.lane_of.push_back(shares ? 0 : ++latest_lane_);
    }
    return made_.part_of[static_cast<size_t>(node.id())] = static_cast<int>(found - made_.parts.begin());
  }

  int join_split(const Node& node, Device& device) {
    const int lane = split_[static_cast<size_t>(node.id())];
    const auto found = std::ranges::find(made_.lane_of, lane);
    if (found != made_.lane_of.end()) return static_cast<int>(found - made_.lane_of.begin());
    made_.parts.push_back(&device);
    made_.lane_of.push_back(lane);
    return static_cast<int>(made_.parts.size()) - 1;
  }

  void add_edge(const Node& node, int slot, int part) {
    const NodeOutput input = node.input(slot);
    const int from = made_.part_of[static_cast<size_t>(input.node)];
    if (from < 0 || from == part) return;
    Device* memory = &memory_of_input(graph_, node, slot, *made_.parts[static_cast<size_t>(part)]);
    if (seen_.emplace(input, part, memory).second) made_.edges.push_back({input, from, part, memory, node.id()});
  }

  // Adds order edges for what the node waits for in other parts without reading it. Calls that draw random numbers,
  // write, or have external effects keep the order that they have on one device.
  void add_orders(const Node& node, int part) {
    for (const int before : node.control_inputs()) {
      for (const int step : steps_behind(before)) add_order(step, node, part);
    }
    for (const NodeOutput& input : node.inputs()) {
      if (made_.part_of[static_cast<size_t>(input.node)] >= 0) continue;
      for (const int step : steps_behind(input.node)) add_order(step, node, part);
    }
    if (!node.op().has_effect(static_cast<uint8_t>(~Effect::kReads))) return;
    if (latest_effect_ >= 0) add_order(latest_effect_, node, part);
    latest_effect_ = node.id();
  }

  void add_order(int before, const Node& node, int part) {
    const int from = made_.part_of[static_cast<size_t>(before)];
    const NodeOutput order{before, CrossEdge::kOrder};
    if (made_.lane_of[static_cast<size_t>(from)] == made_.lane_of[static_cast<size_t>(part)]) return;
    if (!seen_.emplace(order, part, nullptr).second) return;
    made_.edges.push_back({order, from, part, nullptr, node.id()});
  }

  // The steps that have run once the node is done: the node itself or, if it is no step or exists before the run, the
  // steps that it waits for.
  const std::vector<int>& steps_behind(int id) {
    const auto [found, is_new] = behind_.try_emplace(id);
    if (!is_new) return found->second;
    std::set<int> steps;
    if (made_.part_of[static_cast<size_t>(id)] >= 0) {
      steps.insert(id);
    } else {
      for (const int before : graph_.at(id).control_inputs()) {
        const std::vector<int>& more = steps_behind(before);
        steps.insert(more.begin(), more.end());
      }
    }
    return behind_[id] = std::vector<int>(steps.begin(), steps.end());
  }

  Device* home(NodeOutput output) const {
    return homes_[static_cast<size_t>(output.node)][static_cast<size_t>(output.index)];
  }

  void set_home(const Node& node, Device& device) {
    SmallVector<Device*, 1>& homes = homes_[static_cast<size_t>(node.id())];
    const ExecutableFeed* feed = feed_of_[static_cast<size_t>(node.id())];
    for (int k = 0; k < node.num_outputs(); ++k) {
      Device* there = &device;
      if (feed != nullptr) {
        if (feed->device != nullptr) there = feed->device;
      } else if (!node.is(OpKind::kConstant) && !node.is(OpKind::kVariableHandle) && !node.has(Trait::kIdentity)) {
        there = &dispatch::output_device(node.op(), static_cast<size_t>(k), device);
      }
      homes.push_back(there);
    }
  }

  // An op that reads only its input's shape writes to host memory on any device. It runs where its input is, to avoid a
  // copy.
  Device& device_to_run(const Node& node) {
    Device& device = placed(node);
    if (!node.has(Trait::kShapeOnly) || node.num_inputs() == 0) return device;
    if (!std::ranges::all_of(node.op().signature().outputs, &ArgDef::host)) return device;
    Device& there = *home(node.input(0));
    return there.kind() != device.kind() && runs_on(node, there) ? there : device;
  }

  // Caches the latest device, as most nodes have the device of the node before.
  Device& placed(const Node& node) {
    if (latest_device_ == nullptr || node.device() != latest_name_) {
      latest_device_ = &device_of(node);
      latest_name_ = node.device();
    }
    return *latest_device_;
  }

  const Graph& graph_;
  int sink_;
  const Device& usual_;
  const std::vector<int> split_;
  Partition made_;
  int latest_lane_ = 0;
  std::vector<const ExecutableFeed*> feed_of_;  // by node id
  std::vector<SmallVector<Device*, 1>> homes_;  // by node id: where outputs are; empty if there is only one device
  std::set<std::tuple<NodeOutput, int, Device*>> seen_;
  std::map<int, std::vector<int>> behind_;  // by node id
  int latest_effect_ = -1;
  Device* latest_device_ = nullptr;
  std::string latest_name_;
};

}  // namespace

Device& memory_of_input(const Graph& graph, const Node& node, int slot, Device& device) {
  if (device.host_memory()) return device;
  return is_host_input(node, slot) || !is_plain(graph.info(node.input(slot)).dtype) ? cpu_device() : device;
}

Partition partition(const WorkGraph& work, const std::vector<ExecutableFeed>& feeds, const Device& usual,
                    std::vector<int> split) {
  return Partitioner(work, feeds, usual, std::move(split)).run();
}

}  // namespace panto
