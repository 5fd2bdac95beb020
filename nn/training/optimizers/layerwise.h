// Optimizers whose step depends on a variable as a whole: on its norm, its rows and columns, its singular values.
//
//   Lamb lamb(model.variables(), {.learning_rate = 1e-3});
//   lamb.apply(tape.gradient(loss, lamb.variables()));
//
// Sparse gradients are made dense, as in Keras.
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/nn/training/optimizers/optimizer.h"
#include "panto/nn/training/schedule.h"

namespace panto {

struct LambOptions {
  Schedule learning_rate = 0.001;
  double beta1 = 0.9;    // in [0, 1)
  double beta2 = 0.999;  // in [0, 1)
  double epsilon = 1e-7;
  double weight_decay = 0;
};

// LAMB (You et al. 2020), as Keras: Adam's direction u = m / (sqrt(v) + epsilon), with bias-corrected moments, scaled
// by norm(v) / norm(u) if neither is 0. Slots: "m", "v", and the shared "beta1_power", "beta2_power".
class PANTO_EXPORT Lamb final : public Optimizer {
 public:
  explicit Lamb(std::initializer_list<Variable> variables, const LambOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit Lamb(Variables variables, const LambOptions& options = {}) : Lamb(options, given(std::move(variables))) {}
  // For the variables of the graph.
  explicit Lamb(const LambOptions& options);

 private:
  Lamb(const LambOptions& options, std::vector<Variable> variables);
  void create_slots(const std::vector<Variable>& variables) override;
  void prepare() override;
  void apply_dense(const Tensor& gradient, const Variable& v) override;
  void finish() override;
  double beta1_, beta2_, epsilon_;
  Variable power1_, power2_;
  Scalar now1_, now2_, rest1_, rest2_;
};

struct AdafactorOptions {
  Schedule learning_rate = 0.001;  // an upper limit; the rate of step t, from 1, is at most 1 / sqrt(t)
  double beta2_decay = -0.8;       // below 0: at step t the second moment is multiplied by 1 - t^beta2_decay
  double epsilon1 = 1e-30;         // added to squares of gradients
  double epsilon2 = 1e-3;          // the smallest variable size to which the step is relative
  double clip_threshold = 1;       // the largest size of a step, relative to the rate
  double weight_decay = 0;
};

// Adafactor (Shazeer and Stern 2018), as Keras: for variables with at least two dimensions it keeps the second moments'
// means over the last dimension ("r") and over the one before ("c"), for others the moments ("v"). "step" is shared.
class PANTO_EXPORT Adafactor final : public Optimizer {
 public:
  explicit Adafactor(std::initializer_list<Variable> variables, const AdafactorOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit Adafactor(Variables variables, const AdafactorOptions& options = {})
      : Adafactor(options, given(std::move(variables))) {}
  // For the variables of the graph.
  explicit Adafactor(const AdafactorOptions& options);

 private:
  Adafactor(const AdafactorOptions& options, std::vector<Variable> variables);
  void create_slots(const std::vector<Variable>& variables) override;
  void prepare() override;
  void apply_dense(const Tensor& gradient, const Variable& v) override;
  double beta2_decay_, epsilon1_, epsilon2_, clip_threshold_;
  Scalar keeps_, limit_;  // the second moments' factor at this step; the largest rate
};

struct MuonOptions {
  Schedule learning_rate = 0.001;
  double momentum = 0.95;  // in [0, 1)
  bool nesterov = true;
  int steps = 5;                         // of the Newton-Schulz iteration; Keras's ns_steps
  std::optional<double> rms_rate = 0.2;  // the step's RMS, like Adam's; none: the iteration's (Jordan)
  double weight_decay = 0.004;           // as Keras
  std::vector<Variable> by_adam = {};    // matrices to train by Adam, such as embeddings
  double adam_beta1 = 0.9;               // for these and for variables that are not matrices
  double adam_beta2 = 0.999;
  double epsilon = 1e-7;
  double adam_rate_ratio = 1;  // Adam's rate, as a share of learning_rate
};

// Muon (Jordan et al. 2024; with rms_rate: Liu et al. 2025), as Keras: a matrix's momentum is made nearly orthogonal
// before it is applied. Other variables are trained by Adam. Slots: "momentum" of the former, "m" and "v" of the
// latter, and the shared "beta1_power", "beta2_power".
class PANTO_EXPORT Muon final : public Optimizer {
 public:
  explicit Muon(std::initializer_list<Variable> variables, const MuonOptions& options = {});
  template <std::same_as<std::vector<Variable>> Variables>
  explicit Muon(Variables variables, const MuonOptions& options = {}) : Muon(options, given(std::move(variables))) {}
  // For the variables of the graph.
  explicit Muon(const MuonOptions& options);

 private:
  Muon(const MuonOptions& options, std::vector<Variable> variables);
  void create_slots(const std::vector<Variable>& variables) override;
  void prepare() override;
  void apply_dense(const Tensor& gradient, const Variable& v) override;
  void finish() override;
  bool is_by_adam(const Variable& v) const;
  MuonOptions options_;
  Variable power1_, power2_;
  Scalar now1_, now2_;
};

}  // namespace panto
