#include "panto/lib/runtime/passes/fold_calls.h"

#include <algorithm>
#include <utility>

#include "panto/lib/core/op/function_body.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/graph/functions/replay.h"
#include "panto/lib/graph/infer.h"
#include "panto/lib/ops/control/control.h"
#include "panto/lib/runtime/passes/rules.h"

namespace panto::passes {

namespace {

constexpr int kMostDepth = 8;  // of functions that call functions

using Inputs = std::span<const Tensor* const>;

class CallFolder {
 public:
  explicit CallFolder(const FoldingBudget& budget) : left_(budget) {}

  std::vector<Tensor> run(const Node& node, Inputs inputs) {
    if (node.is(OpKind::kLoop)) return run_loop(node, inputs);
    if (!pay_functions(node, inputs, 0)) return {};
    const dispatch::Outputs outputs = call_node(node, inputs, &cpu_device());
    return {outputs.begin(), outputs.end()};
  }

 private:
  std::vector<Tensor> run_loop(const Node& loop, Inputs inputs) {
    const std::shared_ptr<const GraphFunction> condition = known(loop.attr("cond").as<FunctionRef>());
    const std::shared_ptr<const GraphFunction> body = known(loop.attr("body").as<FunctionRef>());
    if (condition == nullptr || body == nullptr) return {};
    std::vector<Tensor> values;
    for (const Tensor* input : inputs) values.push_back(*input);
    while (true) {
      if (!pay(*condition, dispatch::pointers_to(values), 0)) return {};
      if (!detail::is_true(call(*condition, values).at(0))) return values;
      if (left_.rounds-- == 0 || !pay(*body, dispatch::pointers_to(values), 0)) return {};
      values = call(*body, values);
    }
  }

  static std::shared_ptr<const GraphFunction> known(const FunctionRef& reference) {
    return std::dynamic_pointer_cast<const GraphFunction>(reference.body);
  }

  static std::vector<Tensor> call(const GraphFunction& function, const std::vector<Tensor>& inputs) {
    std::vector<Tensor> outputs(function.output_types().size());
    FunctionRuntime::get().call(function, dispatch::pointers_to(inputs), outputs);
    return outputs;
  }

  // Charges a call to the remaining budget; returns whether the budget suffices. All branches of a conditional are
  // charged.
  bool pay(const GraphFunction& function, Inputs inputs, int depth) {
    if (depth == kMostDepth) return false;
    function.check_inputs(inputs);
    Inference inference(function.graph());
    for (size_t i = 0; i < inputs.size(); ++i) inference.set(function.endpoints().inputs[i], *inputs[i]);
    for (const int id : function.needed()) {
      const Node& node = function.graph().at(id);
      inference.run(node);
      if (!node.is(OpKind::kPlaceholder) && !pay(node, inference, depth)) return false;
    }
    return true;
  }

  bool pay(const Node& node, const Inference& inference, int depth) {
    if (!node.op().is_pure() || node.is(OpKind::kLoop) || --left_.calls < 0) return false;
    std::vector<const Tensor*> inputs;
    for (const NodeOutput& input : node.inputs()) inputs.push_back(&inference.at(input));
    int64_t made = 0;
    for (const OutputInfo& output : inference.infos(node)) {
      const int64_t bytes = bytes_of(output);
      if (bytes > left_.bytes) return false;
      made += output.shape.numel();
    }
    if (calls_functions(node.op())) return pay_functions(node, inputs, depth + 1);
    const int64_t said = flops(node, inputs);
    left_.operations -= std::min(std::max(made, said), left_.operations + 1);
    return left_.operations >= 0;
  }

  bool pay_functions(const Node& node, Inputs inputs, int depth) {
    const Inputs given = inputs.subspan(node.is(OpKind::kCall) ? 0 : 1);
    bool within = true;
    for_each_function(node, [&](const FunctionRef& reference) {
      const std::shared_ptr<const GraphFunction> function = known(reference);
      within = within && function != nullptr && pay(*function, given, depth);
    });
    return within;
  }

  FoldingBudget left_;
};

}  // namespace

std::vector<Tensor> fold_call(const Node& node, std::span<const Tensor* const> inputs, const FoldingBudget& budget) {
  return CallFolder(budget).run(node, inputs);
}

}  // namespace panto::passes
