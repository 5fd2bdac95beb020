// Gradient descent, with momentum or regularization.
//
//   Sgd sgd(model.variables(), {.learning_rate = 0.1, .momentum = 0.9});
//   sgd.apply(tape.gradient(loss, sgd.variables()));
//
// A sparse gradient changes only its rows, of the variable and of the moments, as in TensorFlow 1 (Keras 3 makes sparse
// gradients dense if there is momentum). Weight decay applies to whole variables.
#pragma once

#include <concepts>
#include <initializer_list>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/nn/training/optimizers/optimizer.h"
#include "panto/nn/training/schedule.h"

namespace panto {

struct SgdOptions {
  Schedule learning_rate = 0.01;
  double momentum = 0;  // in [0, 1]
  bool nesterov = false;
  double weight_decay = 0;
};

// Gradient descent: v -= learning_rate * dv. With momentum, as Keras: m = momentum * m - learning_rate * dv; v += m,
// and with nesterov v += momentum * m - learning_rate * dv (needs momentum). Momentum, and PyTorch, apply the rate to
// the accumulated gradient instead: the same as long as the rate is constant. Slots: "momentum", if there is one.
class PANTO_EXPORT Sgd final : public Optimizer {
 public:
  // Variables come in braces or in a vector: overloads and templates, so that options in braces are not taken for
  // variables.
  explicit Sgd(std::initializer_list<Variable> variables, const SgdOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit Sgd(Variables variables, const SgdOptions& options = {}) : Sgd(options, given(std::move(variables))) {}
  // For the variables of the graph.
  explicit Sgd(const SgdOptions& options);

 private:
  Sgd(const SgdOptions& options, std::vector<Variable> variables);
  void create_slots(const std::vector<Variable>& variables) override;
  void apply_dense(const Tensor& gradient, const Variable& v) override;
  void apply_sparse(const Gradient& rows, const Variable& v) override;
  void apply_sparse_duplicates(const Gradient& rows, const Variable& v) override;
  double momentum_;
  bool nesterov_;
};

struct MomentumOptions {
  Schedule learning_rate = 0.01;
  double momentum = 0.9;  // in [0, 1]
  bool nesterov = false;
  double weight_decay = 0;
};

// Gradient descent with momentum as TensorFlow 1's MomentumOptimizer and PyTorch: m = momentum * m + dv;
// v -= learning_rate * m, and with nesterov v -= learning_rate * (dv + momentum * m) (Sutskever et al. 2013). Slots:
// "momentum".
class PANTO_EXPORT Momentum final : public Optimizer {
 public:
  explicit Momentum(std::initializer_list<Variable> variables, const MomentumOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit Momentum(Variables variables, const MomentumOptions& options = {})
      : Momentum(options, given(std::move(variables))) {}
  // For the variables of the graph.
  explicit Momentum(const MomentumOptions& options);

 private:
  Momentum(const MomentumOptions& options, std::vector<Variable> variables);
  void create_slots(const std::vector<Variable>& variables) override;
  void apply_dense(const Tensor& gradient, const Variable& v) override;
  void apply_sparse(const Gradient& rows, const Variable& v) override;
  double momentum_;
  bool nesterov_;
};

struct ProximalGradientDescentOptions {
  Schedule learning_rate = 0.01;
  double l1 = 0;  // TensorFlow's l1_regularization_strength
  double l2 = 0;  // l2_regularization_strength
};

// Proximal gradient descent (Duchi and Singer 2009), TensorFlow 1's ProximalGradientDescentOptimizer:
// p = v - learning_rate * dv; v = sign(p) * max(|p| - learning_rate * l1, 0) / (1 + learning_rate * l2).
class PANTO_EXPORT ProximalGradientDescent final : public Optimizer {
 public:
  explicit ProximalGradientDescent(std::initializer_list<Variable> variables,
                                   const ProximalGradientDescentOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit ProximalGradientDescent(Variables variables, const ProximalGradientDescentOptions& options = {})
      : ProximalGradientDescent(options, given(std::move(variables))) {}
  // For the variables of the graph.
  explicit ProximalGradientDescent(const ProximalGradientDescentOptions& options);

 private:
  ProximalGradientDescent(const ProximalGradientDescentOptions& options, std::vector<Variable> variables);
  void apply_dense(const Tensor& gradient, const Variable& v) override;
  void apply_sparse(const Gradient& rows, const Variable& v) override;
  double l1_, l2_;
};

}  // namespace panto
