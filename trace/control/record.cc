#include "panto/trace/control/record.h"

#include <algorithm>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/ops/control/control.h"
#include "panto/lib/ops/create.h"
#include "panto/ops/control.h"
#include "panto/ops/lists.h"
#include "panto/trace/control/ready_function.h"

namespace panto {
namespace {

std::vector<DType> types_of(std::span<const Tensor> tensors) {
  std::vector<DType> types;
  for (const Tensor& t : tensors) types.push_back(t.dtype());
  return types;
}

std::vector<Tensor> call_op(const Op& op, std::span<const Tensor> inputs, std::span<const AttrValue> attrs) {
  const SmallVector<AttrSlot, 8> slots = borrow(attrs);
  dispatch::Outputs outputs = dispatch::call(op, dispatch::pointers_to(inputs), slots);
  return {std::make_move_iterator(outputs.begin()), std::make_move_iterator(outputs.end())};
}

std::string list_text(std::span<const DType> types) {
  std::string text;
  for (DType t : types) text.append(text.empty() ? "" : ", ").append(dtype_name(t));
  return "(" + text + ")";
}

bool stateful(std::span<const FunctionRef> functions) {
  return std::ranges::any_of(functions, [](const FunctionRef& f) { return f.body->effects() != 0; });
}

FunctionRef reference(TracedBody body) {
  std::shared_ptr<const GraphFunction> function = function_of(std::move(body));
  return {function->name(), function};
}

void set(const Op& op, std::vector<AttrValue>& attrs, std::string_view name, AttrValue value) {
  attrs[static_cast<size_t>(op.signature().find_attr(name))] = std::move(value);
}

std::vector<AttrValue> defaults(const Op& op) {
  std::vector<AttrValue> attrs;
  for (const AttrDef& def : op.signature().attrs) attrs.push_back(def.default_value);
  return attrs;
}

// Calls the conditional, made ready `orders` times, so that it returns the values that active tapes will read.
std::vector<Tensor> call_branches_for_gradients(bool is_case, const Tensor& index, std::vector<Tensor> inputs,
                                                std::vector<FunctionRef> functions, int orders) {
  const Op& op = branches_op(is_case, stateful(functions));
  const std::span<const DType> outputs = functions[0].body->output_types();
  std::vector<DType> output_types(outputs.begin(), outputs.end());
  const size_t count = output_types.size();
  const std::vector<DType> input_types = types_of(inputs);
  for (; orders > 0; --orders) {
    ReadyBranches ready = make_branches_ready(functions);
    functions = std::move(ready.functions);
    for (const OutputInfo& extra : ready.extras) output_types.push_back(extra.dtype);
  }
  inputs.insert(inputs.begin(), index);
  const std::vector<AttrValue> attrs =
      branches_attrs(op, index.dtype(), input_types, output_types, std::move(functions));
  std::vector<Tensor> results = call_op(op, inputs, attrs);
  results.resize(count);
  return results;
}

std::vector<Tensor> call_loop_for_gradients(std::vector<Tensor> inputs, FunctionRef condition, FunctionRef body,
                                            int64_t parallel_iterations, int orders) {
  const size_t count = inputs.size();
  std::vector<DType> types = types_of(inputs);
  const Op& op = loop_op(stateful(std::vector{condition, body}));
  if (orders > 0) {
    std::vector<OutputInfo> infos;
    for (const Tensor& t : detail::loop_invariant(*body.body, dispatch::pointers_to(inputs))) {
      infos.push_back({t.dtype(), t.partial_shape()});
    }
    for (; orders > 0; --orders) {
      ReadyLoop ready = make_loop_ready(condition, body, infos);
      condition = std::move(ready.condition);
      body = std::move(ready.body);
      inputs.push_back(tensor(0));
      for (const OutputInfo& element : ready.elements) {
        inputs.push_back(empty_tensor_list(spelled_shape(element.shape), -1, element.dtype));
      }
      types = types_of(inputs);
      for (size_t i = infos.size(); i < inputs.size(); ++i) {
        infos.push_back({inputs[i].dtype(), inputs[i].partial_shape()});
      }
    }
  }
  std::vector<Tensor> results =
      call_op(op, inputs, loop_attrs(op, types, std::move(condition), std::move(body), parallel_iterations));
  results.resize(count);
  return results;
}

}  // namespace

const Op& branches_op(bool is_case, bool stateful) {
  if (is_case) return stateful ? kCase : kStatelessCase;
  return stateful ? kIf : kStatelessIf;
}

const Op& loop_op(bool stateful) { return stateful ? kWhile : kStatelessWhile; }

std::vector<AttrValue> branches_attrs(const Op& op, DType index, std::span<const DType> inputs,
                                      std::span<const DType> outputs, std::vector<FunctionRef> branches) {
  std::vector<AttrValue> attrs = defaults(op);
  set(op, attrs, "Tin", AttrValue(std::vector<DType>(inputs.begin(), inputs.end())));
  set(op, attrs, "Tout", AttrValue(std::vector<DType>(outputs.begin(), outputs.end())));
  if (op.is(OpKind::kCase)) {
    set(op, attrs, "branches", AttrValue(std::move(branches)));
  } else {
    set(op, attrs, "Tcond", AttrValue(index));
    set(op, attrs, "then_branch", AttrValue(std::move(branches[0])));
    set(op, attrs, "else_branch", AttrValue(std::move(branches[1])));
  }
  return attrs;
}

std::vector<AttrValue> loop_attrs(const Op& op, std::span<const DType> types, FunctionRef condition, FunctionRef body,
                                  int64_t parallel_iterations) {
  std::vector<AttrValue> attrs = defaults(op);
  set(op, attrs, "T", AttrValue(std::vector<DType>(types.begin(), types.end())));
  set(op, attrs, "cond", AttrValue(std::move(condition)));
  set(op, attrs, "body", AttrValue(std::move(body)));
  set(op, attrs, "parallel_iterations", AttrValue(parallel_iterations));
  return attrs;
}

std::vector<Tensor> call_branches(const Tensor& index, bool is_case, std::vector<TracedBody> branches) {
  std::vector<Tensor> inputs = share_captures(branches);
  std::vector<FunctionRef> functions;
  for (TracedBody& branch : branches) functions.push_back(reference(std::move(branch)));
  const std::span<const DType> outputs = functions[0].body->output_types();
  for (size_t k = 1; k < functions.size(); ++k) {
    const std::span<const DType> others = functions[k].body->output_types();
    if (std::ranges::equal(outputs, others)) continue;
    invalid("branch {}: expected it to give tensors as branch 0 does, {}, got {}", k, list_text(outputs),
            list_text(others));
  }
  return call_branches_for_gradients(is_case, index, std::move(inputs), std::move(functions), wanted_gradient_orders());
}

std::vector<Tensor> call_loop(std::span<const Tensor> values, TracedBody condition, TracedBody body,
                              int64_t parallel_iterations) {
  TracedBody both[] = {std::move(condition), std::move(body)};
  std::vector<Tensor> inputs(values.begin(), values.end());
  // Captured values pass through the loop unchanged.
  const std::vector<Tensor> captures = share_captures(both);
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  for (size_t i = values.size(); i < inputs.size(); ++i) {
    both[1].endpoints.outputs.push_back(both[1].endpoints.inputs[i]);
  }
  FunctionRef functions[] = {reference(std::move(both[0])), reference(std::move(both[1]))};
  const std::vector<DType> types = types_of(inputs);
  const std::span<const DType> given = functions[1].body->output_types();
  if (!std::ranges::equal(given, types)) {
    invalid("body: expected it to give what it takes, {}, got {}", list_text(std::span(types).first(values.size())),
            list_text(given.first(given.size() - captures.size())));
  }
  std::vector<Tensor> results =
      call_loop_for_gradients(std::move(inputs), std::move(functions[0]), std::move(functions[1]), parallel_iterations,
                              wanted_gradient_orders());
  results.resize(values.size());
  return results;
}

std::vector<Tensor> call_for_gradients(CompositeContext& c) {
  const int orders = wanted_gradient_orders() - gradient_orders(c.call());
  std::vector<Tensor> inputs;
  for (int i = 0; i < c.num_inputs(); ++i) inputs.push_back(c.in(i));
  const auto known = [](const FunctionRef& f) { return FunctionRef{.name = f.name, .body = body_of(f)}; };
  if (c.op().is(OpKind::kLoop)) {
    return call_loop_for_gradients(std::move(inputs), known(c.function("cond")), known(c.function("body")),
                                   c.integer("parallel_iterations"), orders);
  }
  std::vector<FunctionRef> branches;
  for (const FunctionRef& f : branches_of(c)) branches.push_back(known(f));
  const Tensor index = inputs[0];
  inputs.erase(inputs.begin());
  return call_branches_for_gradients(c.op().is(OpKind::kCase), index, std::move(inputs), std::move(branches), orders);
}

}  // namespace panto
