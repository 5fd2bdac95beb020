// Method: a loop that is made ready counts its rounds, and pushes the values that the gradient of a round will read to
// lists, one element per round. Its gradient is a loop that counts down and pops them, last one first.
#include <algorithm>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/nodes.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/lists.h"
#include "panto/ops/math.h"
#include "panto/trace/control/function_gradients.h"
#include "panto/trace/control/ready_function.h"
#include "panto/trace/control/record.h"
#include "panto/trace/control/traced_body.h"

namespace panto {
namespace {

const OutputInfo kScalarCount{kInt32, PartialShape(Shape())};
const OutputInfo kScalarList{kVariant, PartialShape(Shape())};

std::vector<Tensor> inline_function(const ConcreteFunction& function, std::span<const Tensor> inputs) {
  std::vector<Tensor> outputs(function.num_outputs());
  function.inline_call(dispatch::pointers_to(inputs), outputs);
  return outputs;
}

NodeOutput add_const(Graph& graph, const std::string& name, const Tensor& value) {
  return {graph.add(const_spec(graph.unique_name(name), value)), 0};
}

NodeOutput add_empty_list(Graph& graph, const std::string& scope, const OutputInfo& element) {
  NodeSpec spec;
  spec.inputs = {add_const(graph, scope + "/element_shape", spelled_shape(element.shape)),
                 add_const(graph, scope + "/max_num_elements", tensor(-1))};
  spec.name = graph.unique_name(scope + "/EmptyTensorList");
  spec.op = &kEmptyTensorList;
  spec.attrs = {AttrValue(element.dtype), AttrValue(kInt32)};
  spec.outputs = {{kVariant, PartialShape(Shape())}};
  return {graph.add(std::move(spec)), 0};
}

// Which values the body passes on unchanged.
std::vector<uint8_t> unchanged(const GraphFunction& body) {
  std::vector<uint8_t> same;
  const Endpoints& endpoints = body.endpoints();
  for (size_t i = 0; i < endpoints.outputs.size(); ++i) {
    NodeOutput output = endpoints.outputs[i];
    while (body.graph().at(output.node).has(Trait::kIdentity)) {
      output = body.graph().at(output.node).input(output.index);
    }
    same.push_back(output == endpoints.inputs[i] ? 1 : 0);
  }
  return same;
}

// A symbolic tensor of this type and shape.
Tensor like(const OutputInfo& info) { return meta_tensor(info.dtype, info.shape); }

// Whether value k after a round depends on value i before it.
bool makes(const FunctionGradient& gradient, size_t i, size_t k) {
  return ((gradient.ways[k][i / 64] >> (i % 64)) & 1) != 0;
}

// Values whose gradient is asked for, or leads to one that is, possibly over several rounds.
// `count`: the number of the loop's values; for higher orders a round records further, inner values.
std::vector<uint8_t> on_the_way(const FunctionGradient& gradient, const GradContext& g, size_t count) {
  std::vector<uint8_t> wanted(count, 0);
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = g.needs(static_cast<int>(i)) ? 1 : 0;
  for (bool more = true; more;) {
    more = false;
    for (size_t k = 0; k < wanted.size(); ++k) {
      for (size_t i = 0; wanted[k] == 0 && i < wanted.size(); ++i) {
        if (wanted[i] == 0 || !makes(gradient, i, k)) continue;
        wanted[k] = 1;
        more = true;
      }
    }
  }
  return wanted;
}

// If a gradient flows into value k, it also flows into the wanted values that k is computed from in a round.
void spread(const FunctionGradient& gradient, const GradContext& g, std::span<const uint8_t> wanted,
            std::vector<uint8_t>& flows) {
  for (bool more = true; more;) {
    more = false;
    for (size_t k = 0; k < flows.size(); ++k) {
      for (size_t i = 0; flows[k] != 0 && i < flows.size(); ++i) {
        if (flows[i] != 0 || wanted[i] == 0 || !makes(gradient, i, k)) continue;
        if (g.in_type(static_cast<int>(i)) == kResource) continue;
        flows[i] = 1;
        more = true;
      }
    }
  }
}

}  // namespace

ReadyLoop make_loop_ready(const FunctionRef& condition, const FunctionRef& body, std::span<const OutputInfo> infos) {
  const std::shared_ptr<const GraphFunction> before = graph_function(body);
  const std::shared_ptr<FunctionGradient> gradient = concrete_of(*before)->gradient(false);
  const ConcreteFunction& forward = *gradient->forward;
  const std::vector<uint8_t> same = unchanged(*before);
  const size_t count = infos.size();
  ReadyLoop result;
  auto note = std::make_shared<ReadyFunction>();
  note->gradient = gradient;
  note->inputs = note->outputs = count;
  note->previous = std::static_pointer_cast<const ReadyFunction>(before->note());
  std::vector<FunctionGradient::Kept> listed;  // a list for each
  for (const FunctionGradient::Kept& kept : gradient->kept) {
    const auto k = static_cast<size_t>(kept.index);
    if (kept.argument && same[k] != 0) {
      note->kept.push_back(kept.index);
      continue;
    }
    note->kept.push_back(~static_cast<int>(count + 1 + listed.size()));
    listed.push_back(kept);
    const auto& parts = forward.parts();
    result.elements.push_back(kept.argument ? infos[k] : parts.graph.info(parts.outputs[k]));
  }

  // The loop's values, then the number of rounds, then the lists.
  std::vector<Tensor> values;
  for (const OutputInfo& info : infos) values.push_back(like(info));
  values.push_back(like(kScalarCount));
  for (size_t i = 0; i < listed.size(); ++i) values.push_back(like(kScalarList));
  TracedBody round = trace_body(body.name, values, [&](std::span<const Tensor> in) {
    const std::vector<Tensor> made = inline_function(forward, in.first(count));
    std::vector<Tensor> next(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(count));
    next.push_back(in[count] + 1);
    for (size_t i = 0; i < listed.size(); ++i) {
      const auto k = static_cast<size_t>(listed[i].index);
      next.push_back(tensor_list_push_back(in[count + 1 + i], listed[i].argument ? in[k] : made[k]));
    }
    return next;
  });
  TracedBody goes_on = trace_body(condition.name, values, [&](std::span<const Tensor> in) {
    return inline_function(*concrete_of(*graph_function(condition)), in.first(count));
  });
  auto made = std::make_shared<GraphFunction>(round.name, std::move(round.graph), std::move(round.endpoints));
  made->set_note(std::move(note), before->gradient_orders() + 1);
  result.body = {.name = made->name(), .body = made};
  const std::shared_ptr<const GraphFunction> made_condition = function_of(std::move(goes_on));
  result.condition = {.name = made_condition->name(), .body = made_condition};
  return result;
}

void make_loop_ready(Graph& graph, int id) {
  std::vector<OutputInfo> infos(graph.at(id).outputs().begin(), graph.at(id).outputs().end());
  const FunctionRef condition = graph.at(id).attr("cond").as<FunctionRef>();
  const FunctionRef body = graph.at(id).attr("body").as<FunctionRef>();
  ReadyLoop ready = make_loop_ready(condition, body, infos);
  const std::string scope = graph.at(id).name();
  std::vector<NodeOutput> inputs(graph.at(id).inputs().begin(), graph.at(id).inputs().end());
  inputs.push_back(add_const(graph, scope + "/rounds", tensor(0)));
  infos.push_back(kScalarCount);
  for (const OutputInfo& element : ready.elements) {
    inputs.push_back(add_empty_list(graph, scope, element));
    infos.push_back(kScalarList);
  }
  std::vector<DType> types;
  for (const OutputInfo& info : infos) types.push_back(info.dtype);
  const Node& node = graph.at(id);
  std::vector<AttrValue> attrs = loop_attrs(node.op(), types, std::move(ready.condition), std::move(ready.body),
                                            node.attr("parallel_iterations").as<int64_t>());
  replace_node(graph, id, node.op(), std::move(inputs), std::move(attrs), std::move(infos));
}

void loop_gradient(GradContext& g) {
  const ReadyFunction& ready = ready_info(g.function("body"), g);
  const FunctionGradient& gradient = *ready.gradient;
  const size_t count = ready.outputs;

  // `flows`: values with a nonzero gradient: those with an output gradient, and the values that they are computed from
  // in a round. Unwanted values are left out; these are typically slices of data.
  const std::vector<uint8_t> wanted = on_the_way(gradient, g, count);
  std::vector<uint8_t> flows(count, 0);
  for (size_t k = 0; k < count; ++k) flows[k] = wanted[k] != 0 && g.has_dy(static_cast<int>(k)) ? 1 : 0;
  // Gradients of variables that a round reads are summed over the rounds.
  std::vector<Tensor> seeds(gradient.recorded);
  std::vector<uint8_t> needed(count, 0);
  std::shared_ptr<const FunctionGradient::Part> part;
  for (bool more = true; more;) {
    spread(gradient, g, wanted, flows);
    for (size_t i = 0; i < count; ++i) {
      const int at = static_cast<int>(i);
      needed[i] = flows[i] != 0 || (g.in_type(at) == kResource && g.needs(at)) ? 1 : 0;
      if (flows[i] != 0 && !seeds[i].defined()) seeds[i] = g.has_dy(at) ? g.dy(at) : zeros_like(g.out(at));
    }
    part = ready.gradient->part(needed, seeds);
    // The part may need gradients of more values; then these flow, too.
    more = false;
    for (const int source : part->sources) {
      if (source >= 0 || flows[static_cast<size_t>(~source)] != 0) continue;
      flows[static_cast<size_t>(~source)] = 1;
      more = true;
    }
  }
  std::vector<size_t> summed;
  std::vector<DType> sum_types;
  for (size_t i = 0; i < count && part->function != nullptr; ++i) {
    if (g.in_type(static_cast<int>(i)) != kResource || needed[i] == 0 || part->results[i] < 0) continue;
    summed.push_back(i);
    sum_types.push_back(gradient_type(*part, i));
  }

  // Values of the gradient loop: the number of rounds left, gradients of values, sums, lists.
  std::vector<Tensor> values = {g.out(static_cast<int>(count))};
  std::vector<size_t> flowing;
  for (size_t i = 0; i < count; ++i) {
    if (flows[i] == 0) continue;
    flowing.push_back(i);
    values.push_back(seeds[i]);
  }
  for (size_t s = 0; s < summed.size(); ++s) {
    values.push_back(zeros_for(g.in(static_cast<int>(summed[s])), sum_types[s]));
  }
  const size_t first_list = values.size();
  for (const int k : ready.kept) {
    if (k < 0) values.push_back(g.out(~k));
  }
  const auto& parts = gradient.forward->parts();
  const auto element_info = [&](size_t i) {
    const FunctionGradient::Kept& kept = gradient.kept[i];
    return parts.graph.info(kept.argument ? parts.inputs[static_cast<size_t>(kept.index)]
                                          : parts.outputs[static_cast<size_t>(kept.index)]);
  };
  TracedBody goes_on =
      trace_body("cond", values, [](std::span<const Tensor> in) { return std::vector<Tensor>{in[0] > 0}; });
  TracedBody round = trace_body("gradient", values, [&](std::span<const Tensor> in) {
    std::vector<Tensor> kept, lists;
    for (size_t i = 0; i < ready.kept.size(); ++i) {
      if (ready.kept[i] >= 0) {
        kept.push_back(g.in(ready.kept[i]));
        continue;
      }
      const OutputInfo info = element_info(i);
      auto [rest, value] = tensor_list_pop_back(in[first_list + lists.size()], spelled_shape(info.shape), info.dtype);
      kept.push_back(value);
      lists.push_back(rest);
    }
    std::vector<Tensor> dys(gradient.recorded);
    for (size_t f = 0; f < flowing.size(); ++f) dys[flowing[f]] = in[1 + f];
    const std::vector<Tensor> dxs = inputs_gradients(ready, kept, dys, needed);
    std::vector<Tensor> next = {in[0] - 1};
    for (size_t f = 0; f < flowing.size(); ++f) {
      const Tensor& dx = dxs[flowing[f]];
      next.push_back(dx.defined() ? dx : zeros_like(in[1 + f]));
    }
    for (size_t s = 0; s < summed.size(); ++s) next.push_back(in[1 + flowing.size() + s] + dxs[summed[s]]);
    next.insert(next.end(), lists.begin(), lists.end());
    return next;
  });
  const std::vector<Tensor> results =
      call_loop(values, std::move(goes_on), std::move(round), g.integer("parallel_iterations"));
  for (size_t f = 0; f < flowing.size(); ++f) {
    if (g.needs(static_cast<int>(flowing[f]))) g.set(static_cast<int>(flowing[f]), results[1 + f]);
  }
  for (size_t s = 0; s < summed.size(); ++s) {
    g.set(static_cast<int>(summed[s]), results[1 + flowing.size() + s]);
  }
}

}  // namespace panto
