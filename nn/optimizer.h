// Optimizers: they change variables by gradients.
//
//   Adam adam(model.variables(), {.learning_rate = 1e-3});
//   GradientTape tape;
//   Tensor loss = ...;
//   adam.apply(tape.gradient(loss, adam.variables()));
//
// Gradients may be rows of variables (tape.sparse_gradient), as of an embedding's table: Sgd then changes those rows
// only. Adam makes them whole, since its moments decay, and change the variable, where the gradient is zero too.
//
// An optimizer makes its own variables (moments, powers) when it is constructed, so that a training step can be traced.
// Thread-safety: one call at a time.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor.h"
#include "panto/lib/core/variable.h"

namespace panto {

class PANTO_EXPORT Optimizer {
 public:
  explicit Optimizer(std::vector<Variable> variables);
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  const std::vector<Variable>& variables() const { return variables_; }
  // One step; gradients by variable, undefined ones are skipped. Throws InvalidArgument where their number, dtypes or
  // shapes do not fit; then no variable has changed.
  void apply(std::span<const Tensor> gradients);
  // The same with gradients of which some are rows. An index that is not in the variable throws InvalidArgument too,
  // when the variables before that one have changed; indices that a tape gave are in it.
  void apply(std::span<const Gradient> gradients);
  // Inside a GraphScope: adds the nodes of one training step and returns the name of the node that runs it all.
  // Throws FailedPrecondition outside, InvalidArgument if loss depends on none of the variables.
  std::string minimize(const Tensor& loss, std::string_view name = "minimize");

 protected:
  // One step, by gradients that fit the variables; undefined ones are to be skipped.
  virtual void update(std::span<const Tensor> gradients) = 0;
  // The same where some are rows: unless overridden, it makes them whole and calls update.
  virtual void update_rows(std::span<const Gradient> gradients);

 private:
  std::vector<Variable> variables_;
};

struct SgdOptions {
  double learning_rate = 0.01;
};

// Gradient descent: v -= learning_rate * dv, for rows one after the other.
class PANTO_EXPORT Sgd final : public Optimizer {
 public:
  explicit Sgd(std::vector<Variable> variables, SgdOptions options = {});

 private:
  void update(std::span<const Tensor> gradients) override;
  void update_rows(std::span<const Gradient> gradients) override;
  SgdOptions options_;
};

struct AdamOptions {
  double learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-7;  // as Keras; added to the root, as in the paper's efficient form
};

// Adam (Kingma and Ba 2015, section 2, with bias correction).
class PANTO_EXPORT Adam final : public Optimizer {
 public:
  explicit Adam(std::vector<Variable> variables, AdamOptions options = {});
  // First and second moments, then the powers of beta1 and beta2: what a checkpoint must keep.
  const std::vector<Variable>& slots() const { return slots_; }

 private:
  void update(std::span<const Tensor> gradients) override;
  AdamOptions options_;
  std::vector<Variable> slots_;
};

}  // namespace panto
