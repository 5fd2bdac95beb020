#include "panto/trace/control/ready_function.h"

#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/create.h"
#include "panto/ops/array.h"
#include "panto/ops/control.h"
#include "panto/ops/state.h"
#include "panto/trace/control/function_gradients.h"

namespace panto {

namespace {

std::shared_ptr<const ReadyFunction> note_of(const FunctionRef& function) {
  const auto* body = dynamic_cast<const GraphFunction*>(function.body.get());
  return body == nullptr ? nullptr : std::static_pointer_cast<const ReadyFunction>(body->note());
}

}  // namespace

const ReadyFunction* find_ready_info(const FunctionRef& function) { return note_of(function).get(); }

const ReadyFunction& ready_info(const FunctionRef& function, const GradContext& g) {
  const ReadyFunction* ready = find_ready_info(function);
  // Whether all given gradients belong to outputs that existed before the function was made ready.
  const auto is_enough = [&](const ReadyFunction& info) {
    for (int k = static_cast<int>(info.outputs); k < g.num_outputs(); ++k) {
      if (g.has_dy(k)) return false;
    }
    return true;
  };
  if (ready == nullptr || !is_enough(*ready)) {
    failf(
        Code::kUnimplemented,
        "gradient: expected a call of '{}' that is made ready for gradients of this order, got another (differentiate "
        "the traced function as a whole)",
        function.name);
  }
  while (ready->previous != nullptr && is_enough(*ready->previous)) ready = ready->previous.get();
  return *ready;
}

std::vector<Tensor> inputs_gradients(const ReadyFunction& ready, std::span<const Tensor> kept,
                                     std::span<const Tensor> dys, std::span<const uint8_t> needed) {
  std::vector<Tensor> dxs(ready.inputs);
  const std::shared_ptr<const FunctionGradient::Part> part = ready.gradient->part(needed, dys);
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

DType gradient_type(const FunctionGradient::Part& part, size_t i) {
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

namespace {

// A placeholder for a value of a branch that was not taken.
NodeOutput add_fake(Graph& graph, const OutputInfo& info) {
  NodeSpec spec;
  spec.name = graph.unique_name("not_taken");
  spec.op = &kFakeParam;
  spec.attrs = {AttrValue(info.dtype), AttrValue(info.shape)};
  spec.outputs = {info};
  return {graph.add(std::move(spec)), 0};
}

}  // namespace

ReadyBranches make_branches_ready(std::span<const FunctionRef> functions) {
  ReadyBranches result;
  const size_t outputs = functions[0].body->output_types().size();
  std::vector<std::shared_ptr<FunctionGradient>> gradients;
  std::vector<std::vector<OutputInfo>> extras;  // by branch: the outputs that were added
  for (const FunctionRef& function : functions) {
    gradients.push_back(concrete_of(*graph_function(function))->gradient(false));
    const auto& parts = gradients.back()->forward->parts();
    extras.emplace_back();
    for (size_t k = outputs; k < parts.outputs.size(); ++k) extras.back().push_back(parts.graph.info(parts.outputs[k]));
    result.extras.insert(result.extras.end(), extras.back().begin(), extras.back().end());
  }
  size_t first_extra = outputs;
  for (size_t b = 0; b < functions.size(); ++b) {
    const auto& parts = gradients[b]->forward->parts();
    const auto own = parts.outputs.begin() + static_cast<std::ptrdiff_t>(outputs);
    Graph branch = parts.graph;
    Endpoints endpoints{.inputs = parts.inputs, .outputs = {parts.outputs.begin(), own}, .effects = parts.effects};
    for (size_t other = 0; other < functions.size(); ++other) {
      if (other == b) {
        endpoints.outputs.insert(endpoints.outputs.end(), own, parts.outputs.end());
      } else {
        for (const OutputInfo& info : extras[other]) endpoints.outputs.push_back(add_fake(branch, info));
      }
    }
    auto note = std::make_shared<ReadyFunction>();
    note->gradient = gradients[b];
    note->inputs = parts.inputs.size();
    note->outputs = outputs;
    note->previous = note_of(functions[b]);
    for (const FunctionGradient::Kept& kept : gradients[b]->kept) {
      const auto k = static_cast<size_t>(kept.index);
      note->kept.push_back(kept.argument ? kept.index : ~static_cast<int>(k < outputs ? k : first_extra + k - outputs));
    }
    first_extra += extras[b].size();
    auto made = std::make_shared<GraphFunction>(functions[b].name, std::move(branch), std::move(endpoints));
    made->set_note(std::move(note), functions[b].body->gradient_orders() + 1);
    result.functions.push_back({.name = made->name(), .body = made});
  }
  return result;
}

Tensor spelled_shape(const PartialShape& shape) {
  if (shape.rank() < 0) return tensor(-1);
  std::vector<int32_t> dims;
  for (const int64_t d : shape.dims()) dims.push_back(static_cast<int32_t>(d));
  return tensor(dims);
}

}  // namespace panto
