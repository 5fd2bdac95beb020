#include "panto/lib/runtime/placement/placer.h"

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <cstdio>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/graph/functions/expand.h"
#include "panto/lib/graph/infer.h"
#include "panto/lib/graph/nodes.h"

namespace panto {

namespace {

DType primary_type(const Node& node) {
  const int at = node.op().primary_attr();
  return at < 0 ? DType::kInvalid : node.attrs()[static_cast<size_t>(at)].as<DType>();
}

class Placer {
 public:
  Placer(Graph& graph, const Device& usual, bool soft, const CostModel* costs)
      : graph_(graph),
        usual_(usual),
        soft_(soft),
        costs_(costs),
        devices_(devices()),
        groups_(static_cast<size_t>(graph.id_limit())) {}

  std::optional<PlacementByCost> run() {
    const std::vector<int> ids = graph_.ids();
    spec_of_.resize(static_cast<size_t>(graph_.id_limit()));
    for (int id : ids) {
      const Node& node = graph_.at(id);
      with_context([&] { return node_context(node); }, [&] { spec_of_[static_cast<size_t>(id)] = request(node); });
    }
    if (devices_.size() == 1) {
      for (int id : ids) graph_.set_device(id, devices_[0]->name());
      if (costs_ == nullptr) return std::nullopt;
      return place_by_cost(graph_, {{ids, {devices_[0]}}}, *costs_);
    }
    for (int id : ids) join(graph_.at(id));
    std::vector<std::vector<int>> members(static_cast<size_t>(graph_.id_limit()));
    for (int id : ids) members[groups_.find_set(static_cast<size_t>(id))].push_back(id);
    std::vector<PlacementGroup> groups;
    for (std::vector<int>& group : members) {
      if (group.empty()) continue;
      std::vector<const Device*> choices = choices_for(group);
      groups.push_back({std::move(group), std::move(choices)});
    }
    std::optional<PlacementByCost> by_cost;
    if (costs_ != nullptr) {
      leave_out_idle(groups);
      by_cost = place_by_cost(graph_, groups, *costs_);
    }
    for (size_t g = 0; g < groups.size(); ++g) {
      const Device* device = by_cost ? by_cost->devices[g] : groups[g].choices[0];
      for (const int id : groups[g].nodes) graph_.set_device(id, device->name());
    }
    return by_cost;
  }

 private:
  // Removes devices that do no work from the choices of groups that can go elsewhere.
  void leave_out_idle(std::vector<PlacementGroup>& groups) const {
    for (Device* device : devices_) {
      if (device->works()) continue;
      for (PlacementGroup& group : groups) {
        if (group.choices.size() > 1) std::erase(group.choices, device);
      }
    }
  }

  // The position in specs_ of the device that the node asks for.
  int request(const Node& node) {
    if (const auto found = known_.find(node.device()); found != known_.end()) return found->second;
    DeviceSpec spec = DeviceSpec::parse(node.device());
    const bool exists = std::ranges::any_of(devices_, [&](Device* d) { return spec.matches(*d); });
    if (!exists && !soft_) invalid("device: expected one of {}, got '{}'", list(), node.device());
    specs_.push_back(exists ? std::move(spec) : DeviceSpec());
    return known_[node.device()] = static_cast<int>(specs_.size() - 1);
  }

  std::string list() const {
    std::string text;
    for (const Device* device : devices_) text.append(text.empty() ? "" : ", ").append(device->name());
    return text;
  }

  void join(const Node& node) {
    for (const NodeOutput& input : node.inputs()) {
      if (graph_.info(input).dtype == kResource && !node.is(OpKind::kNoOperation)) join(node.id(), input.node);
    }
    const AttrValue* classes = node.internal_attr("_class");
    if (classes == nullptr || classes->kind() != AttrKind::kStringList) return;
    constexpr std::string_view kPrefix = "loc:@";
    for (const std::string& text : classes->as<std::vector<std::string>>()) {
      if (!text.starts_with(kPrefix)) continue;
      // The other node may have been pruned; then there is no constraint.
      const Node* other = graph_.find(std::string_view(text).substr(kPrefix.size()));
      if (other != nullptr) join(node.id(), other->id());
    }
  }

  void join(int a, int b) { groups_.union_set(static_cast<size_t>(a), static_cast<size_t>(b)); }

  // Their kernels only call functions, whose nodes are placed on their own.
  static bool is_call_of_choice(const Node& node) {
    return node.is(OpKind::kCond) || node.is(OpKind::kCase) || node.is(OpKind::kLoop);
  }

  // A composite can be on any device: by its kernel, or by the ops of its body.
  static bool may_be_on(const Node& node, const Device& device) {
    return (node.op().is_composite() && !is_call_of_choice(node)) || runs_on(node, device);
  }

  // The devices on which the group may be; never empty. The first is used unless costs decide.
  std::vector<const Device*> choices_for(const std::vector<int>& group) {
    const auto asked = [&](int id, const Device& device) {
      return specs_[static_cast<size_t>(spec_of_[static_cast<size_t>(id)])].matches(device);
    };
    std::vector<const Device*> agreed;
    for (const Device* device : devices_) {
      if (std::ranges::all_of(group, [&](int id) { return asked(id, *device); })) agreed.push_back(device);
    }
    if (agreed.empty() && soft_) return {devices_[0]};
    if (agreed.empty()) {
      const auto asks = [&](int id) { return !graph_.at(id).device().empty(); };
      const auto first = std::ranges::find_if(group, asks);
      const auto other = std::find_if(first + 1, group.end(), [&](int id) {
        return asks(id) && graph_.at(id).device() != graph_.at(*first).device();
      });
      invalid("device: expected one device for node '{}' and node '{}', which stay together, got '{}' and '{}'",
              graph_.at(*first).name(), graph_.at(*other).name(), graph_.at(*first).device(),
              graph_.at(*other).device());
    }
    std::vector<const Device*> able;
    for (const Device* device : agreed) {
      if (std::ranges::all_of(group, [&](int id) { return may_be_on(graph_.at(id), *device); })) able.push_back(device);
    }
    if (able.empty() && std::ranges::all_of(group, [&](int id) { return is_call_of_choice(graph_.at(id)); })) {
      return {devices_[0]};
    }
    // If no device has a kernel, the step's own error lists the existing kernels.
    if (able.empty()) return {soft_ ? devices_[0] : agreed[0]};
    if (stays_on_host(group)) {
      const auto cpu = std::ranges::find(able, DeviceKind::kCpu, &Device::kind);
      if (cpu != able.end()) return {*cpu};
    }
    const auto usual = std::ranges::find(able, &usual_);
    if (usual != able.end()) std::rotate(able.begin(), usual, usual + 1);
    return able;
  }

  // Whether the group is a node whose value comes from the host or is only read there.
  bool stays_on_host(const std::vector<int>& group) const {
    if (group.size() != 1) return false;
    const Node& node = graph_.at(group[0]);
    if (node.is(OpKind::kPlaceholder) || node.is(OpKind::kNoOperation)) return true;
    if (node.num_outputs() == 0 || node.consumers().empty()) return false;
    return std::ranges::all_of(node.consumers(), [&](const NodeUse& use) {
      return use.slot == NodeUse::kControl || is_host_input(graph_.at(use.node), use.slot);
    });
  }

  Graph& graph_;
  const Device& usual_;
  bool soft_;
  const CostModel* costs_;
  std::vector<Device*> devices_;
  boost::disjoint_sets_with_storage<> groups_;  // of nodes that must be on one device, by id
  std::vector<DeviceSpec> specs_;
  std::unordered_map<std::string, int> known_;  // a node's device, as written -> position in specs_
  std::vector<int> spec_of_;                    // by node id
};

}  // namespace

bool needs_kernel(const Node& node) {
  return !node.is(OpKind::kPlaceholder) && !node.is(OpKind::kConstant) && !node.is(OpKind::kNoOperation) &&
         !node.is(OpKind::kVariableHandle) && !node.has(Trait::kIdentity) && !node.is_control_flow();
}

bool runs_on(const Node& node, const Device& device) {
  return !needs_kernel(node) || node.op().kernel(device.kind(), primary_type(node)).run != nullptr;
}

std::optional<PlacementByCost> place_and_expand(Graph& graph, Device& usual, bool soft, const CostModel* costs) {
  const std::vector<Device*> all = devices();
  const auto runs_nowhere = [&](const Node& node) {
    return std::ranges::none_of(all, [&](const Device* device) { return runs_on(node, *device); });
  };
  expand_composites(graph, runs_nowhere);
  std::vector<std::pair<int, std::string>> asked;  // of composites: the requested device, as written
  for (int id : graph.ids()) {
    if (is_composite(graph.at(id))) asked.emplace_back(id, graph.at(id).device());
  }
  std::optional<PlacementByCost> by_cost = Placer(graph, usual, soft, costs).run();
  std::unordered_set<int> without_kernel;
  for (const auto& [id, device] : asked) {
    if (runs_on(graph.at(id), device_of(graph.at(id)))) continue;
    graph.set_device(id, device);  // each node of the body is placed on its own
    without_kernel.insert(id);
  }
  if (without_kernel.empty()) return by_cost;
  expand_composites(graph, [&](const Node& node) { return without_kernel.contains(node.id()); });
  return place_and_expand(graph, usual, soft, costs);
}

void check_placement(const std::string& placement) {
  if (!placement.empty() && placement != "by_cost") {
    invalid("placement: expected \"\" or \"by_cost\", got '{}'", printable(placement));
  }
}

void log_placement(const Graph& graph, int but, const std::string& scope) {
  const std::string_view slash = scope.empty() ? "" : "/";
  std::string text;
  for (const int id : graph.ids()) {
    const Node& node = graph.at(id);
    if (id == but) continue;
    text += fmt::format("{}{}{}: ({}): /job:localhost/replica:0/task:0{}\n", scope, slash, node.name(),
                        node.op().name(), node.device());
  }
  std::fputs(text.c_str(), stderr);
}

Device& device_of(const Node& node) {
  const DeviceSpec spec = DeviceSpec::parse(node.device());
  for (Device* device : devices()) {
    if (spec.matches(*device)) return *device;
  }
  failf(Code::kInternal, "device of node '{}': expected one that exists, got '{}'", node.name(), node.device());
}

}  // namespace panto
