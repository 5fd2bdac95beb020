#include "panto/trace/control/function_gradients.h"

#include <algorithm>
#include <utility>

#include "panto/lib/base/format.h"
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

std::vector<FunctionRef> branches_of(const Node& node) {
  if (node.is(OpKind::kCase)) return node.attr("branches").as<std::vector<FunctionRef>>();
  return {node.attr("then_branch").as<FunctionRef>(), node.attr("else_branch").as<FunctionRef>()};
}

std::vector<FunctionRef> branches_of(const GradContext& g) {
  if (g.op().is(OpKind::kCase)) return {g.functions("branches").begin(), g.functions("branches").end()};
  return {g.function("then_branch"), g.function("else_branch")};
}

std::vector<OutputInfo> infos_of(const Graph& graph, std::span<const NodeOutput> outputs) {
  std::vector<OutputInfo> infos;
  for (NodeOutput o : outputs) infos.push_back(graph.info(o));
  return infos;
}

std::vector<DType> dtypes_of(std::span<const OutputInfo> infos) {
  std::vector<DType> types;
  for (const OutputInfo& info : infos) types.push_back(info.dtype);
  return types;
}

// Stands for a value of a branch that was not taken.
NodeOutput add_fake(Graph& graph, const OutputInfo& info) {
  NodeSpec spec;
  spec.name = graph.unique_name("not_taken");
  spec.op = &kFakeParam;
  spec.attrs = {AttrValue(info.dtype), AttrValue(info.shape)};
  spec.outputs = {info};
  return {graph.add(std::move(spec)), 0};
}

void make_branches_ready(Graph& graph, int id) {
  const Node& node = graph.at(id);
  const std::vector<FunctionRef> functions = branches_of(node);
  const auto outputs = static_cast<size_t>(node.num_outputs());
  std::vector<OutputInfo> infos(node.outputs().begin(), node.outputs().end());
  std::vector<std::shared_ptr<Gradient>> gradients;
  std::vector<std::vector<OutputInfo>> extras;  // by branch: what it gives besides
  for (const FunctionRef& function : functions) {
    gradients.push_back(concrete_of(*graph_function(function))->gradient(false));
    const auto& parts = gradients.back()->forward->parts();
    extras.push_back(infos_of(parts.graph, std::span(parts.outputs).subspan(outputs)));
    infos.insert(infos.end(), extras.back().begin(), extras.back().end());
  }
  std::vector<FunctionRef> ready_functions;
  size_t first_extra = outputs;
  for (size_t b = 0; b < functions.size(); ++b) {
    const auto& parts = gradients[b]->forward->parts();
    Graph branch = parts.graph;
    Endpoints endpoints{.inputs = parts.inputs, .outputs = {}, .effects = parts.effects};
    endpoints.outputs.assign(parts.outputs.begin(), parts.outputs.begin() + static_cast<std::ptrdiff_t>(outputs));
    for (size_t other = 0; other < functions.size(); ++other) {
      if (other == b) {
        endpoints.outputs.insert(endpoints.outputs.end(), parts.outputs.begin() + static_cast<std::ptrdiff_t>(outputs),
                                 parts.outputs.end());
      } else {
        for (const OutputInfo& info : extras[other]) endpoints.outputs.push_back(add_fake(branch, info));
      }
    }
    auto note = std::make_shared<ReadyFunction>();
    note->gradient = gradients[b];
    note->inputs = parts.inputs.size();
    note->outputs = outputs;
    for (const Gradient::Kept& kept : gradients[b]->kept) {
      if (kept.argument) {
        note->kept.push_back(kept.index);
      } else {
        const auto k = static_cast<size_t>(kept.index);
        note->kept.push_back(~static_cast<int>(k < outputs ? k : first_extra + k - outputs));
      }
    }
    first_extra += extras[b].size();
    auto made =
        std::make_shared<GraphFunction>(functions[b].name + "_forward", std::move(branch), std::move(endpoints));
    made->set_note(std::move(note));
    ready_functions.push_back({made->name(), made});
  }
  std::vector<OutputInfo> inputs;
  for (int i = 1; i < node.num_inputs(); ++i) inputs.push_back(graph.info(node.input(i)));
  std::vector<AttrValue> attrs = branches_attrs(node.op(), graph.info(node.input(0)).dtype, dtypes_of(inputs),
                                                dtypes_of(infos), std::move(ready_functions));
  replace_node(graph, id, node.op(), {node.inputs().begin(), node.inputs().end()}, std::move(attrs), std::move(infos));
}

// Of the outputs that the tape asks about, those of the function: a ready one is asked for nothing else.
std::vector<Tensor> output_gradients(const GradContext& g, const ReadyFunction& ready) {
  std::vector<Tensor> dys(ready.gradient->recorded);
  for (size_t k = 0; k < dys.size(); ++k) dys[k] = g.dy(static_cast<int>(k));
  for (int k = static_cast<int>(dys.size()); k < g.num_outputs(); ++k) {
    if (g.has_dy(k)) fail(Code::kInternal, "gradient: expected none of what a branch keeps, got one");
  }
  return dys;
}

}  // namespace

bool is_ready_for_gradients(const Graph& graph, int id, std::span<const NodeOutput> ys) {
  const Node& node = graph.at(id);
  const FunctionRef& function =
      node.is(OpKind::kLoop) ? node.attr("body").as<FunctionRef>() : branches_of(node).front();
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
  for (const FunctionRef& function : functions) branches.push_back(&ready_info(function));
  const size_t inputs = branches[0]->inputs;
  std::vector<uint8_t> needed(inputs, 0);
  for (size_t i = 0; i < inputs; ++i) needed[i] = g.needs(static_cast<int>(i) + 1) ? 1 : 0;
  std::vector<int> zeros_too;                         // outputs
  std::vector<DType> given(inputs, DType::kInvalid);  // the gradient's, where a branch has one
  std::vector<Tensor> dys = output_gradients(g, *branches[0]);
  for (const ReadyFunction* branch : branches) {
    const std::shared_ptr<const Gradient::Part> part = branch->gradient->part(needed, dys);
    // It may have been made for more outputs than are asked about.
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
