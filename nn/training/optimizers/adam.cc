#include "panto/nn/training/optimizers/adam.h"

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/operators.h"
#include "panto/nn/layers/initializers.h"
#include "panto/nn/training/options.h"
#include "panto/ops/math.h"
#include "panto/ops/state.h"

namespace panto {

// ---- Adam and AdamW ------------------------------------------------------------------------------------------------

Adam::Adam(std::initializer_list<Variable> variables, const AdamOptions& options) : Adam(options, given(variables)) {}
Adam::Adam(const AdamOptions& options) : Adam(options, std::vector<Variable>()) {}
Adam::Adam(const AdamOptions& options, std::vector<Variable> variables)
    : Optimizer(std::move(variables), options.learning_rate, options.weight_decay),
      beta1_(options.beta1),
      beta2_(options.beta2),
      epsilon_(not_negative("epsilon", options.epsilon)),
      amsgrad_(options.amsgrad) {
  expect_share("beta1", beta1_);
  expect_share("beta2", beta2_);
  build();
}

void Adam::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& v : variables) {
    add_slot(v, "m");
    add_slot(v, "v");
    if (amsgrad_) add_slot(v, "vhat");
  }
  power1_ = add_shared("beta1_power", beta1_);
  power2_ = add_shared("beta2_power", beta2_);
}

void Adam::prepare() {
  now1_ = Scalar(power1_.value());
  now2_ = Scalar(power2_.value());
}

void Adam::apply_dense(const Tensor& gradient, const Variable& v) {
  const Tensor &power1 = now1_.as(v.dtype()), &power2 = now2_.as(v.dtype());
  if (amsgrad_) {
    resource_apply_adam_with_amsgrad(v, get_slot(v, "m"), get_slot(v, "v"), get_slot(v, "vhat"), power1, power2,
                                     rate(v), beta1_, beta2_, epsilon_, gradient);
  } else {
    resource_apply_adam(v, get_slot(v, "m"), get_slot(v, "v"), power1, power2, rate(v), beta1_, beta2_, epsilon_,
                        gradient);
  }
}

void Adam::finish() {
  power1_.assign(now1_.value() * beta1_);
  power2_.assign(now2_.value() * beta2_);
}

AdamW::AdamW(std::initializer_list<Variable> variables, const AdamWOptions& options)
    : AdamW(options, given(variables)) {}
AdamW::AdamW(const AdamWOptions& options) : AdamW(options, std::vector<Variable>()) {}
AdamW::AdamW(const AdamWOptions& options, std::vector<Variable> variables)
    : Adam({.learning_rate = options.learning_rate,
            .beta1 = options.beta1,
            .beta2 = options.beta2,
            .epsilon = options.epsilon,
            .amsgrad = options.amsgrad,
            .weight_decay = options.weight_decay},
           std::move(variables)) {}

// ---- Adamax --------------------------------------------------------------------------------------------------------

Adamax::Adamax(std::initializer_list<Variable> variables, const AdamaxOptions& options)
    : Adamax(options, given(variables)) {}
Adamax::Adamax(const AdamaxOptions& options) : Adamax(options, std::vector<Variable>()) {}
Adamax::Adamax(const AdamaxOptions& options, std::vector<Variable> variables)
    : Optimizer(std::move(variables), options.learning_rate, options.weight_decay),
      beta1_(options.beta1),
      beta2_(options.beta2),
      epsilon_(not_negative("epsilon", options.epsilon)) {
  expect_share("beta1", beta1_);
  expect_share("beta2", beta2_);
  build();
}

void Adamax::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& v : variables) {
    add_slot(v, "m");
    add_slot(v, "v");
  }
  power_ = add_shared("beta1_power", beta1_);
}

void Adamax::prepare() { now_power_ = Scalar(power_.value()); }

void Adamax::apply_dense(const Tensor& gradient, const Variable& v) {
  resource_apply_ada_max(v, get_slot(v, "m"), get_slot(v, "v"), now_power_.as(v.dtype()), rate(v), beta1_, beta2_,
                         epsilon_, gradient);
}

void Adamax::finish() { power_.assign(now_power_.value() * beta1_); }

// ---- Nadam ---------------------------------------------------------------------------------------------------------

Nadam::Nadam(std::initializer_list<Variable> variables, const NadamOptions& options)
    : Nadam(options, given(variables)) {}
Nadam::Nadam(const NadamOptions& options) : Nadam(options, std::vector<Variable>()) {}
Nadam::Nadam(const NadamOptions& options, std::vector<Variable> variables)
    : Optimizer(std::move(variables), options.learning_rate, options.weight_decay),
      beta1_(options.beta1),
      beta2_(options.beta2),
      epsilon_(not_negative("epsilon", options.epsilon)) {
  expect_share("beta1", beta1_);
  expect_share("beta2", beta2_);
  build();
}

void Nadam::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& v : variables) {
    add_slot(v, "m");
    add_slot(v, "v");
  }
  product_ = add_shared("momentum_product", 1);
  power_ = add_shared("beta2_power", beta2_);
  count_steps();
}

void Nadam::prepare() {
  const auto momentum = [this](const Tensor& t) { return beta1_ * (1.0 - 0.5 * pow(tensor(0.96), cast(t, kFloat64))); };
  const Tensor now = momentum(step() + int64_t{1}), next = momentum(step() + int64_t{2});
  const Tensor before = product_.value();
  const Tensor product = cast(before, kFloat64) * now;
  const Tensor by_momentum = next / (1.0 - product * next), by_gradient = (1.0 - now) / (1.0 - product);
  next_product_ = Scalar(product);
  now_power_ = Scalar(power_.value());
  const Tensor rest = 1.0 - cast(now_power_.value(), kFloat64);
  numbers_ = numbers({by_momentum, by_gradient, rest, tensor(1 - beta1_), tensor(1 - beta2_), tensor(epsilon_)});
}

void Nadam::apply_dense(const Tensor& gradient, const Variable& v) {
  const Variable &first = get_slot(v, "m"), &second = get_slot(v, "v");
  const auto rule = [](std::span<const Tensor> in, std::span<const Tensor> numbers) -> std::vector<Tensor> {
    const Tensor &before = in[0], &m_before = in[1], &s_before = in[2], &g = in[3];
    const Tensor &rate = numbers[0], &by_momentum = numbers[1], &by_gradient = numbers[2], &rest = numbers[3];
    const Tensor m = m_before + (g - m_before) * numbers[4];
    const Tensor s = s_before + (square(g) - s_before) * numbers[5];
    const Tensor direction = by_momentum * m + by_gradient * g;
    return {before - rate * direction / (sqrt(s / rest) + numbers[6]), m, s};
  };
  const std::vector<Tensor> after =
      rule_(v, rule, {v.value(), first.value(), second.value(), gradient}, numbers_.as(v.dtype()));
  v.assign(after[0]);
  first.assign(after[1]);
  second.assign(after[2]);
}

void Nadam::finish() {
  product_.assign(next_product_.as(product_.dtype()));
  power_.assign(now_power_.value() * beta2_);
}

// ---- ScheduleFreeAdamW ---------------------------------------------------------------------------------------------

ScheduleFreeAdamW::ScheduleFreeAdamW(std::initializer_list<Variable> variables, const ScheduleFreeAdamWOptions& options)
    : ScheduleFreeAdamW(options, given(variables)) {}
ScheduleFreeAdamW::ScheduleFreeAdamW(const ScheduleFreeAdamWOptions& options)
    : ScheduleFreeAdamW(options, std::vector<Variable>()) {}
ScheduleFreeAdamW::ScheduleFreeAdamW(const ScheduleFreeAdamWOptions& options, std::vector<Variable> variables)
    : Optimizer(std::move(variables), options.learning_rate),
      beta1_(positive("beta1", options.beta1)),
      beta2_(options.beta2),
      epsilon_(not_negative("epsilon", options.epsilon)),
      decay_(not_negative("weight_decay", options.weight_decay)),
      warmup_steps_(options.warmup_steps) {
  expect_share("beta1", beta1_);
  expect_share("beta2", beta2_);
  if (warmup_steps_ < 0) invalid("warmup_steps: expected at least 0, got {}", warmup_steps_);
  build();
}

void ScheduleFreeAdamW::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& v : variables) {
    add_slot(v, "z", v.initialized_value());
    add_slot(v, "v");
  }
  count_steps();
}

void ScheduleFreeAdamW::prepare() {
  const Tensor t = cast(step() + int64_t{1}, kFloat64);
  const Tensor warmed = warmup_steps_ == 0 ? tensor(1.0) : minimum(t / static_cast<double>(warmup_steps_), 1.0);
  const Tensor rest = 1.0 - pow(tensor(beta2_), t), weight = 1.0 / t;
  numbers_ = numbers({warmed, rest, weight, tensor(beta1_), tensor(1 - beta1_), tensor(1 - beta2_)});
}

namespace {

// Recovers x from v = (1 - beta1) * z + beta1 * x.
Tensor mean_of(const Tensor& v, const Tensor& z, const Tensor& beta1, const Tensor& rest1) {
  return (v - rest1 * z) / beta1;
}

}  // namespace

Tensor ScheduleFreeAdamW::evaluated(const Variable& v) const {
  const auto number = [&](double x) { return constant_initializer(x)(Shape(), v.dtype()); };
  return mean_of(v.value(), get_slot(v, "z").value(), number(beta1_), number(1 - beta1_));
}

void ScheduleFreeAdamW::apply_dense(const Tensor& gradient, const Variable& v) {
  const Variable &z_slot = get_slot(v, "z"), &s_slot = get_slot(v, "v");
  const double epsilon = epsilon_in(v.dtype(), epsilon_);
  const auto rule_with = [epsilon](double decay) {
    return [epsilon, decay](std::span<const Tensor> in, std::span<const Tensor> numbers) -> std::vector<Tensor> {
      const Tensor &y = in[0], &z = in[1], &s_before = in[2], &g = in[3];
      const Tensor &rate = numbers[0], &warmed = numbers[1], &rest = numbers[2], &weight = numbers[3];
      const Tensor &beta1 = numbers[4], &rest1 = numbers[5], &rest2 = numbers[6];
      const Tensor s = s_before + (square(g) - s_before) * rest2;
      Tensor direction = g / (sqrt(s / rest) + epsilon);
      if (decay != 0) direction = direction + decay * y;
      const Tensor next = z - rate * (warmed * direction);
      const Tensor x = mean_of(y, z, beta1, rest1);
      const Tensor mean = x + weight * (next - x);
      return {rest1 * next + beta1 * mean, next, s};
    };
  };
  const bool decayed = decay_ != 0 && decays(v);
  FusedRule& rule = decayed ? decayed_rule_ : rule_;
  const std::vector<Tensor> after = rule(v, rule_with(decayed ? decay_ : 0),
                                         {v.value(), z_slot.value(), s_slot.value(), gradient}, numbers_.as(v.dtype()));
  v.assign(after[0]);
  z_slot.assign(after[1]);
  s_slot.assign(after[2]);
}

}  // namespace panto
