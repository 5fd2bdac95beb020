#include "panto/trace/control/ready_function.h"

#include <utility>

#include "panto/lib/base/format.h"
#include "panto/ops/array.h"
#include "panto/ops/state.h"

namespace panto {

const ReadyFunction* find_ready_info(const FunctionRef& function) {
  const auto* body = dynamic_cast<const GraphFunction*>(function.body.get());
  return body == nullptr ? nullptr : static_cast<const ReadyFunction*>(body->note().get());
}

const ReadyFunction& ready_info(const FunctionRef& function) {
  const ReadyFunction* ready = find_ready_info(function);
  if (ready == nullptr) {
    failf(Code::kUnimplemented,
          "gradient: expected a node of a graph that is differentiated as a whole, got a call of function '{}'",
          function.name);
  }
  return *ready;
}

std::vector<Tensor> inputs_gradients(const ReadyFunction& ready, std::span<const Tensor> kept,
                                     std::span<const Tensor> dys, std::span<const uint8_t> needed) {
  std::vector<Tensor> dxs(ready.inputs);
  const std::shared_ptr<const Gradient::Part> part = ready.gradient->part(needed, dys);
  if (part->function == nullptr) return dxs;
  std::vector<const Tensor*> inputs;
  for (const int source : part->sources) {
    inputs.push_back(source >= 0 ? &kept[static_cast<size_t>(source)] : &dys[static_cast<size_t>(~source)]);
  }
  std::vector<Tensor> made(part->function->num_outputs());
  part->function->inline_call(inputs, made);
  for (size_t i = 0; i < dxs.size(); ++i) {
    if (const int r = part->results[i]; r >= 0) dxs[i] = made[static_cast<size_t>(r)];
  }
  return dxs;
}

DType gradient_type(const Gradient::Part& part, size_t i) {
  const auto& parts = part.function->parts();
  return parts.graph.info(parts.outputs[static_cast<size_t>(part.results[i])]).dtype;
}

Tensor zeros_for(const Tensor& value, DType dtype) {
  return zeros_like(value.dtype() == kResource ? read_variable_op(value, dtype) : value);
}

void replace_node(Graph& graph, int id, const Op& op, std::vector<NodeOutput> inputs, std::vector<AttrValue> attrs,
                  std::vector<OutputInfo> outputs) {
  graph.replace_op(id, op, std::move(inputs), std::move(attrs));
  graph.set_outputs(id, std::move(outputs));
}

}  // namespace panto
