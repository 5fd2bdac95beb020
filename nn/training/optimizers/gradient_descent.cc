#include "panto/nn/training/optimizers/gradient_descent.h"

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/operators.h"
#include "panto/nn/training/options.h"
#include "panto/ops/state.h"

namespace panto {

// ---- Sgd -----------------------------------------------------------------------------------------------------------

Sgd::Sgd(std::initializer_list<Variable> variables, const SgdOptions& options) : Sgd(options, given(variables)) {}
Sgd::Sgd(const SgdOptions& options) : Sgd(options, std::vector<Variable>()) {}
Sgd::Sgd(const SgdOptions& options, std::vector<Variable> variables)
    : Optimizer(std::move(variables), options.learning_rate, options.weight_decay),
      momentum_(options.momentum),
      nesterov_(options.nesterov) {
  expect_share("momentum", momentum_, true);
  if (nesterov_ && momentum_ == 0) invalid("nesterov: expected a momentum above 0, got 0");
  build();
}

void Sgd::create_slots(const std::vector<Variable>& variables) {
  if (momentum_ == 0) return;
  for (const Variable& v : variables) add_slot(v, "momentum");
}

void Sgd::apply_dense(const Tensor& gradient, const Variable& v) {
  if (momentum_ > 0) {
    resource_apply_keras_momentum(v, get_slot(v, "momentum"), rate(v), gradient, momentum_,
                                  {.use_nesterov = nesterov_});
  } else {
    resource_apply_gradient_descent(v, rate(v), gradient);
  }
}

void Sgd::apply_sparse(const Gradient& rows, const Variable& v) {
  resource_sparse_apply_keras_momentum(v, get_slot(v, "momentum"), rate(v), rows.rows, rows.indices, momentum_,
                                       {.use_nesterov = nesterov_});
}

// Subtracting duplicate rows one after the other gives the same sum.
void Sgd::apply_sparse_duplicates(const Gradient& rows, const Variable& v) {
  if (momentum_ > 0) return Optimizer::apply_sparse_duplicates(rows, v);
  resource_scatter_sub(v, rows.indices, rate(v) * rows.rows);
}

// ---- Momentum ------------------------------------------------------------------------------------------------------

Momentum::Momentum(std::initializer_list<Variable> variables, const MomentumOptions& options)
    : Momentum(options, given(variables)) {}
Momentum::Momentum(const MomentumOptions& options) : Momentum(options, std::vector<Variable>()) {}
Momentum::Momentum(const MomentumOptions& options, std::vector<Variable> variables)
    : Optimizer(std::move(variables), options.learning_rate, options.weight_decay),
      momentum_(options.momentum),
      nesterov_(options.nesterov) {
  expect_share("momentum", momentum_, true);
  build();
}

void Momentum::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& v : variables) add_slot(v, "momentum");
}

void Momentum::apply_dense(const Tensor& gradient, const Variable& v) {
  resource_apply_momentum(v, get_slot(v, "momentum"), rate(v), gradient, momentum_, {.use_nesterov = nesterov_});
}

void Momentum::apply_sparse(const Gradient& rows, const Variable& v) {
  resource_sparse_apply_momentum(v, get_slot(v, "momentum"), rate(v), rows.rows, rows.indices, momentum_,
                                 {.use_nesterov = nesterov_});
}

// ---- ProximalGradientDescent ---------------------------------------------------------------------------------------

ProximalGradientDescent::ProximalGradientDescent(std::initializer_list<Variable> variables,
                                                 const ProximalGradientDescentOptions& options)
    : ProximalGradientDescent(options, given(variables)) {}
ProximalGradientDescent::ProximalGradientDescent(const ProximalGradientDescentOptions& options)
    : ProximalGradientDescent(options, std::vector<Variable>()) {}
ProximalGradientDescent::ProximalGradientDescent(const ProximalGradientDescentOptions& options,
                                                 std::vector<Variable> variables)
    : Optimizer(std::move(variables), options.learning_rate),
      l1_(not_negative("l1", options.l1)),
      l2_(not_negative("l2", options.l2)) {
  build();
}

void ProximalGradientDescent::apply_dense(const Tensor& gradient, const Variable& v) {
  resource_apply_proximal_gradient_descent(v, rate(v), l1_, l2_, gradient);
}

void ProximalGradientDescent::apply_sparse(const Gradient& rows, const Variable& v) {
  resource_sparse_apply_proximal_gradient_descent(v, rate(v), l1_, l2_, rows.rows, rows.indices);
}

}  // namespace panto
