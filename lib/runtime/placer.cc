#include "panto/lib/runtime/placer.h"

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <unordered_map>

#include "panto/lib/base/format.h"
#include "panto/lib/graph/infer.h"
#include "panto/lib/graph/nodes.h"

namespace panto {

namespace {

DType primary_type(const Node& node) {
  const int at = node.op().primary_attr();
  return at < 0 ? DType::kInvalid : node.attrs()[static_cast<size_t>(at)].as<DType>();
}

// Done by the executor, or before it starts: no kernel runs.
bool needs_kernel(const Node& node) {
  return !node.is(OpKind::kPlaceholder) && !node.is(OpKind::kConstant) && !node.is(OpKind::kNoOperation) &&
         !node.is(OpKind::kVariableHandle) && !node.has(Trait::kIdentity) && !node.is_control_flow();
}

class Placer {
 public:
  Placer(Graph& graph, const Device& usual, bool soft)
      : graph_(graph),
        usual_(usual),
        soft_(soft),
        devices_(devices()),
        groups_(static_cast<size_t>(graph.id_limit())) {}

  void run() {
    const std::vector<int> ids = graph_.ids();
    spec_of_.resize(static_cast<size_t>(graph_.id_limit()));
    for (int id : ids) {
      const Node& node = graph_.at(id);
      with_context([&] { return node_context(node); }, [&] { spec_of_[static_cast<size_t>(id)] = request(node); });
    }
    if (devices_.size() == 1) {
      for (int id : ids) graph_.set_device(id, devices_[0]->name());
      return;
    }
    for (int id : ids) join(graph_.at(id));
    std::vector<std::vector<int>> members(static_cast<size_t>(graph_.id_limit()));
    for (int id : ids) members[groups_.find_set(static_cast<size_t>(id))].push_back(id);
    for (const std::vector<int>& group : members) {
      if (group.empty()) continue;
      const Device& device = choose(group);
      for (int id : group) graph_.set_device(id, device.name());
    }
  }

 private:
  // The position in specs_ of what the node asks for.
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
      // It may have been pruned: then there is nothing to be near to.
      const Node* other = graph_.find(std::string_view(text).substr(kPrefix.size()));
      if (other != nullptr) join(node.id(), other->id());
    }
  }

  void join(int a, int b) { groups_.union_set(static_cast<size_t>(a), static_cast<size_t>(b)); }

  // A composite is on any device: by a kernel, or by the ops of its body.
  static bool may_be_on(const Node& node, const Device& device) {
    return node.op().is_composite() || runs_on(node, device);
  }

  const Device& choose(const std::vector<int>& group) {
    const auto asked = [&](int id, const Device& device) {
      return specs_[static_cast<size_t>(spec_of_[static_cast<size_t>(id)])].matches(device);
    };
    std::vector<const Device*> agreed;
    for (const Device* device : devices_) {
      if (std::ranges::all_of(group, [&](int id) { return asked(id, *device); })) agreed.push_back(device);
    }
    if (agreed.empty() && soft_) return *devices_[0];
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
    // With no kernel anywhere the step itself says what exists.
    if (able.empty()) return soft_ ? *devices_[0] : *agreed[0];
    if (stays_on_host(group)) {
      const auto cpu = std::ranges::find(able, DeviceKind::kCpu, &Device::kind);
      if (cpu != able.end()) return **cpu;
    }
    const auto usual = std::ranges::find(able, &usual_);
    return usual != able.end() ? **usual : *able[0];
  }

  // Given by the host, or read there only.
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
  std::vector<Device*> devices_;
  boost::disjoint_sets_with_storage<> groups_;  // of nodes that must be on one device, by id
  std::vector<DeviceSpec> specs_;
  std::unordered_map<std::string, int> known_;  // a node's device, as written -> position in specs_
  std::vector<int> spec_of_;                    // by node id
};

}  // namespace

bool runs_on(const Node& node, const Device& device) {
  return !needs_kernel(node) || node.op().kernel(device.kind(), primary_type(node)).run != nullptr;
}

void place(Graph& graph, const Device& usual, bool soft) { Placer(graph, usual, soft).run(); }

Device& device_of(const Node& node) {
  const DeviceSpec spec = DeviceSpec::parse(node.device());
  for (Device* device : devices()) {
    if (spec.matches(*device)) return *device;
  }
  failf(Code::kInternal, "device of node '{}': expected one that exists, got '{}'", node.name(), node.device());
}

}  // namespace panto
