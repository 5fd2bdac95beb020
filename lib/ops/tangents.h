// JvpContext: what an op's rule for `jvp` sees of one call: its inputs with their tangents, and its outputs.
//
//   .jvp = [](JvpContext& c) { c.set(0, 2 * c.in(0) * c.tangent(0)); }
//
// Rules are written with public ops only; so they are differentiated, batched and traced as other calls are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/transform.h"

namespace panto {

class PANTO_EXPORT JvpContext : public RuleContext {
 public:
  JvpContext(const Call& call, std::span<const Tensor> inputs, std::span<const Tensor> tangents,
             std::span<const Tensor> outputs);

  const Tensor& in(int i) const { return inputs_[static_cast<size_t>(i)]; }
  // Of input i, in its shape; undefined: zero.
  const Tensor& tangent(int i) const { return tangents_[static_cast<size_t>(i)]; }
  bool has_tangent(int i) const { return tangent(i).defined(); }
  const Tensor& out(int k = 0) const { return outputs_[static_cast<size_t>(k)]; }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  std::span<const Tensor> inputs() const { return inputs_; }
  std::span<const Tensor> outputs() const { return outputs_; }

  // The tangent of output k; not calling it means zero.
  void set(int k, Tensor tangent) { results_[static_cast<size_t>(k)] = std::move(tangent); }
  std::vector<Tensor>& results() { return results_; }

 private:
  std::span<const Tensor> inputs_, tangents_, outputs_;
  std::vector<Tensor> results_;
};

// The sum of two tangents, or gradients, of one tensor: of numbers, or of lists of them. An undefined one is none.
PANTO_EXPORT Tensor add_tangents(Tensor a, Tensor b);

// Rules that ops share.
namespace tangents {

// For an op with a gradient that has no derivative: throws Unimplemented.
[[noreturn]] PANTO_EXPORT void none(JvpContext& c);
// The op is linear in all differentiable inputs together (sums, what moves elements): it is applied to the tangents.
PANTO_EXPORT void linear(JvpContext& c);
// The op is linear in each of its differentiable inputs (products): the sum of what it gives with one after the other
// replaced by its tangent.
PANTO_EXPORT void multilinear(JvpContext& c);
// The op is linear in one input, whose tangent it is applied to; derivatives by others are zero, as its gradient says.
PANTO_EXPORT void linear_by(JvpContext& c, int input);
template <int kInput>
void linear_in(JvpContext& c) {
  linear_by(c, kInput);
}

}  // namespace tangents
}  // namespace panto
