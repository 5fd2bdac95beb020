// _CustomGradient and _OptimizationBarrier: values with another gradient than that of the ops that computed them, and
// values that are to be recomputed.
#include "panto/lib/ops/control/custom_gradient.h"

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"

namespace panto {
namespace {

// Outputs have the shapes and values of the first list of inputs.
void first_list_shape(ShapeContext& c) {
  for (int k = 0; k < c.num_outputs(); ++k) {
    c.output(k, c.shape(k));
    pass_values(c, k, k);
  }
}

const GradientRule& rule_of(const Tensor& t) {
  const auto* handle = t.dtype() == kResource ? static_cast<const ResourceHandle*>(t.impl()->data) : nullptr;
  const auto* rule = handle == nullptr ? nullptr : dynamic_cast<const GradientRule*>(handle->get());
  if (rule == nullptr)
    fail(Code::kInvalidArgument, "rule: expected a gradient rule of this process, got another tensor");
  return *rule;
}

void custom_gradient(GradContext& g) {
  const auto [first, last] = g.list(1);
  std::vector<Tensor> inputs, outputs, dys;
  std::vector<uint8_t> needed;
  for (int i = first; i < last; ++i) {
    inputs.push_back(g.in(i));
    needed.push_back(g.needs(i) ? 1 : 0);
  }
  for (int k = 0; k < g.num_outputs(); ++k) {
    outputs.push_back(g.out(k));
    dys.push_back(g.has_dy(k) ? g.dy(k) : zeros_like(g.out(k)));
  }
  std::vector<Tensor> dxs = rule_of(g.tensor_attr("rule")).gradient(inputs, outputs, dys, needed);
  if (dxs.size() != inputs.size()) invalid("custom gradient: expected {} tensors, got {}", inputs.size(), dxs.size());
  for (size_t i = 0; i < dxs.size(); ++i) {
    const Tensor& x = inputs[i];
    Tensor& dx = dxs[i];
    if (!dx.defined() || needed[i] == 0) continue;
    if (dx.dtype() != x.dtype() || !dx.partial_shape().compatible_with(x.partial_shape())) {
      invalid("custom gradient {}: expected {}{}, got {}{}", i, dtype_name(x.dtype()), x.partial_shape().to_string(),
              dtype_name(dx.dtype()), dx.partial_shape().to_string());
    }
    g.set(first + static_cast<int>(i), std::move(dx));
  }
}

void custom_gradient_batch(BatchContext& c) {
  const auto [first, last] = c.list(1);
  std::vector<Tensor> values, inputs;
  std::vector<uint8_t> batched;
  for (int k = 0; k < first; ++k) values.push_back(c.front(k));
  for (int i = first; i < last; ++i) {
    inputs.push_back(c.in(i));
    batched.push_back(c.batched(i) ? 1 : 0);
  }
  const std::vector<Tensor> results =
      with_gradient(values, inputs, rule_of(c.tensor_attr("rule")).batched(std::move(batched), c.size()));
  for (size_t k = 0; k < results.size(); ++k) c.set_out(static_cast<int>(k), results[k]);
}

void barrier_batch(BatchContext& c) {
  const auto [first, last] = c.list(1);
  std::vector<Tensor> inputs;
  for (int i = 0; i < last; ++i) inputs.push_back(c.in(i));
  SmallVector<Tensor, 2> outputs = c.again(inputs);
  for (int k = 0; k < first; ++k) {
    Tensor& t = outputs[static_cast<size_t>(k)];
    c.batched(k) ? c.set_out(k, std::move(t)) : c.set_common(k, std::move(t));
  }
}

void barrier_tangent(JvpContext& c) {
  for (int k = 0; k < c.num_outputs(); ++k) {
    if (c.has_tangent(k)) c.set(k, c.tangent(k));
  }
}

std::vector<Tensor> call(const Op& op, std::span<const Tensor> first, std::span<const Tensor> second,
                         const Tensor& rule) {
  std::vector<const Tensor*> inputs;
  std::vector<DType> types[2];
  for (const Tensor& t : first) types[0].push_back(t.dtype());
  for (const Tensor& t : second) types[1].push_back(t.dtype());
  for (const Tensor& t : first) inputs.push_back(&t);
  for (const Tensor& t : second) inputs.push_back(&t);
  std::vector<AttrSlot> slots(op.signature().attrs.size());
  const auto slot = [&](const char* name) -> AttrSlot& {
    return slots[static_cast<size_t>(op.signature().find_attr(name))];
  };
  slot("Tv") = AttrSlot(std::span<const DType>(types[0]));
  slot("Tx") = AttrSlot(std::span<const DType>(types[1]));
  const AttrValue kept(rule);
  if (rule.defined()) slot("rule") = borrow(kept);
  std::vector<Tensor> result;
  for (Tensor& t : dispatch::call(op, inputs, slots)) result.push_back(std::move(t));
  return result;
}

}  // namespace

const Op& kCustomGradient = define_op(
    "_CustomGradient(values: Tv, inputs: Tx; Tv: list(type) >= 1, Tx: list(type) >= 0, rule: tensor) -> (outputs: Tv)",
    {.doc = "`values`, whose gradients go by `rule` to `inputs`. Made by custom_gradient and checkpoint.",
     .cpp = "custom_gradient_op",
     .kind = OpKind::kCustomGradient,
     .traits = {Trait::kIdentity, Trait::kSelfAllocating},
     .shape = first_list_shape,
     .saves = {in(1), out(0)},
     .gradient = custom_gradient,
     .batch = custom_gradient_batch});

const Op& kOptimizationBarrier = define_op(
    "_OptimizationBarrier(values: Tv, after: Tx; Tv: list(type) >= 1, Tx: list(type) >= 0) -> (outputs: Tv)",
    {.doc =
         "`values`, when `after` are there too. No pass looks through it, so that what is computed of its outputs is "
         "computed, though the same was computed of `values`. Made by checkpoint.",
     .cpp = "barrier_op",
     .traits = {Trait::kSelfAllocating},
     .shape = first_list_shape,
     .gradient =
         [](GradContext& g) {
           for (int k = 0; k < g.num_outputs(); ++k) {
             if (g.needs(k) && g.has_dy(k)) g.set(k, g.dy(k));
           }
         },
     .batch = barrier_batch,
     .jvp = barrier_tangent});

std::vector<Tensor> with_gradient(std::span<const Tensor> values, std::span<const Tensor> inputs,
                                  const std::shared_ptr<const GradientRule>& rule) {
  // const_cast is safe: the rule is never changed through the handle.
  return call(kCustomGradient, values, inputs, resource_tensor(std::const_pointer_cast<GradientRule>(rule)));
}

std::vector<Tensor> behind_barrier(std::span<const Tensor> values, std::span<const Tensor> after) {
  return call(kOptimizationBarrier, values, after, {});
}

}  // namespace panto
