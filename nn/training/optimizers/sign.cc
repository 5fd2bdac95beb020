#include "panto/nn/training/optimizers/sign.h"

#include <cmath>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/operators.h"
#include "panto/nn/training/options.h"
#include "panto/ops/math.h"
#include "panto/ops/state.h"

namespace panto {

// ---- Lion ----------------------------------------------------------------------------------------------------------

Lion::Lion(std::initializer_list<Variable> variables, const LionOptions& options) : Lion(options, given(variables)) {}
Lion::Lion(const LionOptions& options) : Lion(options, std::vector<Variable>()) {}
Lion::Lion(const LionOptions& options, std::vector<Variable> variables)
    : Optimizer(std::move(variables), options.learning_rate, options.weight_decay),
      beta1_(options.beta1),
      beta2_(options.beta2) {
  expect_share("beta1", beta1_);
  expect_share("beta2", beta2_);
  build();
}

void Lion::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& v : variables) add_slot(v, "m");
}

void Lion::prepare() { numbers_ = numbers({tensor(beta1_), tensor(1 - beta1_), tensor(beta2_), tensor(1 - beta2_)}); }

void Lion::apply_dense(const Tensor& gradient, const Variable& v) {
  const Variable& average = get_slot(v, "m");
  const auto rule = [](std::span<const Tensor> in, std::span<const Tensor> numbers) -> std::vector<Tensor> {
    const Tensor &before = in[0], &m = in[1], &g = in[2];
    const Tensor &rate = numbers[0], &beta1 = numbers[1], &rest1 = numbers[2], &beta2 = numbers[3], &rest2 = numbers[4];
    return {before - rate * sign(m * beta1 + g * rest1), m * beta2 + g * rest2};
  };
  const std::vector<Tensor> after = rule_(v, rule, {v.value(), average.value(), gradient}, numbers_.as(v.dtype()));
  v.assign(after[0]);
  average.assign(after[1]);
}

// ---- AddSign and PowerSign -----------------------------------------------------------------------------------------

AddSign::AddSign(std::initializer_list<Variable> variables, const AddSignOptions& options)
    : AddSign(options, given(variables)) {}
AddSign::AddSign(const AddSignOptions& options) : AddSign(options, std::vector<Variable>()) {}
AddSign::AddSign(const AddSignOptions& options, std::vector<Variable> variables)
    : Optimizer(std::move(variables), options.learning_rate),
      alpha_(not_negative("alpha", options.alpha)),
      beta_(options.beta),
      sign_decay_(options.sign_decay) {
  expect_share("beta", beta_);
  build();
}

void AddSign::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& v : variables) add_slot(v, "m");
  if (sign_decay_.counts_steps()) count_steps();
}

void AddSign::prepare() { now_ = Scalar(sign_decay_(sign_decay_.counts_steps() ? step() : Tensor())); }

void AddSign::apply_dense(const Tensor& gradient, const Variable& v) {
  resource_apply_add_sign(v, get_slot(v, "m"), rate(v), alpha_, now_.as(v.dtype()), beta_, gradient);
}

PowerSign::PowerSign(std::initializer_list<Variable> variables, const PowerSignOptions& options)
    : PowerSign(options, given(variables)) {}
PowerSign::PowerSign(const PowerSignOptions& options) : PowerSign(options, std::vector<Variable>()) {}
PowerSign::PowerSign(const PowerSignOptions& options, std::vector<Variable> variables)
    : Optimizer(std::move(variables), options.learning_rate),
      log_base_(std::log(positive("base", options.base))),
      beta_(options.beta),
      sign_decay_(options.sign_decay) {
  expect_share("beta", beta_);
  build();
}

void PowerSign::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& v : variables) add_slot(v, "m");
  if (sign_decay_.counts_steps()) count_steps();
}

void PowerSign::prepare() { now_ = Scalar(sign_decay_(sign_decay_.counts_steps() ? step() : Tensor())); }

void PowerSign::apply_dense(const Tensor& gradient, const Variable& v) {
  resource_apply_power_sign(v, get_slot(v, "m"), rate(v), log_base_, now_.as(v.dtype()), beta_, gradient);
}

}  // namespace panto
