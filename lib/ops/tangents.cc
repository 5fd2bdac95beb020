#include "panto/lib/ops/tangents.h"

#include "panto/lib/base/text/format.h"

#include "panto/lib/core/op/gradient.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {

JvpContext::JvpContext(const Call& call, std::span<const Tensor> inputs, std::span<const Tensor> tangents,
                       std::span<const Tensor> outputs)
    : RuleContext(call), inputs_(inputs), tangents_(tangents), outputs_(outputs), results_(outputs.size()) {}

Tensor add_tangents(Tensor a, Tensor b) {
  if (!a.defined()) return b;
  if (!b.defined()) return a;
  return a.dtype() == kVariant ? add_n({std::move(a), std::move(b)}) : add(std::move(a), std::move(b));
}

namespace tangents {
namespace {

void set_all(JvpContext& c, SmallVector<Tensor, 2> values) {
  for (size_t k = 0; k < values.size(); ++k) {
    if (differentiable(values[k])) c.set(static_cast<int>(k), std::move(values[k]));
  }
}

}  // namespace

void linear(JvpContext& c) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < c.num_inputs(); ++i) {
    inputs.push_back(c.has_tangent(i) ? c.tangent(i) : differentiable(c.in(i)) ? zeros_like(c.in(i)) : c.in(i));
  }
  set_all(c, c.again(inputs));
}

void linear_by(JvpContext& c, int input) {
  if (!c.has_tangent(input)) return;
  std::vector<Tensor> inputs(c.inputs().begin(), c.inputs().end());
  inputs[static_cast<size_t>(input)] = c.tangent(input);
  set_all(c, c.again(inputs));
}

void multilinear(JvpContext& c) {
  SmallVector<Tensor, 2> total;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.has_tangent(i)) continue;
    std::vector<Tensor> inputs(c.inputs().begin(), c.inputs().end());
    inputs[static_cast<size_t>(i)] = c.tangent(i);
    SmallVector<Tensor, 2> part = c.again(inputs);
    if (total.empty()) {
      total = std::move(part);
      continue;
    }
    for (size_t k = 0; k < total.size(); ++k) {
      if (differentiable(total[k])) total[k] = add_tangents(std::move(total[k]), std::move(part[k]));
    }
  }
  set_all(c, std::move(total));
}

void none(JvpContext& c) {
  failf(Code::kUnimplemented, "jvp of {0}: expected an op with a rule for tangents, got {0}", c.op().name());
}

}  // namespace tangents
}  // namespace panto
