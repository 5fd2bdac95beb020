#include "panto/autograd/transforms/jvp.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>

#include "panto/autograd/tape.h"
#include "panto/autograd/transforms/rules.h"
#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/transform.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/math/complex.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

Tensor spread_to(const Tensor& t, const Tensor& like) {
  const PartialShape &from = t.partial_shape(), &to = like.partial_shape();
  if (to.fully_known()) return from == to ? t : broadcast_to(t, Shape(to));
  return broadcast_to(t, shape(like));
}

// The op's gradient of one input if `dy` flows into its only output; undefined: zero.
Tensor gradient_by(const JvpContext& c, int input, const Tensor& dy) {
  std::vector<PartialShape> shapes;
  std::vector<DType> types;
  for (const Tensor& t : c.inputs()) {
    shapes.push_back(t.partial_shape());
    types.push_back(t.dtype());
  }
  std::vector<uint8_t> needed(c.inputs().size(), 0);
  needed[static_cast<size_t>(input)] = 1;
  const GradRecord record{.op = &c.op(),
                          .attrs = c.call().attrs,
                          .inputs = c.inputs(),
                          .outputs = c.outputs(),
                          .input_shapes = shapes,
                          .input_types = types,
                          .output_gradients = {&dy, 1},
                          .needed = needed};
  GradContext context(record);
  c.op().gradient()(context);
  return context.gradients()[static_cast<size_t>(input)];
}

// For elementwise ops: the gradient is dy * conj(f'), so the tangent f' * v is the conjugate of the gradient for dy =
// conj(v).
void elementwise_tangent(JvpContext& c) {
  Tensor total;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.has_tangent(i)) continue;
    const Tensor dx = gradient_by(c, i, conjugate(spread_to(c.tangent(i), c.out())));
    if (!dx.defined()) continue;
    const Tensor part = conjugate(dx);
    total = total.defined() ? add(total, part) : part;
  }
  if (total.defined()) c.set(0, spread_to(total, c.out()));
}

// For reductions: each input element contributes to one output element, so the gradient of the output's sum holds all
// derivatives.
void reduction_tangent(JvpContext& c) {
  const Tensor dx = gradient_by(c, 0, ones_like(c.out()));
  c.set(0, sum(conjugate(dx) * c.tangent(0), c.in(1), {.keep_dims = c.flag("keep_dims")}));
}

// The gradient is linear in the seed v: the gradient of (gradient * tangents) with respect to v is the tangent.
void doubled_gradient(JvpContext& c) {
  log_warn_once(fmt::format("jvp: {} has no rule for tangents; its gradient is differentiated instead", c.op().name()));
  GradientTape outer({.watch_variables = false});
  std::vector<Tensor> inputs(c.inputs().begin(), c.inputs().end());
  std::vector<Tensor> directions, targets, seeds;
  std::vector<GradSource> sources, seed_sources;
  std::vector<Tensor> gradients;
  std::vector<int> positions;
  {
    GradientTape inner({.watch_variables = false});
    for (int i = 0; i < c.num_inputs(); ++i) {
      if (!c.has_tangent(i)) continue;
      Tensor& x = inputs[static_cast<size_t>(i)];
      x = identity(x);  // a separate tensor, in case the same tensor is another input too
      inner.watch(x);
      sources.emplace_back(x);
      directions.push_back(c.tangent(i));
    }
    const SmallVector<Tensor, 2> outputs = c.again(inputs);
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (!differentiable(outputs[k])) continue;
      const Tensor seed = zeros_like(outputs[k]);
      outer.watch(seed);
      targets.push_back(outputs[k]);
      seeds.push_back(seed);
      seed_sources.emplace_back(seed);
      positions.push_back(static_cast<int>(k));
    }
    gradients = inner.gradients(targets, sources, seeds);
  }
  std::vector<Tensor> reached, along;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    reached.push_back(gradients[i]);
    along.push_back(directions[i]);
  }
  if (reached.empty()) return;
  std::vector<Tensor> found = outer.gradients(reached, seed_sources, along);
  for (size_t k = 0; k < found.size(); ++k) {
    if (found[k].defined()) c.set(positions[k], std::move(found[k]));
  }
}

class Jvp final : public Transform, public std::enable_shared_from_this<Jvp> {
 public:
  std::string_view name() const override { return "jvp"; }
  std::string why_no_value() const override {
    return "its derivative would be lost; to decide by a value use select, or take it through stop_gradient first";
  }

  bool has_rule(const Op& composite) const override { return jvp_rule_of(composite) != nullptr; }

  void run(Call& call) override {
    std::vector<Tensor> inputs, tangents;
    for (const Tensor* t : call.inputs) {
      const Lifted* lifted = lifted_of(*t, this);
      inputs.push_back(lifted != nullptr ? lifted->value : *t);
      tangents.push_back(lifted != nullptr ? lifted->tangent : Tensor());
    }
    SmallVector<Tensor, 2> outputs = RuleContext(call).again(inputs);
    const std::span<const Tensor> made(outputs.data(), outputs.size());
    std::vector<Tensor> found(outputs.size());
    if (std::ranges::any_of(made, [](const Tensor& t) { return differentiable(t); })) {
      JvpContext c(call, inputs, tangents, made);
      differentiate(c);
      found = std::move(c.results());
    }
    for (size_t k = 0; k < outputs.size(); ++k) {
      call.outputs[k] = found[k].defined() ? lift(shared_from_this(), std::move(outputs[k]), std::move(found[k]))
                                           : std::move(outputs[k]);
    }
  }

  static Tensor lift(const std::shared_ptr<Jvp>& jvp, Tensor value, Tensor tangent) {
    const PartialShape own = value.partial_shape();
    return lifted_tensor(own, {.of = jvp, .value = std::move(value), .tangent = std::move(tangent)});
  }

 private:
  static void differentiate(JvpContext& c) {
    const Op& op = c.op();
    if (const JvpFn rule = jvp_rule_of(op); rule != nullptr) return rule(c);
    if (op.gradient() != nullptr) return doubled_gradient(c);
    if (ends_gradients(op)) return;
    failf(Code::kUnimplemented, "derivative of {}: expected its block to have a gradient, got none", op.name());
  }
};

}  // namespace

JvpFn jvp_rule_of(const Op& op) {
  if (op.jvp() != nullptr) return op.jvp();
  if (op.gradient() == nullptr) return nullptr;
  if (op.has(Trait::kDataMovement) || op.is(OpKind::kCast)) return tangents::linear;
  if (op.has(Trait::kElementwise) && op.signature().outputs.size() == 1) return elementwise_tangent;
  if (op.has(Trait::kReduction) && op.signature().inputs.size() == 2) return reduction_tangent;
  return nullptr;
}

detail::Tensors detail::jvp_call(const TensorsFunction& f, const Tensors& primals, const Tensors& tangents) {
  if (primals.size() != tangents.size()) {
    invalid("tangents of jvp: expected {} tensors as there are primals, got {}", primals.size(), tangents.size());
  }
  const auto jvp = std::make_shared<Jvp>();
  Tensors inside;
  for (size_t i = 0; i < primals.size(); ++i) {
    const Tensor &x = primals[i], &v = tangents[i];
    if (!v.defined()) {
      inside.push_back(x);
      continue;
    }
    if (!differentiable(x)) {
      invalid("primal {} of jvp: expected a floating or complex tensor, got {}", i, dtype_name(x.dtype()));
    }
    if (v.dtype() != x.dtype() || !v.partial_shape().compatible_with(x.partial_shape())) {
      invalid("tangent {} of jvp: expected {}{}, got {}{}", i, dtype_name(x.dtype()), x.partial_shape().to_string(),
              dtype_name(v.dtype()), v.partial_shape().to_string());
    }
    inside.push_back(Jvp::lift(jvp, x, v));
  }
  Tensors outputs;
  {
    const TransformScope scope(jvp);
    outputs = f(inside);
  }
  const size_t count = outputs.size();
  outputs.resize(2 * count);
  for (size_t k = 0; k < count; ++k) {
    if (!outputs[k].defined()) continue;
    const Lifted* lifted = lifted_of(outputs[k], jvp.get());
    if (lifted == nullptr) {
      outputs[count + k] = zeros_like(outputs[k]);
      continue;
    }
    outputs[count + k] = lifted->tangent;
    outputs[k] = Tensor(lifted->value);
  }
  return outputs;
}

}  // namespace panto
