// Implements FunctionRuntime, the interface through which ops in lib that call functions use traces and tapes.
#include <algorithm>

#include "panto/autograd/tape.h"
#include "panto/autograd/transforms/custom_gradient.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/op/function_body.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/control/control.h"
#include "panto/lib/ops/tangents.h"
#include "panto/lib/runtime/control/depth.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/trace/concrete.h"
#include "panto/trace/control/function_gradients.h"
#include "panto/trace/control/record.h"
#include "panto/trace/control/transforms.h"

namespace panto {

std::shared_ptr<ConcreteFunction> concrete_of(const GraphFunction& function) {
  return std::static_pointer_cast<ConcreteFunction>(function.companion([&]() -> std::shared_ptr<void> {
    ConcreteFunction::Parts parts;
    parts.graph = function.graph();
    parts.inputs = function.endpoints().inputs;
    parts.outputs = function.endpoints().outputs;
    parts.effects = function.endpoints().effects;
    for (NodeOutput in : parts.inputs) {
      const OutputInfo& info = parts.graph.info(in);
      parts.specs.emplace_back(info.dtype, info.shape, parts.graph.at(in.node).name());
    }
    parts.states = std::make_shared<NodeStates>(NodeStates::Identity::kOrder);
    return std::make_shared<ConcreteFunction>(std::move(parts));
  }));
}

namespace {

class Runtime final : public FunctionRuntime {
 public:
  void call(const FunctionBody& body, std::span<const Tensor* const> inputs, std::span<Tensor> outputs) const override {
    const CallDepth deeper;
    const auto& function = dynamic_cast<const GraphFunction&>(body);
    function.check_inputs(inputs);
    if (!function.gradient().name.empty() && (listening() || any_symbolic(inputs))) {
      return call_with_gradient(function, inputs, outputs);
    }
    call_plainly(function, inputs, outputs);
  }

  void gradient(const FunctionBody& body, std::span<const Tensor* const> inputs,
                std::span<const Tensor* const> output_gradients, std::span<Tensor> outputs) const override {
    const auto& function = dynamic_cast<const GraphFunction&>(body);
    function.check_inputs(inputs);
    if (!function.gradient().name.empty()) {
      const std::vector<Tensor> dxs = gradients_by_file(function, tensors(inputs), tensors(output_gradients));
      std::ranges::copy(dxs, outputs.begin());
      return;
    }
    GradientTape tape({.watch_variables = false, .unconnected_zero = true});
    std::vector<Tensor> own;  // separate tensors, as one tensor may be passed as two inputs
    std::vector<GradSource> sources;
    std::vector<size_t> positions;
    for (size_t i = 0; i < inputs.size(); ++i) {
      own.push_back(differentiable(*inputs[i]) ? identity(*inputs[i]) : *inputs[i]);
      if (!differentiable(own[i])) continue;
      tape.watch(own[i]);
      sources.emplace_back(own[i]);
      positions.push_back(i);
    }
    std::vector<Tensor> results(function.output_types().size());
    call(body, dispatch::pointers_to(own), results);
    std::vector<Tensor> targets, seeds;
    for (size_t k = 0; k < results.size(); ++k) {
      if (!differentiable(results[k])) continue;
      targets.push_back(results[k]);
      seeds.push_back(*output_gradients[k]);
    }
    const std::vector<Tensor> dxs = tape.gradients(targets, sources, seeds);
    for (size_t i = 0; i < dxs.size(); ++i) outputs[positions[i]] = dxs[i];
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].defined()) outputs[i] = zeros_like(*inputs[i]);
    }
  }
  void cond_gradient(GradContext& g) const override { branches_gradient(g); }
  void loop_gradient(GradContext& g) const override { panto::loop_gradient(g); }
  std::vector<Tensor> call_for_gradients(CompositeContext& c) const override { return panto::call_for_gradients(c); }
  void batch(BatchContext& c) const override { c.op().is(OpKind::kLoop) ? batch_loop(c) : batch_branches(c); }
  void jvp(JvpContext& c) const override { c.op().is(OpKind::kLoop) ? jvp_loop(c) : jvp_branches(c); }

 private:
  static std::vector<Tensor> tensors(std::span<const Tensor* const> pointers) {
    std::vector<Tensor> all;
    for (const Tensor* t : pointers) all.push_back(*t);
    return all;
  }
  static bool any_symbolic(std::span<const Tensor* const> inputs) {
    return std::ranges::any_of(inputs, [](const Tensor* t) { return t->is_meta(); });
  }
  static bool listening() { return !recorders().empty(); }

  // Calls the gradient function that the file names for this function.
  static std::vector<Tensor> gradients_by_file(const GraphFunction& function, const std::vector<Tensor>& inputs,
                                               const std::vector<Tensor>& dys) {
    const std::shared_ptr<const GraphFunction> gradient = graph_function(function.gradient());
    std::vector<Tensor> all = inputs;
    all.insert(all.end(), dys.begin(), dys.end());
    detail::expect_outputs(*gradient, function.input_types(), "the gradient function");
    std::vector<Tensor> dxs(inputs.size());
    FunctionRuntime::get().call(*gradient, dispatch::pointers_to(all), dxs);
    return dxs;
  }

  static void call_with_gradient(const GraphFunction& function, std::span<const Tensor* const> inputs,
                                 std::span<Tensor> outputs) {
    const std::shared_ptr<const GraphFunction> keep =
        std::static_pointer_cast<const GraphFunction>(function.shared_from_this());
    const detail::TensorsFunction forward = [&](const detail::Tensors& args) {
      detail::Tensors results(outputs.size());
      call_plainly(function, dispatch::pointers_to(args), results);
      return results;
    };
    const detail::PullbackFunction pullback = [keep](const detail::Tensors& args, const detail::Tensors&,
                                                     const detail::Tensors& dys) {
      detail::Tensors dxs = gradients_by_file(*keep, args, dys);
      for (size_t i = 0; i < dxs.size(); ++i) {
        if (!differentiable(args[i])) dxs[i] = Tensor();
      }
      return dxs;
    };
    const detail::Tensors results = detail::custom_gradient_call(forward, tensors(inputs), pullback);
    std::ranges::copy(results, outputs.begin());
  }

  static void call_plainly(const GraphFunction& function, std::span<const Tensor* const> inputs,
                           std::span<Tensor> outputs) {
    ConcreteFunction& concrete = *concrete_of(function);
    const bool symbolic = symbolic_recorder() != nullptr || any_symbolic(inputs);
    if (symbolic) return concrete.inline_checked(inputs, outputs);
    concrete.call(inputs, "", outputs);
  }
};

const struct Entered {
  Entered() noexcept {
    static const Runtime runtime;
    FunctionRuntime::enter(&runtime);
  }
} entered;

}  // namespace
}  // namespace panto
