// Adagrad and its relatives: step sizes fall as squared gradients accumulate.
//
//   Adagrad adagrad(model.variables(), {.learning_rate = 0.01});
//   adagrad.apply(tape.gradient(loss, adagrad.variables()));
//
// A sparse gradient changes only its rows, of the variable and of the slots, as in TensorFlow 1 and Keras. Weight decay
// applies to whole variables.
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

struct AdagradOptions {
  Schedule learning_rate = 0.001;
  double initial_accumulator = 0.1;  // as Keras; PyTorch: 0
  double epsilon = 1e-7;             // added to the root
  double weight_decay = 0;
};

// Adagrad (Duchi et al. 2011): a += dv^2; v -= learning_rate * dv / (sqrt(a) + epsilon). Keras adds epsilon to a.
// Slots: "accumulator".
class PANTO_EXPORT Adagrad final : public Optimizer {
 public:
  explicit Adagrad(std::initializer_list<Variable> variables, const AdagradOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit Adagrad(Variables variables, const AdagradOptions& options = {})
      : Adagrad(options, given(std::move(variables))) {}
  // For the variables of the graph.
  explicit Adagrad(const AdagradOptions& options);

 private:
  Adagrad(const AdagradOptions& options, std::vector<Variable> variables);
  void create_slots(const std::vector<Variable>& variables) override;
  void apply_dense(const Tensor& gradient, const Variable& v) override;
  void apply_sparse(const Gradient& rows, const Variable& v) override;
  double initial_accumulator_, epsilon_;
};

struct AdagradDAOptions {
  Schedule learning_rate = 0.001;
  double initial_gradient_squared_accumulator = 0.1;  // positive
  double l1 = 0;                                      // TensorFlow's l1_regularization_strength
  double l2 = 0;                                      // l2_regularization_strength
};

// Adagrad with dual averaging (Duchi et al. 2011), as TensorFlow 1: each step recomputes variables from the sums of all
// gradients, independent of their previous values; with l1 most of their elements are 0. Slots: "gradient_accumulator",
// "gradient_squared_accumulator", and the shared "step".
class PANTO_EXPORT AdagradDA final : public Optimizer {
 public:
  explicit AdagradDA(std::initializer_list<Variable> variables, const AdagradDAOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit AdagradDA(Variables variables, const AdagradDAOptions& options = {})
      : AdagradDA(options, given(std::move(variables))) {}
  // For the variables of the graph.
  explicit AdagradDA(const AdagradDAOptions& options);

 private:
  AdagradDA(const AdagradDAOptions& options, std::vector<Variable> variables);
  void create_slots(const std::vector<Variable>& variables) override;
  void prepare() override;
  void apply_dense(const Tensor& gradient, const Variable& v) override;
  void apply_sparse(const Gradient& rows, const Variable& v) override;
  double initial_accumulator_, l1_, l2_;
  Tensor steps_;  // including this one
};

struct ProximalAdagradOptions {
  Schedule learning_rate = 0.001;
  double initial_accumulator = 0.1;  // positive
  double l1 = 0;                     // TensorFlow's l1_regularization_strength
  double l2 = 0;                     // l2_regularization_strength
};

// Adagrad with a proximal step (Duchi and Singer 2009), as TensorFlow 1: a += dv^2; r = learning_rate / sqrt(a); p = v
// - r * dv; v = sign(p) * max(|p| - r * l1, 0) / (1 + r * l2). Slots: "accumulator". A step throws InvalidArgument if
// the rate is 0.
class PANTO_EXPORT ProximalAdagrad final : public Optimizer {
 public:
  explicit ProximalAdagrad(std::initializer_list<Variable> variables, const ProximalAdagradOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit ProximalAdagrad(Variables variables, const ProximalAdagradOptions& options = {})
      : ProximalAdagrad(options, given(std::move(variables))) {}
  // For the variables of the graph.
  explicit ProximalAdagrad(const ProximalAdagradOptions& options);

 private:
  ProximalAdagrad(const ProximalAdagradOptions& options, std::vector<Variable> variables);
  void create_slots(const std::vector<Variable>& variables) override;
  void apply_dense(const Tensor& gradient, const Variable& v) override;
  void apply_sparse(const Gradient& rows, const Variable& v) override;
  double initial_accumulator_, l1_, l2_;
};

struct AdadeltaOptions {
  Schedule learning_rate = 0.001;
  double rho = 0.95;  // in [0, 1)
  double epsilon = 1e-7;
  double weight_decay = 0;
};

// Adadelta (Zeiler 2012), as Keras: a = rho * a + (1 - rho) * dv^2; d = sqrt(u + epsilon) / sqrt(a + epsilon) * dv;
// u = rho * u + (1 - rho) * d^2; v -= learning_rate * d. Slots: "accum" (a), "accum_update" (u).
class PANTO_EXPORT Adadelta final : public Optimizer {
 public:
  explicit Adadelta(std::initializer_list<Variable> variables, const AdadeltaOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit Adadelta(Variables variables, const AdadeltaOptions& options = {})
      : Adadelta(options, given(std::move(variables))) {}
  // For the variables of the graph.
  explicit Adadelta(const AdadeltaOptions& options);

 private:
  Adadelta(const AdadeltaOptions& options, std::vector<Variable> variables);
  void create_slots(const std::vector<Variable>& variables) override;
  void apply_dense(const Tensor& gradient, const Variable& v) override;
  void apply_sparse(const Gradient& rows, const Variable& v) override;
  double rho_, epsilon_;
};

}  // namespace panto
