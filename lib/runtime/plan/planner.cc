#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/varint.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/op/resumable_state.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/infer.h"
#include "panto/lib/runtime/placement/placer.h"
#include "panto/lib/runtime/plan/plan.h"
#include "panto/lib/runtime/plan/prepare_node.h"

namespace panto {

namespace {

// A restored position for a node that has not been created yet.
struct AwaitedPosition final : KernelState {
  explicit AwaitedPosition(std::string where) : position(std::move(where)) {}
  std::string position;
};

}  // namespace

std::shared_ptr<KernelState> NodeStates::share(const std::string& node, std::shared_ptr<KernelState> fresh) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<KernelState>& kept = states_[node];
  const auto* awaited = dynamic_cast<const AwaitedPosition*>(kept.get());
  if (awaited != nullptr) {
    if (auto* state = dynamic_cast<ResumableState*>(fresh.get())) state->go_to(awaited->position);
  }
  if (kept == nullptr || awaited != nullptr) kept = std::move(fresh);
  return kept;
}

std::string NodeStates::positions() {
  const std::lock_guard lock(mutex_);
  std::string bytes;
  for (const auto& [node, state] : states_) {
    std::string position;
    if (const auto* resumable = dynamic_cast<const ResumableState*>(state.get())) position = resumable->position();
    if (const auto* awaited = dynamic_cast<const AwaitedPosition*>(state.get())) position = awaited->position;
    if (position.empty()) continue;
    for (const std::string_view text : {std::string_view(node), std::string_view(position)}) {
      append_varint(bytes, text.size());
      bytes += text;
    }
  }
  return bytes;
}

void NodeStates::go_to(std::string_view positions) {
  const auto take_text = [&positions] {
    const uint64_t size = take_varint(positions);
    if (size > positions.size()) {
      failf(Code::kDataLoss, "places of nodes: expected {} bytes, got {}", size, positions.size());
    }
    const std::string_view text = positions.substr(0, size);
    positions.remove_prefix(size);
    return std::string(text);
  };
  std::map<std::string, std::string> all;
  while (!positions.empty()) {
    std::string node = take_text();
    all[std::move(node)] = take_text();
  }
  const std::lock_guard lock(mutex_);
  std::erase_if(states_,
                [](const auto& entry) { return dynamic_cast<const AwaitedPosition*>(entry.second.get()) != nullptr; });
  for (const auto& [node, state] : states_) {
    if (auto* resumable = dynamic_cast<ResumableState*>(state.get())) {
      const auto found = all.find(node);
      resumable->go_to(found == all.end() ? "" : found->second);
    }
  }
  for (auto& [node, position] : all) {
    if (!states_.contains(node)) states_.emplace(node, std::make_shared<AwaitedPosition>(std::move(position)));
  }
}

std::shared_ptr<NodeStates> NodeStates::gradients() {
  const std::lock_guard lock(mutex_);
  if (gradients_ == nullptr) gradients_ = std::make_shared<NodeStates>(identity_);
  return gradients_;
}

namespace {

class Planner {
 public:
  Planner(WorkGraph work, Partition cut, std::vector<ExecutableFeed> feeds, const ExecutableOptions& options)
      : options_(options), cut_(std::move(cut)), sink_(work.sink), inference_(plan_.graph) {
    plan_.graph = std::move(work.graph);
    plan_.feeds = std::move(feeds);
    plan_.edges = cut_.edges;
    for (Device* device : cut_.parts) plan_.parts.emplace_back().device = device;
    arrived_.resize(plan_.edges.size());
    plan_.lane_of = cut_.lane_of;
    for (size_t e = 0; e < plan_.edges.size(); ++e) {
      const CrossEdge& edge = plan_.edges[e];
      edge_of_.emplace(std::make_tuple(edge.value, edge.to, edge.memory), e);
      leaving_[edge.value.node].push_back(e);
      if (edge.is_order()) awaited_[edge.first_reader].push_back(e);
    }
    values_.resize(static_cast<size_t>(plan_.graph.id_limit()));
    for (size_t i = 0; i < plan_.feeds.size(); ++i) {
      const ExecutableFeed& feed = plan_.feeds[i];
      const Node& node = plan_.graph.at(work.feeds[i].node);
      Device& device = feed.device != nullptr ? *feed.device : device_of(node);
      set(node, {Made{.value = {PlanValue::Kind::kFeed, static_cast<int>(i), &device}}});
      inference_.set(work.feeds[i],
                     feed.handle.defined() ? feed.handle : meta_tensor(feed.info.dtype, feed.info.shape));
    }
  }

  Plan run() {
    const RecorderPause unheard;
    for (int id : cut_.order) {
      const Node& node = plan_.graph.at(id);
      if (id == sink_) {
        for (const NodeOutput& input : node.inputs()) add_fetch(made(input));
      } else if (values_[static_cast<size_t>(id)].empty()) {
        add(node);
      }
    }
    forget_identities(plan_.graph);
    for (PartPlan& part : plan_.parts) {
      plan_memory(part, plan_.stats);
      for (const PlanStep& step : part.steps) {
        if (step.prepared != nullptr && step.prepared->state() != nullptr) {
          plan_.stats.packed_bytes += step.prepared->state()->bytes();
        }
      }
    }
    donate_feeds(plan_);
    return std::move(plan_);
  }

 private:
  // A node's output as a value, and the part that computes it; -1: it exists before the run.
  struct Made {
    PlanValue value;
    int part = -1;
  };
  using Values = SmallVector<Made, 1>;
  const Made& made(NodeOutput output) const {
    return values_[static_cast<size_t>(output.node)][static_cast<size_t>(output.index)];
  }
  void set(const Node& node, Values values) { values_[static_cast<size_t>(node.id())] = std::move(values); }
  PartPlan& part_plan(int part) { return plan_.parts[static_cast<size_t>(part)]; }

  Made constant(Tensor tensor) {
    Device& device = tensor.device();
    plan_.constants.push_back(std::move(tensor));
    return {.value = {PlanValue::Kind::kConstant, static_cast<int>(plan_.constants.size() - 1), &device}};
  }

  void add_fetch(const Made& of) {
    plan_.fetches.push_back({static_cast<uint32_t>(std::max(of.part, 0)), of.value});
    if (of.part >= 0) part_plan(of.part).fetches.push_back(of.value);
  }

  void add(const Node& node) {
    if (node.is(OpKind::kNoOperation)) return;
    if (node.is(OpKind::kConstant)) {
      inference_.run(node);
      set(node, {constant(inference_.at({node.id(), 0}))});
    } else if (node.is(OpKind::kVariableHandle)) {
      make_resource(node);
    } else {
      wait_for_order(node);
      if (node.has(Trait::kIdentity)) {
        alias(node);
      } else {
        add_call(node);
      }
      send_to_lanes(node);
    }
  }

  // Sends the node's values to other lanes at once, as these may be waiting.
  void send_to_lanes(const Node& node) {
    const auto found = leaving_.find(node.id());
    if (found == leaving_.end()) return;
    for (const size_t e : found->second) {
      if (leads_to_another_lane(plan_.edges[e])) send(e);
    }
  }

  bool leads_to_another_lane(const CrossEdge& edge) const {
    return plan_.lane_of[static_cast<size_t>(edge.from)] != plan_.lane_of[static_cast<size_t>(edge.to)];
  }

  void send(size_t e) {
    const CrossEdge& edge = plan_.edges[e];
    PlanStep step{.kind = PlanStep::Kind::kSend,
                  .edge = static_cast<uint32_t>(e),
                  .device = edge.memory,
                  .node = edge.value.node};
    if (edge.is_order()) {
      add_step(std::move(step), {}, edge.from);
      return;
    }
    const Made& from = made(edge.value);
    if (from.part < 0) return;  // an alias of a value that exists before the run
    add_input(step, from.value, from.part);
    add_step(std::move(step), {}, from.part);
    const OutputInfo info = info_of(inference_.at(edge.value));
    ++plan_.stats.transfers;
    if (is_plain(info.dtype) && info.shape.fully_known()) {
      plan_.stats.transferred_bytes += info.shape.numel() * static_cast<int64_t>(dtype_size(info.dtype));
    }
    if (from.value.device == edge.memory || !is_plain(info.dtype)) {
      part_plan(from.part).temporaries[static_cast<size_t>(from.value.index)].sent = true;
    }
  }

  void wait_for_order(const Node& node) {
    const auto found = awaited_.find(node.id());
    if (found == awaited_.end()) return;
    for (const size_t e : found->second) {
      PlanStep step{.kind = PlanStep::Kind::kReceive, .edge = static_cast<uint32_t>(e), .node = node.id()};
      add_step(std::move(step), {}, plan_.edges[e].to);
    }
  }

  // Looks handles up once, as they are the same in every run.
  void make_resource(const Node& node) {
    dispatch::Outputs handles = look_up_handles(node, options_.resources);
    Values values;
    for (size_t k = 0; k < handles.size(); ++k) {
      inference_.set({node.id(), static_cast<int>(k)}, handles[k]);
      values.push_back(constant(std::move(handles[k])));
    }
    set(node, std::move(values));
  }

  // Makes the node's outputs aliases of its inputs, as tensors are immutable; adds copies only for another device.
  void alias(const Node& node) {
    const int part = cut_.part_of[static_cast<size_t>(node.id())];
    Values values;
    for (int k = 0; k < node.num_outputs(); ++k) {
      values.push_back(read(node, k, part));
      inference_.set({node.id(), k}, inference_.at(node.input(k)));
    }
    set(node, std::move(values));
  }

  // The node's input as a value of `part`, in the memory that the op wants; adds a copy if it is elsewhere.
  Made read(const Node& reader, int slot, int part) {
    const NodeOutput output = reader.input(slot);
    const Made from = made(output);
    if (from.part >= 0 && from.part != part) return receive(reader, slot, part);
    Device& memory = memory_of_input(plan_.graph, reader, slot, *part_plan(part).device);
    const OutputInfo info = info_of(inference_.at(output));
    if (from.value.device == &memory || !is_plain(info.dtype)) return from;
    const bool once = from.value.kind == PlanValue::Kind::kConstant;  // one copy for all parts
    const auto key = std::make_tuple(static_cast<int>(from.value.kind), from.value.index, &memory, once ? -1 : part);
    if (const auto found = copies_.find(key); found != copies_.end()) return found->second;
    Made copy;
    if (once) {
      copy = constant(copy_to_device(plan_.constants[static_cast<size_t>(from.value.index)], memory));
    } else {
      PlanStep step{.kind = PlanStep::Kind::kCopy, .device = &memory, .node = reader.id(), .makes_own = true};
      add_input(step, from.value, part);
      copy = add_step(std::move(step), {&info, 1}, part)[0];
    }
    copies_.emplace(key, copy);
    return copy;
  }

  // Receives the value as late as possible, just before its first reader. Within one lane the send is also placed here,
  // as it may block until the device has finished all earlier work.
  Made receive(const Node& reader, int slot, int part) {
    const NodeOutput output = reader.input(slot);
    Device& memory = memory_of_input(plan_.graph, reader, slot, *part_plan(part).device);
    const auto found = edge_of_.find(std::make_tuple(output, part, &memory));
    if (found == edge_of_.end()) {
      failf(Code::kInternal, "partition: expected an edge to where node '{}' reads '{}', got none", reader.name(),
            plan_.graph.output_name(output));
    }
    Made& arrived = arrived_[found->second];
    if (arrived.part >= 0) return arrived;
    if (!leads_to_another_lane(plan_.edges[found->second])) send(found->second);
    const OutputInfo info = info_of(inference_.at(output));
    PlanStep step{.kind = PlanStep::Kind::kReceive,
                  .edge = static_cast<uint32_t>(found->second),
                  .device = &memory,
                  .node = reader.id(),
                  .makes_own = true};
    return arrived = add_step(std::move(step), {&info, 1}, part)[0];
  }

  void add_input(PlanStep& step, const PlanValue& value, int part) {
    std::vector<PlanValue>& inputs = part_plan(part).inputs;
    if (step.num_inputs++ == 0) step.first_input = static_cast<uint32_t>(inputs.size());
    inputs.push_back(value);
  }

  // Returns the step's outputs.
  Values add_step(PlanStep step, std::span<const OutputInfo> infos, int part) {
    PartPlan& plan = part_plan(part);
    step.first_output = static_cast<uint32_t>(plan.temporaries.size());
    step.num_outputs = static_cast<uint32_t>(infos.size());
    Values values;
    for (size_t k = 0; k < infos.size(); ++k) {
      PlanTemporary temporary;
      temporary.dtype = infos[k].dtype;
      temporary.shape = infos[k].shape;
      temporary.device = step.prepared == nullptr ? step.device : &step.prepared->output_device(k);
      temporary.made_by = static_cast<int>(plan.steps.size());
      const auto index = static_cast<int>(plan.temporaries.size());
      values.push_back({.value = {PlanValue::Kind::kTemporary, index, temporary.device}, .part = part});
      plan.temporaries.push_back(std::move(temporary));
    }
    plan.steps.push_back(std::move(step));
    const auto end = static_cast<uint32_t>(plan.steps.size());
    if (plan_.segments.empty() || plan_.segments.back().part != static_cast<uint32_t>(part)) {
      plan_.segments.push_back({.part = static_cast<uint32_t>(part), .first = end - 1, .end = end});
    } else {
      plan_.segments.back().end = end;
    }
    return values;
  }

  void add_call(const Node& node) {
    const int part = cut_.part_of[static_cast<size_t>(node.id())];
    Device& device = *part_plan(part).device;
    SmallVector<Tensor, 4> abstract_values;
    SmallVector<PlanValue, 4> inputs;  // read first: reading may add copy and receive steps
    for (int slot = 0; slot < node.num_inputs(); ++slot) {
      abstract_values.push_back(inference_.at(node.input(slot)));
      inputs.push_back(read(node, slot, part).value);
    }
    PlanStep step{.device = &device, .node = node.id()};
    step.prepared =
        prepare_node(node, {abstract_values.data(), abstract_values.size()}, device, options_.states, planning_);
    step.makes_own = node.has(Trait::kSelfAllocating);
    for (const PlanValue& input : inputs) add_input(step, input, part);
    SmallVector<OutputInfo, 2> infos;
    int k = 0;
    for (const OutputSpec& spec : step.prepared->specs()) {
      infos.push_back({spec.dtype, spec.shape});
      inference_.set({node.id(), k++}, meta_tensor(spec.dtype, spec.shape, spec.values, nullptr, spec.handle));
    }
    set(node, add_step(std::move(step), {infos.data(), infos.size()}, part));
  }

  const ExecutableOptions& options_;
  const std::shared_ptr<const Planning> planning_ = planning_of(options_);
  Plan plan_;
  Partition cut_;
  int sink_;
  Inference inference_;
  std::vector<Values> values_;  // by node id
  std::map<std::tuple<int, int, Device*, int>, Made> copies_;
  std::map<std::tuple<NodeOutput, int, Device*>, size_t> edge_of_;
  std::vector<Made> arrived_;                   // by edge
  std::map<int, std::vector<size_t>> leaving_;  // by node id: edges of its outputs
  std::map<int, std::vector<size_t>> awaited_;  // by node id: order edges of which it is `first_reader`
};

}  // namespace

Plan make_plan(WorkGraph work, Partition cut, std::vector<ExecutableFeed> feeds, const ExecutableOptions& options) {
  return Planner(std::move(work), std::move(cut), std::move(feeds), options).run();
}

}  // namespace panto
