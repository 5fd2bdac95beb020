// What ops that call functions need of traces and tapes: lib knows the interface only.
#include <algorithm>

#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/op/function_body.h"
#include "panto/lib/graph/graph_function.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/tangents.h"
#include "panto/lib/runtime/control/depth.h"
#include "panto/trace/concrete.h"
#include "panto/trace/control/function_gradients.h"
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
    ConcreteFunction& concrete = *concrete_of(function);
    const bool symbolic =
        symbolic_recorder() != nullptr || std::ranges::any_of(inputs, [](const Tensor* t) { return t->is_meta(); });
    if (symbolic) return concrete.inline_checked(inputs, outputs);
    concrete.call(inputs, "", outputs);
  }
  void cond_gradient(GradContext& g) const override { branches_gradient(g); }
  void loop_gradient(GradContext& g) const override { panto::loop_gradient(g); }
  void batch(BatchContext& c) const override { c.op().is(OpKind::kLoop) ? batch_loop(c) : batch_branches(c); }
  void jvp(JvpContext& c) const override { c.op().is(OpKind::kLoop) ? jvp_loop(c) : jvp_branches(c); }
};

const struct Entered {
  Entered() noexcept {
    static const Runtime runtime;
    FunctionRuntime::enter(&runtime);
  }
} entered;

}  // namespace
}  // namespace panto
