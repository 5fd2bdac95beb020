// JvpContext: the argument of an op's rule for `jvp`: a call's inputs with their tangents, and its outputs.
//
//   .jvp = [](JvpContext& c) { c.set(0, 2 * c.in(0) * c.tangent(0)); }
//
// Rules use public ops only, so they can be differentiated, batched and traced like other calls.
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
  // The tangent of input i, in its shape; undefined: zero.
  const Tensor& tangent(int i) const { return tangents_[static_cast<size_t>(i)]; }
  bool has_tangent(int i) const { return tangent(i).defined(); }
  const Tensor& out(int k = 0) const { return outputs_[static_cast<size_t>(k)]; }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  std::span<const Tensor> inputs() const { return inputs_; }
  std::span<const Tensor> outputs() const { return outputs_; }

  // Sets the tangent of output k; if it is not called, the tangent is zero.
  void set(int k, Tensor tangent) { results_[static_cast<size_t>(k)] = std::move(tangent); }
  std::vector<Tensor>& results() { return results_; }

 private:
  std::span<const Tensor> inputs_, tangents_, outputs_;
  std::vector<Tensor> results_;
};

// The sum of two tangents, or gradients, of one tensor or list. An undefined one counts as zero.
PANTO_EXPORT Tensor add_tangents(Tensor a, Tensor b);

// Rules that several ops use.
namespace tangents {

// For an op that has a gradient but no forward derivative: throws Unimplemented.
[[noreturn]] PANTO_EXPORT void none(JvpContext& c);
// For ops that are linear in all differentiable inputs together (sums, data movement): applies the op to the tangents.
PANTO_EXPORT void linear(JvpContext& c);
// For ops that are linear in each differentiable input (products): sums the op's results with each input in turn
// replaced by its tangent.
PANTO_EXPORT void multilinear(JvpContext& c);
// For ops that are linear in one input: applies the op to its tangent. Derivatives with respect to other inputs are
// zero, as in the op's gradient.
PANTO_EXPORT void linear_by(JvpContext& c, int input);
template <int kInput>
void linear_in(JvpContext& c) {
  linear_by(c, kInput);
}

}  // namespace tangents
}  // namespace panto
