#include "panto/trace/control/function_gradients.h"

#include <algorithm>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/graph/nodes.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/control.h"
#include "panto/ops/math.h"
#include "panto/trace/concrete_gradient.h"
#include "panto/trace/control/ready_function.h"
#include "panto/trace/control/record.h"
#include "panto/trace/control/traced_body.h"

namespace panto {
namespace {

std::vector<FunctionRef> branches_of_node(const Node& node) {
  if (node.is(OpKind::kCase)) return node.attr("branches").as<std::vector<FunctionRef>>();
  return {node.attr("then_branch").as<FunctionRef>(), node.attr("else_branch").as<FunctionRef>()};
}

std::vector<DType> dtypes_of(std::span<const OutputInfo> infos) {
  std::vector<DType> types;
  for (const OutputInfo& info : infos) types.push_back(info.dtype);
  return types;
}

void make_branches_ready(Graph& graph, int id) {
  const Node& node = graph.at(id);
  ReadyBranches ready = make_branches_ready(branches_of_node(node));
  std::vector<OutputInfo> inputs, outputs(node.outputs().begin(), node.outputs().end());
  for (int i = 1; i < node.num_inputs(); ++i) inputs.push_back(graph.info(node.input(i)));
  outputs.insert(outputs.end(), ready.extras.begin(), ready.extras.end());
  std::vector<AttrValue> attrs = branches_attrs(node.op(), graph.info(node.input(0)).dtype, dtypes_of(inputs),
                                                dtypes_of(outputs), std::move(ready.functions));
  replace_node(graph, id, node.op(), {node.inputs().begin(), node.inputs().end()}, std::move(attrs),
               std::move(outputs));
}

// The gradients of the outputs that the function had before it was made ready.
std::vector<Tensor> output_gradients(const GradContext& g, const ReadyFunction& ready) {
  std::vector<Tensor> dys(ready.gradient->recorded);
  for (size_t k = 0; k < dys.size(); ++k) dys[k] = g.dy(static_cast<int>(k));
  return dys;
}

}  // namespace

bool is_ready_for_gradients(const Graph& graph, int id, std::span<const NodeOutput> ys) {
  const Node& node = graph.at(id);
  const FunctionRef function =
      node.is(OpKind::kLoop) ? node.attr("body").as<FunctionRef>() : branches_of_node(node).front();
  const ReadyFunction* ready = find_ready_info(function);
  if (ready == nullptr) return false;
  const auto is_new = [&](int output) { return output >= static_cast<int>(ready->outputs); };
  return std::ranges::none_of(
             node.consumers(),
             [&](const NodeUse& use) { return use.slot != NodeUse::kControl && is_new(use.output); }) &&
         std::ranges::none_of(ys, [&](NodeOutput y) { return y.node == id && is_new(y.index); });
}

void make_ready_for_gradients(Graph& graph, int id) {
  if (graph.at(id).is(OpKind::kLoop)) return make_loop_ready(graph, id);
  make_branches_ready(graph, id);
}

void branches_gradient(GradContext& g) {
  const std::vector<FunctionRef> functions = branches_of(g);
  std::vector<const ReadyFunction*> branches;
  for (const FunctionRef& function : functions) branches.push_back(&ready_info(function, g));
  const size_t inputs = branches[0]->inputs;
  std::vector<uint8_t> needed(inputs, 0);
  for (size_t i = 0; i < inputs; ++i) needed[i] = g.needs(static_cast<int>(i) + 1) ? 1 : 0;
  std::vector<int> zeros_too;                         // outputs
  std::vector<DType> given(inputs, DType::kInvalid);  // dtype of the input's gradient, if a branch has one
  std::vector<Tensor> dys = output_gradients(g, *branches[0]);
  for (const ReadyFunction* branch : branches) {
    const std::shared_ptr<const FunctionGradient::Part> part = branch->gradient->part(needed, dys);
    // The part may need gradients of more outputs than were given; use zeros for these.
    for (const int source : part->sources) {
      if (source < 0 && !dys[static_cast<size_t>(~source)].defined()) zeros_too.push_back(~source);
    }
    for (size_t i = 0; i < inputs; ++i) {
      if (part->results[i] >= 0) given[i] = gradient_type(*part, i);
    }
  }
  for (const int k : zeros_too) dys[static_cast<size_t>(k)] = zeros_like(g.out(k));
  if (std::ranges::all_of(given, [](DType t) { return t == DType::kInvalid; })) return;
  std::vector<TracedBody> bodies;
  for (const ReadyFunction* branch : branches) {
    bodies.push_back(trace_body("gradient", {}, [&](std::span<const Tensor>) {
      std::vector<Tensor> kept;
      for (const int k : branch->kept) kept.push_back(k >= 0 ? g.in(k + 1) : g.out(~k));
      std::vector<Tensor> dxs = inputs_gradients(*branch, kept, dys, needed);
      std::vector<Tensor> results;
      for (size_t i = 0; i < inputs; ++i) {
        if (given[i] == DType::kInvalid) continue;
        results.push_back(dxs[i].defined() ? std::move(dxs[i]) : zeros_for(g.in(static_cast<int>(i) + 1), given[i]));
      }
      return results;
    }));
  }
  std::vector<Tensor> results = call_branches(g.in(0), g.op().is(OpKind::kCase), std::move(bodies));
  size_t next = 0;
  for (size_t i = 0; i < inputs; ++i) {
    if (given[i] != DType::kInvalid) g.set(static_cast<int>(i) + 1, std::move(results[next++]));
  }
}

}  // namespace panto
