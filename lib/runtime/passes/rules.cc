#include "panto/lib/runtime/passes/rules.h"

#include "panto/lib/core/tensor_alloc.h"
#include "panto/lib/graph/infer.h"

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

int add_inferred(Graph& graph, NodeInit init) {
  std::vector<Tensor> stand_ins;
  for (const NodeOutput& input : init.inputs) {
    const Tensor* constant = constant_value(graph, input);
    const OutputInfo& info = graph.info(input);
    stand_ins.push_back(constant != nullptr ? *constant : meta_tensor(info.dtype, info.shape));
  }
  SmallVector<const Tensor*, 8> inputs;
  for (const Tensor& t : stand_ins) inputs.push_back(&t);
  init.outputs.clear();
  for (const Tensor& output : infer_call(*init.op, inputs, init.attrs)) init.outputs.push_back(info_of(output));
  return graph.add(std::move(init));
}

DeviceKind device_kind(const Node& node) {
  return DeviceSpec::parse(node.device()).type == "GPU" ? DeviceKind::kCuda : DeviceKind::kCpu;
}

bool has_one_reader(const Node& node) {
  return node.consumers().size() == 1 && node.consumers()[0].slot != NodeUse::kControl &&
         node.consumers()[0].output == 0;
}

}  // namespace panto::passes
