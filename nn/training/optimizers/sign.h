// Optimizers that use the signs of gradients and of their averages.
//
//   Lion lion(model.variables(), {.learning_rate = 1e-4});
//   lion.apply(tape.gradient(loss, lion.variables()));
//
// Sparse gradients are made dense, since averages decay also where the gradient is zero. AddSign and PowerSign then
// change only the gradient's rows of the variable; Lion changes all, as Keras does.
#pragma once

#include <concepts>
#include <initializer_list>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/nn/training/optimizers/fused_rule.h"
#include "panto/nn/training/optimizers/optimizer.h"
#include "panto/nn/training/schedule.h"

namespace panto {

struct LionOptions {
  Schedule learning_rate = 0.001;
  double beta1 = 0.9;   // in [0, 1): weight of the average in the sum whose sign is taken
  double beta2 = 0.99;  // in [0, 1): decay of the average
  double weight_decay = 0;
};

// Lion (Chen et al. 2023), as Keras: v -= learning_rate * sign(beta1 * m + (1 - beta1) * dv);
// m = beta2 * m + (1 - beta2) * dv. Slots: "m".
class PANTO_EXPORT Lion final : public Optimizer {
 public:
  explicit Lion(std::initializer_list<Variable> variables, const LionOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit Lion(Variables variables, const LionOptions& options = {}) : Lion(options, given(std::move(variables))) {}
  // For the variables of the graph.
  explicit Lion(const LionOptions& options);

 private:
  Lion(const LionOptions& options, std::vector<Variable> variables);
  void create_slots(const std::vector<Variable>& variables) override;
  void prepare() override;
  void apply_dense(const Tensor& gradient, const Variable& v) override;
  double beta1_, beta2_;
  Scalar numbers_;  // of a step
  FusedRule rule_;
};

struct AddSignOptions {
  Schedule learning_rate = 0.1;
  double alpha = 1;
  double beta = 0.9;        // in [0, 1): decay of the average
  Schedule sign_decay = 1;  // factor of the signs by step: polynomial_decay(1, steps, {.end = 0})
};

// AddSign (Bello et al. 2017), as TensorFlow 1's contrib.opt: m = beta * m + (1 - beta) * dv;
// v -= learning_rate * (alpha + sign_decay * sign(dv) * sign(m)) * dv. Slots: "m".
class PANTO_EXPORT AddSign final : public Optimizer {
 public:
  explicit AddSign(std::initializer_list<Variable> variables, const AddSignOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit AddSign(Variables variables, const AddSignOptions& options = {})
      : AddSign(options, given(std::move(variables))) {}
  // For the variables of the graph.
  explicit AddSign(const AddSignOptions& options);

 private:
  AddSign(const AddSignOptions& options, std::vector<Variable> variables);
  void create_slots(const std::vector<Variable>& variables) override;
  void prepare() override;
  void apply_dense(const Tensor& gradient, const Variable& v) override;
  double alpha_, beta_;
  Schedule sign_decay_;
  Scalar now_;
};

struct PowerSignOptions {
  Schedule learning_rate = 0.1;
  double base = 2.718281828459045;  // above 0
  double beta = 0.9;                // in [0, 1): decay of the average
  Schedule sign_decay = 1;
};

// PowerSign (Bello et al. 2017), as TensorFlow 1's contrib.opt: m = beta * m + (1 - beta) * dv;
// v -= learning_rate * base^(sign_decay * sign(dv) * sign(m)) * dv. Slots: "m".
class PANTO_EXPORT PowerSign final : public Optimizer {
 public:
  explicit PowerSign(std::initializer_list<Variable> variables, const PowerSignOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit PowerSign(Variables variables, const PowerSignOptions& options = {})
      : PowerSign(options, given(std::move(variables))) {}
  // For the variables of the graph.
  explicit PowerSign(const PowerSignOptions& options);

 private:
  PowerSign(const PowerSignOptions& options, std::vector<Variable> variables);
  void create_slots(const std::vector<Variable>& variables) override;
  void prepare() override;
  void apply_dense(const Tensor& gradient, const Variable& v) override;
  double log_base_, beta_;
  Schedule sign_decay_;
  Scalar now_;
};

}  // namespace panto
