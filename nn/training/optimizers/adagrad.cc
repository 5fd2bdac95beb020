#include "panto/nn/training/optimizers/adagrad.h"

#include "panto/lib/ops/operators.h"
#include "panto/nn/training/options.h"
#include "panto/ops/state.h"

namespace panto {

// ---- Adagrad -------------------------------------------------------------------------------------------------------

Adagrad::Adagrad(std::initializer_list<Variable> variables, const AdagradOptions& options)
    : Adagrad(options, given(variables)) {}
Adagrad::Adagrad(const AdagradOptions& options) : Adagrad(options, std::vector<Variable>()) {}
Adagrad::Adagrad(const AdagradOptions& options, std::vector<Variable> variables)
    : Optimizer(std::move(variables), options.learning_rate, options.weight_decay),
      initial_accumulator_(not_negative("initial_accumulator", options.initial_accumulator)),
      epsilon_(not_negative("epsilon", options.epsilon)) {
  build();
}

void Adagrad::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& v : variables) add_slot(v, "accumulator", initial_accumulator_);
}

void Adagrad::apply_dense(const Tensor& gradient, const Variable& v) {
  resource_apply_adagrad(v, get_slot(v, "accumulator"), rate(v), epsilon_, gradient);
}

void Adagrad::apply_sparse(const Gradient& rows, const Variable& v) {
  resource_sparse_apply_adagrad(v, get_slot(v, "accumulator"), rate(v), epsilon_, rows.rows, rows.indices);
}

// ---- AdagradDA -----------------------------------------------------------------------------------------------------

AdagradDA::AdagradDA(std::initializer_list<Variable> variables, const AdagradDAOptions& options)
    : AdagradDA(options, given(variables)) {}
AdagradDA::AdagradDA(const AdagradDAOptions& options) : AdagradDA(options, std::vector<Variable>()) {}
AdagradDA::AdagradDA(const AdagradDAOptions& options, std::vector<Variable> variables)
    : Optimizer(std::move(variables), options.learning_rate),
      initial_accumulator_(
          positive("initial_gradient_squared_accumulator", options.initial_gradient_squared_accumulator)),
      l1_(not_negative("l1", options.l1)),
      l2_(not_negative("l2", options.l2)) {
  build();
}

void AdagradDA::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& v : variables) {
    add_slot(v, "gradient_accumulator");
    add_slot(v, "gradient_squared_accumulator", initial_accumulator_);
  }
  count_steps();
}

void AdagradDA::prepare() { steps_ = step() + int64_t{1}; }

void AdagradDA::apply_dense(const Tensor& gradient, const Variable& v) {
  resource_apply_adagrad_da(v, get_slot(v, "gradient_accumulator"), get_slot(v, "gradient_squared_accumulator"),
                            gradient, rate(v), l1_, l2_, steps_);
}

void AdagradDA::apply_sparse(const Gradient& rows, const Variable& v) {
  resource_sparse_apply_adagrad_da(v, get_slot(v, "gradient_accumulator"), get_slot(v, "gradient_squared_accumulator"),
                                   rows.rows, rows.indices, rate(v), l1_, l2_, steps_);
}

// ---- ProximalAdagrad -----------------------------------------------------------------------------------------------

ProximalAdagrad::ProximalAdagrad(std::initializer_list<Variable> variables, const ProximalAdagradOptions& options)
    : ProximalAdagrad(options, given(variables)) {}
ProximalAdagrad::ProximalAdagrad(const ProximalAdagradOptions& options)
    : ProximalAdagrad(options, std::vector<Variable>()) {}
ProximalAdagrad::ProximalAdagrad(const ProximalAdagradOptions& options, std::vector<Variable> variables)
    : Optimizer(std::move(variables), options.learning_rate),
      initial_accumulator_(positive("initial_accumulator", options.initial_accumulator)),
      l1_(not_negative("l1", options.l1)),
      l2_(not_negative("l2", options.l2)) {
  build();
}

void ProximalAdagrad::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& v : variables) add_slot(v, "accumulator", initial_accumulator_);
}

void ProximalAdagrad::apply_dense(const Tensor& gradient, const Variable& v) {
  resource_apply_proximal_adagrad(v, get_slot(v, "accumulator"), rate(v), l1_, l2_, gradient);
}

void ProximalAdagrad::apply_sparse(const Gradient& rows, const Variable& v) {
  resource_sparse_apply_proximal_adagrad(v, get_slot(v, "accumulator"), rate(v), l1_, l2_, rows.rows, rows.indices);
}

// ---- Adadelta ------------------------------------------------------------------------------------------------------

Adadelta::Adadelta(std::initializer_list<Variable> variables, const AdadeltaOptions& options)
    : Adadelta(options, given(variables)) {}
Adadelta::Adadelta(const AdadeltaOptions& options) : Adadelta(options, std::vector<Variable>()) {}
Adadelta::Adadelta(const AdadeltaOptions& options, std::vector<Variable> variables)
    : Optimizer(std::move(variables), options.learning_rate, options.weight_decay),
      rho_(options.rho),
      epsilon_(positive("epsilon", options.epsilon)) {
  expect_share("rho", rho_);
  build();
}

void Adadelta::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& v : variables) {
    add_slot(v, "accum");
    add_slot(v, "accum_update");
  }
}

void Adadelta::apply_dense(const Tensor& gradient, const Variable& v) {
  resource_apply_adadelta(v, get_slot(v, "accum"), get_slot(v, "accum_update"), rate(v), rho_, epsilon_, gradient);
}

void Adadelta::apply_sparse(const Gradient& rows, const Variable& v) {
  resource_sparse_apply_adadelta(v, get_slot(v, "accum"), get_slot(v, "accum_update"), rate(v), rho_, epsilon_,
                                 rows.rows, rows.indices);
}

}  // namespace panto
