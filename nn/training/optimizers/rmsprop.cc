#include "panto/nn/training/optimizers/rmsprop.h"

#include <cmath>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/operators.h"
#include "panto/nn/layers/initializers.h"
#include "panto/nn/training/options.h"
#include "panto/ops/state.h"

namespace panto {

// ---- RMSprop -------------------------------------------------------------------------------------------------------

RMSprop::RMSprop(std::initializer_list<Variable> variables, const RMSpropOptions& options)
    : RMSprop(options, given(variables)) {}
RMSprop::RMSprop(const RMSpropOptions& options) : RMSprop(options, std::vector<Variable>()) {}
RMSprop::RMSprop(const RMSpropOptions& options, std::vector<Variable> variables)
    : Optimizer(std::move(variables), options.learning_rate, options.weight_decay),
      rho_(options.rho),
      momentum_(options.momentum),
      epsilon_(not_negative("epsilon", options.epsilon)),
      centered_(options.centered) {
  expect_share("rho", rho_);
  expect_share("momentum", momentum_, true);
  build();
}

void RMSprop::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& v : variables) {
    add_slot(v, "ms");
    add_slot(v, "mom");
    if (centered_) add_slot(v, "mg");
  }
}

void RMSprop::apply_dense(const Tensor& gradient, const Variable& v) {
  if (centered_) {
    resource_apply_centered_rms_prop(v, get_slot(v, "mg"), get_slot(v, "ms"), get_slot(v, "mom"), rate(v), rho_,
                                     momentum_, epsilon_, gradient);
  } else {
    resource_apply_rms_prop(v, get_slot(v, "ms"), get_slot(v, "mom"), rate(v), rho_, momentum_, epsilon_, gradient);
  }
}

void RMSprop::apply_sparse(const Gradient& rows, const Variable& v) {
  if (centered_) {
    resource_sparse_apply_centered_rms_prop(v, get_slot(v, "mg"), get_slot(v, "ms"), get_slot(v, "mom"), rate(v), rho_,
                                            momentum_, epsilon_, rows.rows, rows.indices);
  } else {
    resource_sparse_apply_rms_prop(v, get_slot(v, "ms"), get_slot(v, "mom"), rate(v), rho_, momentum_, epsilon_,
                                   rows.rows, rows.indices);
  }
}

// ---- Ftrl ----------------------------------------------------------------------------------------------------------

Ftrl::Ftrl(std::initializer_list<Variable> variables, const FtrlOptions& options) : Ftrl(options, given(variables)) {}
Ftrl::Ftrl(const FtrlOptions& options) : Ftrl(options, std::vector<Variable>()) {}
Ftrl::Ftrl(const FtrlOptions& options, std::vector<Variable> variables)
    : Optimizer(std::move(variables), options.learning_rate, options.weight_decay),
      power_(options.learning_rate_power),
      initial_accumulator_(not_negative("initial_accumulator", options.initial_accumulator)),
      l1_(not_negative("l1", options.l1)),
      l2_(not_negative("l2", options.l2)),
      l2_shrinkage_(not_negative("l2_shrinkage", options.l2_shrinkage)),
      beta_(not_negative("beta", options.beta)) {
  if (!(power_ <= 0) || !std::isfinite(power_)) {
    invalid("learning_rate_power: expected a finite number of at most 0, got {}", power_);
  }
  build();
}

void Ftrl::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& v : variables) {
    add_slot(v, "accumulator", initial_accumulator_);
    add_slot(v, "linear");
  }
}

// l2, including the term of the paper's beta.
Tensor Ftrl::l2(const Variable& v) {
  if (beta_ == 0) return constant_initializer(l2_)(Shape(), v.dtype());
  return l2_ + 0.5 * beta_ / rate(v);
}

void Ftrl::apply_dense(const Tensor& gradient, const Variable& v) {
  resource_apply_ftrl(v, get_slot(v, "accumulator"), get_slot(v, "linear"), gradient, rate(v), l1_, l2(v),
                      l2_shrinkage_, power_);
}

void Ftrl::apply_sparse(const Gradient& rows, const Variable& v) {
  resource_sparse_apply_ftrl(v, get_slot(v, "accumulator"), get_slot(v, "linear"), rows.rows, rows.indices, rate(v),
                             l1_, l2(v), l2_shrinkage_, power_);
}

}  // namespace panto
