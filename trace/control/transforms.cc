// vmap and jvp of conditionals and loops, by transforming the functions that they call.
#include "panto/trace/control/transforms.h"

#include <algorithm>
#include <utility>

#include "panto/autograd/transforms/function.h"
#include "panto/autograd/transforms/jvp.h"
#include "panto/autograd/transforms/vmap.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/control/control.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/trace/control/control_flow.h"
#include "panto/trace/control/record.h"

namespace panto {
namespace {

using detail::BranchFunction;
using detail::RoundFunction;
using detail::Tensors;

Tensors call_function(const GraphFunction& function, std::span<const Tensor> inputs) {
  Tensors outputs(function.output_types().size());
  FunctionRuntime::get().call(function, dispatch::pointers_to(inputs), outputs);
  return outputs;
}

// For functions that are called twice, or that would not have been called: throws if they have effects.
void expect_no_effects(const FunctionBody& function, const char* what) {
  constexpr uint8_t kSeen = Effect::kWrites | Effect::kRandom | Effect::kExternal;
  if ((function.effects() & kSeen) == 0) return;
  failf(Code::kUnimplemented, "{}: expected functions without effects, got '{}' that writes, prints or draws numbers",
        what, function.name());
}

// Calls one of the branches: chosen now if the index has a value, else when the graph runs.
Tensors choose(const CallView& c, const Tensor& index, std::span<const BranchFunction> branches) {
  const std::source_location nowhere;
  if (c.op().is(OpKind::kCase)) {
    if (detail::makes_node(index)) return detail::record_case(index, branches, nowhere);
    return branches[detail::branch_index(index, branches.size())]();
  }
  if (detail::makes_node(index)) return detail::record_cond(index, branches[0], branches[1], nowhere);
  return detail::holds(index) ? branches[0]() : branches[1]();
}

void expect_no_numbers_drawn(const FunctionBody& function) {
  if ((function.effects() & Effect::kRandom) == 0) return;
  failf(Code::kUnimplemented, "vmap: expected functions that draw no random numbers, got '{}' (draw them outside)",
        function.name());
}

Tensor as_bool(const Tensor& t) { return t.dtype() == kBool ? t : not_equal(t, zeros_like(t)); }

// Selects by element of the batch: `yes` where the vector `mask` is true, else `no`.
Tensor choose_rows(const Tensor& mask, const Tensor& yes, const Tensor& no) {
  const int rank = yes.partial_shape().rank();
  if (rank < 0) {
    fail(Code::kUnimplemented, "vmap of a condition: expected values of a known number of dimensions, got others");
  }
  std::vector<int64_t> axes;
  for (int i = 1; i < rank; ++i) axes.push_back(i);
  Tensor wide = mask;
  for (const int64_t axis : axes) wide = expand_dims(wide, axis);
  return select(wide, yes, no);
}

void expect_scalar_condition(const PartialShape& shape) {
  if (shape.rank() == 0) return;
  failf(Code::kUnimplemented, "vmap of a condition: expected a scalar for each example, got {}", shape.to_string());
}

// Calls the function on a batch, whose dimension is in front in inputs and outputs.
Tensors batch_call(const GraphFunction& function, std::span<const Tensor> inputs, std::span<const uint8_t> batched,
                   std::span<const uint8_t> out_batched) {
  VmapOptions options;
  options.in_axes.clear();
  options.out_axes.clear();
  for (const uint8_t b : batched) options.in_axes.push_back(b != 0 ? 0 : kNoBatch);
  for (const uint8_t b : out_batched) options.out_axes.push_back(b != 0 ? 0 : kNoBatch);
  const detail::TensorsFunction call = [&](const Tensors& in) { return call_function(function, in); };
  return detail::vmap_call(call, {inputs.begin(), inputs.end()}, std::vector<int64_t>(inputs.size(), 1), options);
}

// result[k][i]: whether output k depends on input i, along any path.
std::vector<std::vector<uint8_t>> dependences(const GraphFunction& function) {
  const Graph& graph = function.graph();
  const size_t inputs = function.endpoints().inputs.size();
  std::vector<std::vector<uint8_t>> of_node(static_cast<size_t>(graph.id_limit()));
  for (size_t i = 0; i < inputs; ++i) {
    auto& bits = of_node[static_cast<size_t>(function.endpoints().inputs[i].node)];
    bits.assign(inputs, 0);
    bits[i] = 1;
  }
  for (int id : function.needed()) {
    auto& bits = of_node[static_cast<size_t>(id)];
    if (!bits.empty()) continue;
    bits.assign(inputs, 0);
    for (NodeOutput in : graph.at(id).inputs()) {
      const auto& from = of_node[static_cast<size_t>(in.node)];
      for (size_t i = 0; i < inputs; ++i) bits[i] |= from[i];
    }
  }
  std::vector<std::vector<uint8_t>> result;
  for (NodeOutput o : function.endpoints().outputs) result.push_back(of_node[static_cast<size_t>(o.node)]);
  return result;
}

// Spreads flags of a loop's values to all values that depend on them over any number of rounds.
void spread(const std::vector<std::vector<uint8_t>>& made_of, std::vector<uint8_t>& flags) {
  for (bool more = true; more;) {
    more = false;
    for (size_t k = 0; k < flags.size(); ++k) {
      for (size_t i = 0; flags[k] == 0 && i < flags.size(); ++i) {
        if (made_of[k][i] == 0 || flags[i] == 0) continue;
        flags[k] = 1;
        more = true;
      }
    }
  }
}

std::vector<Tensor> run_loop(const RoundFunction& condition, const RoundFunction& body, Tensors values,
                             int64_t parallel_iterations) {
  if (detail::makes_node()) {
    return detail::record_while(condition, body, std::move(values), {.parallel_iterations = parallel_iterations},
                                std::source_location());
  }
  while (detail::holds(condition(values)[0])) {
    current_step().throw_if_stopped();
    values = body(values);
  }
  return values;
}

}  // namespace

void batch_branches(BatchContext& c) {
  std::vector<std::shared_ptr<const GraphFunction>> functions;
  for (const FunctionRef& f : branches_of(c)) {
    functions.push_back(graph_function(f));
    expect_no_numbers_drawn(*functions.back());
  }
  std::vector<Tensor> inputs;
  std::vector<uint8_t> batched;
  for (int i = 1; i < c.num_inputs(); ++i) {
    inputs.push_back(c.in(i));
    batched.push_back(c.batched(i) ? 1 : 0);
  }
  const size_t outputs = functions[0]->output_types().size();
  const bool any = std::ranges::find(batched, uint8_t{1}) != batched.end();
  const std::vector<uint8_t> out_batched(outputs, any ? 1 : 0);
  std::vector<BranchFunction> branches;
  for (const auto& function : functions) {
    branches.push_back([&, function]() -> Tensors {
      if (!any) return call_function(*function, inputs);
      return batch_call(*function, inputs, batched, out_batched);
    });
  }
  if (!c.batched(0)) {
    Tensors results = choose(c, c.in(0), branches);
    for (size_t k = 0; k < outputs; ++k) c.set_out(static_cast<int>(k), std::move(results[k]));
    return;
  }
  // Examples choose differently: compute all branches, and select each example's results.
  expect_scalar_condition(c.shape(0));
  for (const auto& function : functions) expect_no_effects(*function, "vmap of a condition that differs by example");
  std::vector<Tensors> all;
  for (const BranchFunction& branch : branches) all.push_back(branch());
  const Tensor size = put_before({1}, shape(c.in(0), {.out_type = kInt64}));
  Tensors results = all.back();
  for (size_t b = all.size() - 1; b-- > 0;) {
    const Tensor mask = c.op().is(OpKind::kCase) ? equal(c.in(0), tensor(static_cast<int32_t>(b))) : as_bool(c.in(0));
    for (size_t k = 0; k < outputs; ++k) {
      const auto with_batch = [&](const Tensor& t) { return any ? t : expand_dims(t, 0); };
      // Values that are the same for all examples have a first dimension of 1 and broadcast.
      results[k] = choose_rows(mask, with_batch(all[b][k]), b + 2 == all.size() ? with_batch(results[k]) : results[k]);
    }
  }
  for (size_t k = 0; k < outputs; ++k) c.set_out(static_cast<int>(k), std::move(results[k]));
}

void batch_loop(BatchContext& c) {
  const std::shared_ptr<const GraphFunction> condition = graph_function(c.function("cond"));
  const std::shared_ptr<const GraphFunction> body = graph_function(c.function("body"));
  expect_no_numbers_drawn(*condition);
  expect_no_numbers_drawn(*body);
  const auto count = static_cast<size_t>(c.num_inputs());
  std::vector<uint8_t> batched;
  for (int i = 0; i < c.num_inputs(); ++i) batched.push_back(c.batched(i) ? 1 : 0);
  const std::vector<std::vector<uint8_t>> made_of = dependences(*body);
  spread(made_of, batched);
  const std::vector<uint8_t> asks = dependences(*condition)[0];
  bool differs = false;  // examples run different numbers of rounds
  for (size_t i = 0; i < count; ++i) differs = differs || (asks[i] != 0 && batched[i] != 0);
  if (differs) {
    expect_no_effects(*body, "vmap of a loop whose length differs by example");
    expect_no_effects(*condition, "vmap of a loop whose length differs by example");
    // Every value that a round changes then differs between examples.
    for (size_t i = 0; i < count; ++i) {
      const bool same = body->endpoints().outputs[i] == body->endpoints().inputs[i];
      if (!same && body->output_types()[i] != kResource) batched[i] = 1;
    }
    spread(made_of, batched);
  }
  Tensors values;
  for (size_t i = 0; i < count; ++i) {
    const int at = static_cast<int>(i);
    values.push_back(batched[i] != 0 && !c.batched(at) ? c.front(at) : c.in(at));
  }
  const bool any = std::ranges::find(batched, uint8_t{1}) != batched.end();
  const auto active = [&](std::span<const Tensor> in) {
    const uint8_t one[] = {1};
    return as_bool(batch_call(*condition, in, batched, one)[0]);
  };
  const RoundFunction goes_on = [&](std::span<const Tensor> in) -> Tensors {
    const uint8_t none[] = {0};
    if (!differs) return any ? batch_call(*condition, in, batched, none) : call_function(*condition, in);
    return {reduce_any(active(in), {0})};
  };
  const RoundFunction round = [&](std::span<const Tensor> in) -> Tensors {
    if (!any) return call_function(*body, in);
    Tensors next = batch_call(*body, in, batched, batched);
    if (!differs) return next;
    const Tensor mask = active(in);
    for (size_t i = 0; i < count; ++i) {
      if (batched[i] != 0) next[i] = choose_rows(mask, next[i], in[i]);
    }
    return next;
  };
  Tensors results = run_loop(goes_on, round, std::move(values), c.integer("parallel_iterations"));
  for (size_t k = 0; k < count; ++k) {
    if (batched[k] != 0) {
      c.set_out(static_cast<int>(k), std::move(results[k]));
    } else {
      c.set_common(static_cast<int>(k), std::move(results[k]));
    }
  }
}

void jvp_branches(JvpContext& c) {
  std::vector<std::shared_ptr<const GraphFunction>> functions;
  for (const FunctionRef& f : branches_of(c)) {
    functions.push_back(graph_function(f));
    expect_no_effects(*functions.back(), "jvp of a condition");
  }
  std::vector<int> moving;  // inputs with a tangent
  Tensors primals, directions;
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (!c.has_tangent(i)) continue;
    moving.push_back(i);
    primals.push_back(c.in(i));
    directions.push_back(c.tangent(i));
  }
  if (moving.empty()) return;
  const std::span<const DType> types = functions[0]->output_types();
  std::vector<BranchFunction> branches;
  for (const auto& function : functions) {
    branches.push_back([&, function]() -> Tensors {
      const detail::TensorsFunction call = [&](const Tensors& in) {
        Tensors all(c.inputs().begin() + 1, c.inputs().end());
        for (size_t m = 0; m < moving.size(); ++m) all[static_cast<size_t>(moving[m] - 1)] = in[m];
        Tensors outputs = call_function(*function, all), kept;
        for (Tensor& t : outputs) {
          if (differentiable(t)) kept.push_back(std::move(t));
        }
        return kept;
      };
      Tensors both = detail::jvp_call(call, primals, directions);
      both.erase(both.begin(), both.begin() + static_cast<std::ptrdiff_t>(both.size() / 2));
      return both;
    });
  }
  Tensors results = choose(c, c.in(0), branches);
  size_t next = 0;
  for (size_t k = 0; k < types.size(); ++k) {
    if (differentiable(types[k])) c.set(static_cast<int>(k), std::move(results[next++]));
  }
}

void jvp_loop(JvpContext& c) {
  const std::shared_ptr<const GraphFunction> condition = graph_function(c.function("cond"));
  const std::shared_ptr<const GraphFunction> body = graph_function(c.function("body"));
  expect_no_effects(*condition, "jvp of a loop");
  expect_no_effects(*body, "jvp of a loop");
  const auto count = static_cast<size_t>(c.num_inputs());
  std::vector<uint8_t> moves;
  for (int i = 0; i < c.num_inputs(); ++i) moves.push_back(c.has_tangent(i) ? 1 : 0);
  std::vector<std::vector<uint8_t>> made_of = dependences(*body);
  for (size_t k = 0; k < count; ++k) {
    if (!differentiable(body->output_types()[k])) made_of[k].assign(count, 0);
  }
  spread(made_of, moves);
  std::vector<size_t> moving;
  Tensors values = {c.inputs().begin(), c.inputs().end()};
  for (size_t i = 0; i < count; ++i) {
    if (moves[i] == 0) continue;
    moving.push_back(i);
    const int at = static_cast<int>(i);
    values.push_back(c.has_tangent(at) ? c.tangent(at) : zeros_like(c.in(at)));
  }
  if (moving.empty()) return;
  const RoundFunction goes_on = [&](std::span<const Tensor> in) { return call_function(*condition, in.first(count)); };
  const RoundFunction round = [&](std::span<const Tensor> in) -> Tensors {
    Tensors primals, others(count);  // outputs that have no tangent
    for (const size_t m : moving) primals.push_back(in[m]);
    const detail::TensorsFunction call = [&](const Tensors& some) {
      Tensors all(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(count));
      for (size_t m = 0; m < moving.size(); ++m) all[moving[m]] = some[m];
      Tensors outputs = call_function(*body, all), kept;
      for (size_t k = 0; k < count; ++k) {
        if (moves[k] != 0) {
          kept.push_back(std::move(outputs[k]));
        } else {
          others[k] = std::move(outputs[k]);
        }
      }
      return kept;
    };
    const Tensors both = detail::jvp_call(call, primals, {in.begin() + static_cast<std::ptrdiff_t>(count), in.end()});
    Tensors next = others;
    for (size_t m = 0; m < moving.size(); ++m) next[moving[m]] = both[m];
    next.insert(next.end(), both.begin() + static_cast<std::ptrdiff_t>(moving.size()), both.end());
    return next;
  };
  const Tensors results = run_loop(goes_on, round, std::move(values), c.integer("parallel_iterations"));
  for (size_t m = 0; m < moving.size(); ++m) c.set(static_cast<int>(moving[m]), results[count + m]);
}

}  // namespace panto
