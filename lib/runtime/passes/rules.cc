#include "panto/lib/runtime/passes/rules.h"

#include <algorithm>

#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/infer.h"
#include "panto/lib/graph/nodes.h"

namespace panto::passes {

std::optional<std::vector<int64_t>> constant_integers(const Graph& graph, NodeOutput output) {
  const Tensor* value = constant_value(graph, output);
  if (value == nullptr) return std::nullopt;
  const std::optional<PartialValues> known = known_integers(*value);
  if (!known) return std::nullopt;
  std::vector<int64_t> integers;
  for (const auto& v : *known) {
    if (!v) return std::nullopt;
    integers.push_back(*v);
  }
  return integers;
}

namespace {

// Abstract values of a node's inputs.
class AbstractValues {
 public:
  AbstractValues(const Graph& graph, std::span<const NodeOutput> inputs) {
    for (const NodeOutput& input : inputs) {
      const Tensor* constant = constant_value(graph, input);
      const OutputInfo& info = graph.info(input);
      tensors_.push_back(constant != nullptr ? *constant : meta_tensor(info.dtype, info.shape));
    }
    for (const Tensor& t : tensors_) pointers_.push_back(&t);
  }
  std::span<const Tensor* const> get() const { return {pointers_.data(), pointers_.size()}; }

 private:
  std::vector<Tensor> tensors_;
  SmallVector<const Tensor*, 8> pointers_;
};

}  // namespace

int add_inferred(Graph& graph, NodeSpec spec) {
  const AbstractValues inputs(graph, spec.inputs);
  spec.outputs.clear();
  for (const Tensor& output : infer_call(*spec.op, inputs.get(), spec.attrs)) spec.outputs.push_back(info_of(output));
  return graph.add(std::move(spec));
}

int64_t flops(const Node& node, std::span<const Tensor* const> inputs) {
  if (node.op().flops() == nullptr) return 0;
  SmallVector<AttrSlot, 8> slots = borrow(node.attrs());
  Call call;
  call.op = &node.op();
  call.inputs = inputs;
  call.attrs = {slots.data(), slots.size()};
  for (const OutputInfo& output : node.outputs()) call.specs.push_back({output.dtype, output.shape});
  return node.op().flops()(CostContext(call));
}

int64_t flops(const Graph& graph, const Node& node) { return flops(node, AbstractValues(graph, node.inputs()).get()); }

int64_t flops_of_element(const Graph& graph, const Node& node) {
  return flops(graph, node) / std::max<int64_t>(1, node.output(0).shape.numel());
}

DType kernel_type(const Node& node) {
  const int primary = node.op().primary_attr();
  return primary < 0 ? DType::kInvalid : node.attrs()[static_cast<size_t>(primary)].as<DType>();
}

DeviceKind device_kind(const Node& node) {
  const std::string type = DeviceSpec::parse(node.device()).type;
  return type.empty() ? DeviceKind::kCpu : find_device_kind(type);
}

int64_t bytes_of(const OutputInfo& info) {
  if (!is_plain(info.dtype) || !info.shape.fully_known()) return INT64_MAX;
  const int64_t n = info.shape.numel();
  const auto size = static_cast<int64_t>(dtype_size(info.dtype));
  return n < 0 || n > INT64_MAX / size ? INT64_MAX : n * size;
}

bool has_kernel(const Node& node, DeviceKind kind) {
  return kind != DeviceKind::kUnknown && node.op().kernel(kind, kernel_type(node)).run != nullptr;
}

bool cannot_fail(const Node& node, std::span<const OutputInfo> inputs, std::span<const OutputInfo> outputs,
                 DeviceKind kind, const std::function<bool(int)>& is_constant) {
  const Op& op = node.op();
  if (!op.is_pure() || inputs.empty() || !has_kernel(node, kind)) return false;
  const auto known = [](const OutputInfo& info) { return bytes_of(info) != INT64_MAX; };
  if (!std::ranges::all_of(inputs, known) || !std::ranges::all_of(outputs, known)) return false;
  for (int slot = 0; slot < static_cast<int>(inputs.size()); ++slot) {
    if (is_host_input(node, slot) && !is_constant(slot)) return false;
  }
  if (op.has(Trait::kReduction)) return is_constant(1) && !dtypes::kInteger.contains(inputs[0].dtype);
  if (op.has(Trait::kContraction) || op.is(OpKind::kCast)) return true;
  // Integer ops may divide by 0.
  return op.has(Trait::kElementwise) && (op.has(Trait::kCommutative) || !dtypes::kInteger.contains(inputs[0].dtype));
}

bool cannot_fail(const Graph& graph, const Node& node) {
  SmallVector<OutputInfo, 4> inputs;
  for (const NodeOutput& input : node.inputs()) inputs.push_back(graph.info(input));
  return cannot_fail(node, {inputs.data(), inputs.size()}, node.outputs(), device_kind(node),
                     [&](int slot) { return constant_value(graph, node.input(slot)) != nullptr; });
}

bool has_one_reader(const Node& node) {
  return node.consumers().size() == 1 && node.consumers()[0].slot != NodeUse::kControl &&
         node.consumers()[0].output == 0;
}

}  // namespace panto::passes
