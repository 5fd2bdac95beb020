#include "panto/nn/training/schedule.h"

#include <cmath>
#include <numbers>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/dtype.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {

namespace {

double checked_rate(const char* what, double rate) {
  if (!std::isfinite(rate) || rate < 0) invalid("{}: expected a finite number of at least 0, got {}", what, rate);
  return rate;
}

void expect_positive(const char* what, int64_t steps) {
  if (steps <= 0) invalid("{}: expected a positive number, got {}", what, steps);
}

void expect_floating_scalar(const char* what, const Tensor& rate) {
  if (!rate.defined()) invalid("{}: expected a floating scalar, got none", what);
  if (!dtypes::kFloating.contains(rate.dtype()) || !rate.partial_shape().compatible_with(Shape())) {
    invalid("{}: expected a floating scalar, got {}{}", what, dtype_name(rate.dtype()),
            rate.partial_shape().to_string());
  }
}

Tensor real_step(const Tensor& step) { return cast(step, kFloat64); }

// step / steps; with `whole`, rounded down.
Tensor periods(const Tensor& step, int64_t steps, bool whole) {
  const Tensor times = real_step(step) / static_cast<double>(steps);
  return whole ? floor(times) : times;
}

}  // namespace

Schedule::Schedule(double rate) : constant_(checked_rate("learning rate", rate)), counts_steps_(false) {}

Schedule::Schedule(const Tensor& rate) : counts_steps_(false) {
  expect_floating_scalar("learning rate", rate);
  if (rate.is_meta()) {
    function_ = [rate](const Tensor&) { return rate; };
  } else {
    constant_ = checked_rate("learning rate", rate.item<double>());
  }
}

Schedule::Schedule(const Variable& rate) : counts_steps_(false) {
  if (!rate.defined()) invalid("learning rate: expected a floating scalar, got a default-constructed variable");
  if (!dtypes::kFloating.contains(rate.dtype()) || !rate.shape().compatible_with(Shape())) {
    invalid("learning rate: expected a floating scalar, got {}{}", dtype_name(rate.dtype()), rate.shape().to_string());
  }
  function_ = [rate](const Tensor&) { return rate.value(); };
}

Schedule::Schedule(Function function) : function_(std::move(function)) {
  if (!function_) invalid("learning-rate schedule: expected a number or a function of the step, got an empty function");
}

Tensor Schedule::operator()(const Tensor& step) const {
  if (counts_steps_ && (!step.defined() || step.dtype() != kInt64 || !step.partial_shape().compatible_with(Shape()))) {
    invalid("step of a learning-rate schedule: expected int64[], got {}",
            step.defined() ? type_text(step.dtype(), step.partial_shape()) : "none");
  }
  if (constant_) return tensor(*constant_);
  Tensor rate = function_(step);
  expect_floating_scalar("learning-rate schedule", rate);
  return rate;
}

Schedule piecewise_constant(std::vector<int64_t> boundaries, std::vector<double> values) {
  if (values.size() != boundaries.size() + 1) {
    invalid("values of piecewise_constant: expected one more than {} boundaries, got {}", boundaries.size(),
            values.size());
  }
  for (size_t i = 1; i < boundaries.size(); ++i) {
    if (boundaries[i] <= boundaries[i - 1]) {
      invalid("boundaries of piecewise_constant: expected increasing ones, got {} after {}", boundaries[i],
              boundaries[i - 1]);
    }
  }
  for (const double value : values) checked_rate("value of piecewise_constant", value);
  if (boundaries.empty()) return values[0];
  return [boundaries = std::move(boundaries), values = std::move(values)](const Tensor& step) {
    // The number of boundaries before the step.
    const Tensor piece = sum(cast(step > tensor(boundaries), kInt32));
    return gather(tensor(values), piece, 0);
  };
}

Schedule exponential_decay(double initial, int64_t steps, double factor, ExponentialDecayOptions options) {
  checked_rate("initial rate of exponential_decay", initial);
  expect_positive("steps of exponential_decay", steps);
  if (!(factor > 0) || !std::isfinite(factor)) {
    invalid("factor of exponential_decay: expected a positive number, got {}", factor);
  }
  return [=](const Tensor& step) { return initial * pow(tensor(factor), periods(step, steps, options.staircase)); };
}

Schedule cosine_decay(double initial, int64_t steps, CosineDecayOptions options) {
  checked_rate("initial rate of cosine_decay", initial);
  checked_rate("warmup_from of cosine_decay", options.warmup_from);
  checked_rate("alpha of cosine_decay", options.alpha);
  expect_positive("steps of cosine_decay", steps);
  if (options.warmup_steps < 0) {
    invalid("warmup_steps of cosine_decay: expected at least 0, got {}", options.warmup_steps);
  }
  return [=](const Tensor& step) {
    const auto warmup = static_cast<double>(options.warmup_steps);
    const Tensor now = real_step(step);
    const Tensor done = clip((now - warmup) / static_cast<double>(steps), 0.0, 1.0);
    const Tensor wave = 0.5 * (1.0 + cos(std::numbers::pi * done));
    Tensor rate = initial * ((1 - options.alpha) * wave + options.alpha);
    if (options.warmup_steps == 0) return rate;
    const Tensor growing = options.warmup_from + (initial - options.warmup_from) / warmup * now;
    return where(now < warmup, growing, rate);
  };
}

Schedule polynomial_decay(double initial, int64_t steps, PolynomialDecayOptions options) {
  checked_rate("initial rate of polynomial_decay", initial);
  checked_rate("end of polynomial_decay", options.end);
  expect_positive("steps of polynomial_decay", steps);
  if (!(options.power > 0) || !std::isfinite(options.power)) {
    invalid("power of polynomial_decay: expected a positive number, got {}", options.power);
  }
  return [=](const Tensor& step) {
    const auto all = static_cast<double>(steps);
    const Tensor now = real_step(step);
    // The share of the decay that is done.
    const Tensor done = options.cycle ? now / (all * maximum(ceil(now / all), 1.0)) : minimum(now / all, 1.0);
    return (initial - options.end) * pow(1.0 - done, tensor(options.power)) + options.end;
  };
}

Schedule inverse_time_decay(double initial, int64_t steps, double factor, InverseTimeDecayOptions options) {
  checked_rate("initial rate of inverse_time_decay", initial);
  checked_rate("factor of inverse_time_decay", factor);
  expect_positive("steps of inverse_time_decay", steps);
  return [=](const Tensor& step) { return initial / (1.0 + factor * periods(step, steps, options.staircase)); };
}

Schedule natural_exp_decay(double initial, int64_t steps, double factor, NaturalExpDecayOptions options) {
  checked_rate("initial rate of natural_exp_decay", initial);
  checked_rate("factor of natural_exp_decay", factor);
  expect_positive("steps of natural_exp_decay", steps);
  return [=](const Tensor& step) { return initial * exp(-factor * periods(step, steps, options.staircase)); };
}

Schedule cosine_decay_restarts(double initial, int64_t first_steps, CosineDecayRestartsOptions options) {
  checked_rate("initial rate of cosine_decay_restarts", initial);
  checked_rate("m_mul of cosine_decay_restarts", options.m_mul);
  checked_rate("alpha of cosine_decay_restarts", options.alpha);
  expect_positive("first_steps of cosine_decay_restarts", first_steps);
  if (!(options.t_mul >= 1) || !std::isfinite(options.t_mul)) {
    invalid("t_mul of cosine_decay_restarts: expected a finite number of at least 1, got {}", options.t_mul);
  }
  return [=](const Tensor& step) {
    const Tensor now = periods(step, first_steps, false);
    Tensor restarts, done;
    if (options.t_mul == 1) {
      restarts = floor(now);
      done = now - restarts;
    } else {
      // Period i begins at (t_mul^i - 1) / (t_mul - 1). The logarithm may be slightly off near the ends of periods.
      const auto length = [&](const Tensor& i) { return pow(tensor(options.t_mul), i); };
      const auto begin = [&](const Tensor& i) { return (length(i) - 1.0) / (options.t_mul - 1); };
      const Tensor guess = floor(log(1.0 + now * (options.t_mul - 1)) / std::log(options.t_mul));
      const Tensor late = where(begin(guess) > now, guess - 1.0, guess);
      restarts = where(begin(late + 1.0) <= now, late + 1.0, late);
      done = (now - begin(restarts)) / length(restarts);
    }
    const Tensor wave = 0.5 * pow(tensor(options.m_mul), restarts) * (1.0 + cos(std::numbers::pi * done));
    return initial * ((1 - options.alpha) * wave + options.alpha);
  };
}

Schedule linear_cosine_decay(double initial, int64_t steps, LinearCosineDecayOptions options) {
  checked_rate("initial rate of linear_cosine_decay", initial);
  checked_rate("periods of linear_cosine_decay", options.periods);
  checked_rate("alpha of linear_cosine_decay", options.alpha);
  checked_rate("beta of linear_cosine_decay", options.beta);
  expect_positive("steps of linear_cosine_decay", steps);
  return [=](const Tensor& step) {
    const Tensor done = minimum(periods(step, steps, false), 1.0);
    const Tensor wave = 0.5 * (1.0 + cos(2 * std::numbers::pi * options.periods * done));
    return initial * ((options.alpha + 1.0 - done) * wave + options.beta);
  };
}

}  // namespace panto
