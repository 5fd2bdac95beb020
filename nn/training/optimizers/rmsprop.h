// RMSprop and Ftrl.
//
//   RMSprop rmsprop(model.variables(), {.learning_rate = 1e-3});
//   rmsprop.apply(tape.gradient(loss, rmsprop.variables()));
//
// A sparse gradient changes only its rows, of the variable and of the moments, as in TensorFlow 1 (Keras 3 makes sparse
// gradients dense). Weight decay applies to whole variables.
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

struct RMSpropOptions {
  Schedule learning_rate = 0.001;
  double rho = 0.9;  // in [0, 1)
  double momentum = 0;
  bool centered = false;  // divide by an estimate of the gradient's variance, not of its square
  double epsilon = 1e-7;  // added before the root is taken, as in Keras
  double weight_decay = 0;
};

// RMSprop (Hinton 2012, lecture 6e; centered: Graves 2013). Slots: "ms", "mom" and, if centered, "mg".
class PANTO_EXPORT RMSprop final : public Optimizer {
 public:
  explicit RMSprop(std::initializer_list<Variable> variables, const RMSpropOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit RMSprop(Variables variables, const RMSpropOptions& options = {})
      : RMSprop(options, given(std::move(variables))) {}
  // For the variables of the graph.
  explicit RMSprop(const RMSpropOptions& options);

 private:
  RMSprop(const RMSpropOptions& options, std::vector<Variable> variables);
  void create_slots(const std::vector<Variable>& variables) override;
  void apply_dense(const Tensor& gradient, const Variable& v) override;
  void apply_sparse(const Gradient& rows, const Variable& v) override;
  double rho_, momentum_, epsilon_;
  bool centered_;
};

struct FtrlOptions {
  Schedule learning_rate = 0.001;
  double learning_rate_power = -0.5;  // at most 0; 0: the rate does not fall
  double initial_accumulator = 0.1;   // at least 0
  double l1 = 0;                      // Keras's l1_regularization_strength
  double l2 = 0;                      // l2_regularization_strength
  double l2_shrinkage = 0;            // l2_shrinkage_regularization_strength: of the gradient, not of the variable
  double beta = 0;                    // beta in the paper
  double weight_decay = 0;
};

// Ftrl-proximal, "follow the regularized leader" (McMahan et al. 2013), as Keras and TensorFlow 1. Slots:
// "accumulator", "linear".
class PANTO_EXPORT Ftrl final : public Optimizer {
 public:
  explicit Ftrl(std::initializer_list<Variable> variables, const FtrlOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit Ftrl(Variables variables, const FtrlOptions& options = {}) : Ftrl(options, given(std::move(variables))) {}
  // For the variables of the graph.
  explicit Ftrl(const FtrlOptions& options);

 private:
  Ftrl(const FtrlOptions& options, std::vector<Variable> variables);
  void create_slots(const std::vector<Variable>& variables) override;
  void apply_dense(const Tensor& gradient, const Variable& v) override;
  void apply_sparse(const Gradient& rows, const Variable& v) override;
  Tensor l2(const Variable& v);
  double power_, initial_accumulator_, l1_, l2_, l2_shrinkage_, beta_;
};

}  // namespace panto
