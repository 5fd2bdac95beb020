#include <algorithm>
#include <unordered_map>

#include "panto/lib/base/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/infer.h"
#include "panto/lib/runtime/placer.h"
#include "panto/lib/runtime/plan.h"

namespace panto {

std::shared_ptr<KernelState> NodeStates::share(const Node& node, std::shared_ptr<KernelState> fresh) {
  std::string key = node.name() + "\n" + node.op().name();
  for (const AttrValue& attr : node.attrs()) {
    const bool number = attr.kind() == AttrKind::kInt || attr.kind() == AttrKind::kFloat;
    if (number || attr.kind() == AttrKind::kBool || attr.kind() == AttrKind::kString) key += "\n" + attr.to_string();
  }
  const std::lock_guard lock(mutex_);
  return states_.try_emplace(std::move(key), std::move(fresh)).first->second;
}

namespace {

class Planner {
 public:
  Planner(WorkGraph work, std::vector<ExecutableFeed> feeds, const ExecutableOptions& options)
      : options_(options), sink_(work.sink), inference_(plan_.graph) {
    plan_.graph = std::move(work.graph);
    plan_.feeds = std::move(feeds);
    values_.resize(static_cast<size_t>(plan_.graph.id_limit()));
    for (size_t i = 0; i < plan_.feeds.size(); ++i) {
      const ExecutableFeed& feed = plan_.feeds[i];
      const Node& node = plan_.graph.at(work.feeds[i].node);
      Device& device = feed.device != nullptr ? *feed.device : device_of(node);
      set(node, {PlanValue{PlanValue::Kind::kFeed, static_cast<int>(i), &device}});
      inference_.set(work.feeds[i],
                     feed.handle.defined() ? feed.handle : meta_tensor(feed.info.dtype, feed.info.shape));
    }
  }

  Plan run() {
    const RecorderPause unheard;
    for (int id : plan_.graph.topological_order()) {
      const Node& node = plan_.graph.at(id);
      if (id == sink_) {
        for (const NodeOutput& input : node.inputs()) plan_.fetches.push_back(value(input));
      } else if (values_[static_cast<size_t>(id)].empty()) {
        add(node);
      }
    }
    plan_memory(plan_);
    for (const PlanStep& step : plan_.steps) {
      if (step.prepared != nullptr && step.prepared->state() != nullptr) {
        plan_.stats.packed_bytes += step.prepared->state()->bytes();
      }
    }
    return std::move(plan_);
  }

 private:
  const PlanValue& value(NodeOutput output) const {
    return values_[static_cast<size_t>(output.node)][static_cast<size_t>(output.index)];
  }
  using Values = SmallVector<PlanValue, 1>;
  void set(const Node& node, Values values) { values_[static_cast<size_t>(node.id())] = std::move(values); }

  // Most nodes have the device of the one before.
  Device& device_of(const Node& node) {
    if (latest_device_ == nullptr || node.device() != latest_device_name_) {
      latest_device_ = &panto::device_of(node);
      latest_device_name_ = node.device();
    }
    return *latest_device_;
  }

  // What an op says of a shape is in host memory wherever it runs. So it runs where its input is: nothing is copied.
  Device& device_to_run(const Node& node) {
    Device& device = device_of(node);
    if (!node.has(Trait::kShapeOnly) || node.num_inputs() == 0) return device;
    if (!std::ranges::all_of(node.op().signature().outputs, &ArgDef::host)) return device;
    Device& there = *value(node.input(0)).device;
    return there.kind() != device.kind() && runs_on(node, there) ? there : device;
  }

  PlanValue constant(Tensor tensor) {
    Device& device = tensor.device();
    plan_.constants.push_back(std::move(tensor));
    return {PlanValue::Kind::kConstant, static_cast<int>(plan_.constants.size() - 1), &device};
  }

  void add(const Node& node) {
    if (node.is(OpKind::kNoOperation)) return;
    if (node.is(OpKind::kConstant)) {
      inference_.run(node);
      set(node, {constant(inference_.at({node.id(), 0}))});
    } else if (node.is(OpKind::kVariableHandle)) {
      make_resource(node);
    } else if (node.has(Trait::kIdentity)) {
      alias(node);
    } else {
      add_step(node);
    }
  }

  // Handles are looked up once: they are the same at every run.
  void make_resource(const Node& node) {
    const ResourceManagerScope scope(options_.resources != nullptr ? *options_.resources : default_resources());
    SmallVector<AttrSlot, 8> slots;
    for (const AttrValue& attr : node.attrs()) slots.push_back(borrow(attr));
    dispatch::CallOptions options;
    options.node_name = node.name();
    options.device = &cpu_device();
    dispatch::Outputs handles = dispatch::call(node.op(), {}, slots, options);
    Values values;
    for (size_t k = 0; k < handles.size(); ++k) {
      inference_.set({node.id(), static_cast<int>(k)}, handles[k]);
      values.push_back(constant(std::move(handles[k])));
    }
    set(node, std::move(values));
  }

  // Tensors do not change: its outputs are its inputs, unless they are to be on another device.
  void alias(const Node& node) {
    Device& device = device_of(node);
    Values values;
    for (int k = 0; k < node.num_outputs(); ++k) {
      values.push_back(on_device(node, node.input(k), device));
      inference_.set({node.id(), k}, inference_.at(node.input(k)));
    }
    set(node, std::move(values));
  }

  // The value of an output in the memory of `device`; adds a copy where it is elsewhere.
  PlanValue on_device(const Node& reader, NodeOutput output, Device& device) {
    const PlanValue& from = value(output);
    const OutputInfo info = info_of(inference_.at(output));
    if (from.device == &device || !is_plain(info.dtype)) return from;
    const auto key = std::make_tuple(static_cast<int>(from.kind), from.index, &device);
    if (const auto found = copies_.find(key); found != copies_.end()) return found->second;
    PlanValue copy;
    if (from.kind == PlanValue::Kind::kConstant) {
      copy = constant(copy_to_device(plan_.constants[static_cast<size_t>(from.index)], device));
    } else {
      PlanStep step;
      step.device = &device;
      step.node = reader.id();
      step.first_input = static_cast<uint32_t>(plan_.inputs.size());
      step.num_inputs = 1;
      plan_.inputs.push_back(from);
      step.makes_own = true;
      copy = add_outputs(step, {&info, 1})[0];
      plan_.steps.push_back(std::move(step));
    }
    copies_.emplace(key, copy);
    return copy;
  }

  Values add_outputs(PlanStep& step, std::span<const OutputInfo> infos) {
    step.first_output = static_cast<uint32_t>(plan_.temporaries.size());
    step.num_outputs = static_cast<uint32_t>(infos.size());
    Values values;
    for (size_t k = 0; k < infos.size(); ++k) {
      PlanTemporary temporary;
      temporary.dtype = infos[k].dtype;
      temporary.shape = infos[k].shape;
      temporary.device = step.prepared == nullptr ? step.device : &step.prepared->output_device(k);
      temporary.made_by = static_cast<int>(plan_.steps.size());
      values.push_back({PlanValue::Kind::kTemporary, static_cast<int>(plan_.temporaries.size()), temporary.device});
      plan_.temporaries.push_back(std::move(temporary));
    }
    return values;
  }

  void add_step(const Node& node) {
    Device& device = device_to_run(node);
    SmallVector<Tensor, 4> abstract_values;
    for (const NodeOutput& input : node.inputs()) abstract_values.push_back(inference_.at(input));
    SmallVector<PlanValue, 4> inputs;
    size_t flat = 0;
    for (const ArgDef& arg : node.op().signature().inputs) {
      for (size_t n = count_of(node, arg); n > 0 && flat < abstract_values.size(); --n, ++flat) {
        const NodeOutput input = node.input(static_cast<int>(flat));
        const bool host = arg.host && !device.host_memory();
        inputs.push_back(on_device(node, input, host ? cpu_device() : device));
      }
    }
    PlanStep step;
    step.device = &device;
    step.node = node.id();
    step.prepared = with_context([&] { return line_context(node); },
                                 [&] {
                                   return dispatch::prepare(node.op(), {abstract_values.data(), abstract_values.size()},
                                                            node.attrs(), device, node.name());
                                 });
    if (step.prepared->state() != nullptr && node.op().has_effects() && options_.states != nullptr) {
      step.prepared->set_state(options_.states->share(node, step.prepared->state()));
    }
    step.makes_own = node.has(Trait::kSelfAllocating);
    step.first_input = static_cast<uint32_t>(plan_.inputs.size());
    step.num_inputs = static_cast<uint32_t>(inputs.size());
    plan_.inputs.insert(plan_.inputs.end(), inputs.begin(), inputs.end());
    SmallVector<OutputInfo, 2> infos;
    int k = 0;
    for (const OutputSpec& spec : step.prepared->specs()) {
      infos.push_back({spec.dtype, spec.shape});
      inference_.set({node.id(), k++}, meta_tensor(spec.dtype, spec.shape, spec.values, nullptr, spec.handle));
    }
    set(node, add_outputs(step, {infos.data(), infos.size()}));
    plan_.steps.push_back(std::move(step));
  }

  static std::string line_context(const Node& node) {
    const std::string line = node.where().to_string();
    return line.empty() ? "in a graph" : "at " + line;
  }

  static size_t count_of(const Node& node, const ArgDef& arg) {
    const auto attr = [&](int at) -> const AttrValue& { return node.attrs()[static_cast<size_t>(at)]; };
    if (arg.number_attr >= 0) return static_cast<size_t>(attr(arg.number_attr).as<int64_t>());
    if (arg.type_list_attr >= 0) return attr(arg.type_list_attr).as<std::vector<DType>>().size();
    return 1;
  }

  const ExecutableOptions& options_;
  Plan plan_;
  int sink_;
  Inference inference_;
  std::vector<Values> values_;  // by node id
  std::map<std::tuple<int, int, Device*>, PlanValue> copies_;
  Device* latest_device_ = nullptr;
  std::string latest_device_name_;
};

}  // namespace

Plan make_plan(WorkGraph work, std::vector<ExecutableFeed> feeds, const ExecutableOptions& options) {
  return Planner(std::move(work), std::move(feeds), options).run();
}

}  // namespace panto
