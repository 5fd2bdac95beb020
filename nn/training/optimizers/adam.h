// Adam and its relatives.
//
//   AdamW adam(model.variables(), {.learning_rate = 1e-3});
//   adam.apply(tape.gradient(loss, adam.variables()));
//
// Sparse gradients follow TensorFlow 1's sparse rule: moments decay, and variables change, also where the gradient is
// zero. A dense gradient has the same effect, so sparse ones are made dense.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/nn/training/optimizers/fused_rule.h"
#include "panto/nn/training/optimizers/optimizer.h"
#include "panto/nn/training/schedule.h"

namespace panto {

struct AdamOptions {
  Schedule learning_rate = 0.001;
  double beta1 = 0.9;     // in [0, 1)
  double beta2 = 0.999;   // in [0, 1)
  double epsilon = 1e-7;  // as Keras; added to the root, as in the paper's efficient form
  bool amsgrad = false;   // divide by the largest second moment so far (Reddi et al. 2018)
  double weight_decay = 0;
};

// Adam (Kingma and Ba 2015, section 2, with bias correction), as Keras. Slots: "m", "v" and, with amsgrad, "vhat" per
// variable, and the shared "beta1_power" and "beta2_power".
class PANTO_EXPORT Adam : public Optimizer {
 public:
  explicit Adam(std::initializer_list<Variable> variables, const AdamOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit Adam(Variables variables, const AdamOptions& options = {}) : Adam(options, given(std::move(variables))) {}
  // For the variables of the graph.
  explicit Adam(const AdamOptions& options);

 protected:
  Adam(const AdamOptions& options, std::vector<Variable> variables);

 private:
  void create_slots(const std::vector<Variable>& variables) final;
  void prepare() final;
  void apply_dense(const Tensor& gradient, const Variable& v) final;
  void finish() final;
  double beta1_, beta2_, epsilon_;
  bool amsgrad_;
  Variable power1_, power2_;
  Scalar now1_, now2_;
};

struct AdamWOptions {
  Schedule learning_rate = 0.001;
  double weight_decay = 0.004;  // as Keras
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
};

// Adam with decoupled weight decay (Loshchilov and Hutter 2019).
class PANTO_EXPORT AdamW final : public Adam {
 public:
  explicit AdamW(std::initializer_list<Variable> variables, const AdamWOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit AdamW(Variables variables, const AdamWOptions& options = {}) : AdamW(options, given(std::move(variables))) {}
  // For the variables of the graph.
  explicit AdamW(const AdamWOptions& options);

 private:
  AdamW(const AdamWOptions& options, std::vector<Variable> variables);
};

struct AdamaxOptions {
  Schedule learning_rate = 0.001;
  double beta1 = 0.9;    // in [0, 1)
  double beta2 = 0.999;  // in [0, 1)
  double epsilon = 1e-7;
  double weight_decay = 0;
};

// AdaMax (Kingma and Ba 2015, section 7.1), Adam with the infinity norm, as Keras: m += (1 - beta1) * (dv - m); u =
// max(beta2 * u, |dv|); v -= learning_rate / (1 - beta1^t) * m / (u + epsilon). Slots: "m", "v" (u), and the shared
// "beta1_power".
class PANTO_EXPORT Adamax final : public Optimizer {
 public:
  explicit Adamax(std::initializer_list<Variable> variables, const AdamaxOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit Adamax(Variables variables, const AdamaxOptions& options = {})
      : Adamax(options, given(std::move(variables))) {}
  // For the variables of the graph.
  explicit Adamax(const AdamaxOptions& options);

 private:
  Adamax(const AdamaxOptions& options, std::vector<Variable> variables);
  void create_slots(const std::vector<Variable>& variables) override;
  void prepare() override;
  void apply_dense(const Tensor& gradient, const Variable& v) override;
  void finish() override;
  double beta1_, beta2_, epsilon_;
  Variable power_;
  Scalar now_power_;
};

struct NadamOptions {
  Schedule learning_rate = 0.001;
  double beta1 = 0.9;    // in [0, 1)
  double beta2 = 0.999;  // in [0, 1)
  double epsilon = 1e-7;
  double weight_decay = 0;
};

// Adam with Nesterov's momentum (Dozat 2015), as Keras: the momentum of step t, from 1, is beta1 * (1 - 0.96^t / 2).
// Slots: "m", "v", and the shared "momentum_product", "beta2_power" and "step".
class PANTO_EXPORT Nadam final : public Optimizer {
 public:
  explicit Nadam(std::initializer_list<Variable> variables, const NadamOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit Nadam(Variables variables, const NadamOptions& options = {}) : Nadam(options, given(std::move(variables))) {}
  // For the variables of the graph.
  explicit Nadam(const NadamOptions& options);

 private:
  Nadam(const NadamOptions& options, std::vector<Variable> variables);
  void create_slots(const std::vector<Variable>& variables) override;
  void prepare() override;
  void apply_dense(const Tensor& gradient, const Variable& v) override;
  void finish() override;
  double beta1_, beta2_, epsilon_;
  Variable product_, power_;
  // Numbers of one step: the weights of momentum and gradient, and the divisor of the second moment.
  Scalar numbers_;
  Scalar next_product_, now_power_;
  FusedRule rule_;
};

struct ScheduleFreeAdamWOptions {
  Schedule learning_rate = 0.0025;
  double beta1 = 0.9;    // in (0, 1): how close the variables stay to the average
  double beta2 = 0.999;  // in [0, 1)
  double epsilon = 1e-8;
  int64_t warmup_steps = 0;  // steps in which the rate grows linearly to its full value
  double weight_decay = 0;
};

// Adam without momentum and without a schedule (Defazio et al. 2024): z -= learning_rate * (dv / (sqrt(s) + epsilon) +
// weight_decay * v), where s is the bias-corrected second moment; x is the mean of all z, and v = (1 - beta1) * z +
// beta1 * x. Evaluate the model with x: see `evaluated`. Slots: "z", "v" (s), and the shared "step".
class PANTO_EXPORT ScheduleFreeAdamW final : public Optimizer {
 public:
  explicit ScheduleFreeAdamW(std::initializer_list<Variable> variables, const ScheduleFreeAdamWOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit ScheduleFreeAdamW(Variables variables, const ScheduleFreeAdamWOptions& options = {})
      : ScheduleFreeAdamW(options, given(std::move(variables))) {}
  // For the variables of the graph.
  explicit ScheduleFreeAdamW(const ScheduleFreeAdamWOptions& options);

  // x, the mean of all z: the value to evaluate a model with. Throws InvalidArgument for a variable that the optimizer
  // does not have.
  Tensor evaluated(const Variable& v) const;

 private:
  ScheduleFreeAdamW(const ScheduleFreeAdamWOptions& options, std::vector<Variable> variables);
  void create_slots(const std::vector<Variable>& variables) override;
  void prepare() override;
  void apply_dense(const Tensor& gradient, const Variable& v) override;
  double beta1_, beta2_, epsilon_, decay_;
  int64_t warmup_steps_;
  Scalar numbers_;  // the rate, shares of the second moment, and the share of z in x
  FusedRule rule_, decayed_rule_;
};

}  // namespace panto
