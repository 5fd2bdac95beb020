#include "panto/nn/training/optimizers/layerwise.h"

#include <algorithm>
#include <cmath>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/layers/initializers.h"
#include "panto/nn/training/options.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/state.h"

namespace panto {

namespace {

// Coefficients of Muon's quintic, which drives singular values from (0, 1] to about 1.
constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;

Tensor root_mean_square(const Tensor& x) { return sqrt(mean(square(x))); }

// Approximates U V^T of x = U S V^T by the Newton-Schulz iteration.
Tensor orthogonalized(const Tensor& gradient, int steps, bool tall) {
  const Tensor wide = tall ? transpose(gradient, {1, 0}) : gradient;
  Tensor x = wide / (norm(wide) + 1e-7);
  for (int i = 0; i < steps; ++i) {
    const Tensor a = matmul(x, x, {.transpose_b = true});
    x = kA * x + matmul(kB * a + kC * matmul(a, a), x);
  }
  return tall ? transpose(x, {1, 0}) : x;
}

}  // namespace

// ---- Lamb ----------------------------------------------------------------------------------------------------------

Lamb::Lamb(std::initializer_list<Variable> variables, const LambOptions& options) : Lamb(options, given(variables)) {}
Lamb::Lamb(const LambOptions& options) : Lamb(options, std::vector<Variable>()) {}
Lamb::Lamb(const LambOptions& options, std::vector<Variable> variables)
    : Optimizer(std::move(variables), options.learning_rate, options.weight_decay),
      beta1_(options.beta1),
      beta2_(options.beta2),
      epsilon_(not_negative("epsilon", options.epsilon)) {
  expect_share("beta1", beta1_);
  expect_share("beta2", beta2_);
  build();
}

void Lamb::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& v : variables) {
    add_slot(v, "m");
    add_slot(v, "v");
  }
  power1_ = add_shared("beta1_power", beta1_);
  power2_ = add_shared("beta2_power", beta2_);
}

void Lamb::prepare() {
  now1_ = Scalar(power1_.value());
  now2_ = Scalar(power2_.value());
  // Not computed in a 16-bit type, in which 0.999 may round to 1.
  rest1_ = Scalar(1.0 - now1_.value());
  rest2_ = Scalar(1.0 - now2_.value());
}

void Lamb::apply_dense(const Tensor& gradient, const Variable& v) {
  const DType type = v.dtype();
  const Variable &first = get_slot(v, "m"), &second = get_slot(v, "v");
  const Tensor m_before = first.value(), v_before = second.value();
  const Tensor m = m_before + (gradient - m_before) * (1 - beta1_);
  const Tensor s = v_before + (square(gradient) - v_before) * (1 - beta2_);
  first.assign(m);
  second.assign(s);
  const Tensor direction = m / rest1_.as(type) / (sqrt(s / rest2_.as(type)) + epsilon_);
  const Tensor size = norm(v.value()), length = norm(direction);
  const Tensor ratio = where(logical_and(size > 0.0, length > 0.0), size / length, ones_like(size));
  v.assign_sub(ratio * rate(v) * direction);
}

void Lamb::finish() {
  power1_.assign(now1_.value() * beta1_);
  power2_.assign(now2_.value() * beta2_);
}

// ---- Adafactor -----------------------------------------------------------------------------------------------------

Adafactor::Adafactor(std::initializer_list<Variable> variables, const AdafactorOptions& options)
    : Adafactor(options, given(variables)) {}
Adafactor::Adafactor(const AdafactorOptions& options) : Adafactor(options, std::vector<Variable>()) {}
Adafactor::Adafactor(const AdafactorOptions& options, std::vector<Variable> variables)
    : Optimizer(std::move(variables), options.learning_rate, options.weight_decay),
      beta2_decay_(options.beta2_decay),
      epsilon1_(not_negative("epsilon1", options.epsilon1)),
      epsilon2_(not_negative("epsilon2", options.epsilon2)),
      clip_threshold_(positive("clip_threshold", options.clip_threshold)) {
  if (!(beta2_decay_ < 0) || !std::isfinite(beta2_decay_)) {
    invalid("beta2_decay: expected a finite number below 0, got {}", beta2_decay_);
  }
  build();
}

void Adafactor::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& v : variables) {
    const Shape shape(v.shape());
    const int rank = shape.rank();
    if (rank < 2) {
      add_slot(v, "v");
      continue;
    }
    std::vector<int64_t> rows, columns;
    for (int k = 0; k < rank; ++k) {
      if (k != rank - 1) rows.push_back(shape[k]);
      if (k != rank - 2) columns.push_back(shape[k]);
    }
    const Initializer zero = constant_initializer(0);
    add_slot(v, "r", zero(Shape(rows), v.dtype()));
    add_slot(v, "c", zero(Shape(columns), v.dtype()));
  }
  count_steps();
}

void Adafactor::prepare() {
  const Tensor t = cast(step() + int64_t{1}, kFloat64);
  keeps_ = Scalar(1.0 - pow(t, tensor(beta2_decay_)));
  limit_ = Scalar(1.0 / sqrt(t));
}

void Adafactor::apply_dense(const Tensor& gradient, const Variable& v) {
  const Tensor &keeps = keeps_.as(v.dtype()), &limit = limit_.as(v.dtype());
  const Tensor takes = 1.0 - keeps, squares = square(gradient) + epsilon_in(v.dtype(), epsilon1_);
  const auto next = [&](const Variable& slot, const Tensor& now) {
    const Tensor moment = keeps * slot.value() + takes * now;
    slot.assign(moment);
    return moment;
  };
  Tensor moment;
  if (v.shape().rank() < 2) {
    moment = next(get_slot(v, "v"), squares);
  } else {
    const Tensor r = next(get_slot(v, "r"), mean(squares, -1));
    const Tensor c = next(get_slot(v, "c"), mean(squares, -2));
    moment = expand_dims(r / mean(r, -1, {.keep_dims = true}), -1) * expand_dims(c, -2);
  }
  const Tensor direction = gradient / sqrt(moment);
  const Tensor clipped = direction / maximum(root_mean_square(direction) / clip_threshold_, 1.0);
  const Tensor size = maximum(root_mean_square(v.value()), epsilon2_) * minimum(rate(v), limit);
  v.assign_sub(size * clipped);
}

// ---- Muon ----------------------------------------------------------------------------------------------------------

Muon::Muon(std::initializer_list<Variable> variables, const MuonOptions& options) : Muon(options, given(variables)) {}
Muon::Muon(const MuonOptions& options) : Muon(options, std::vector<Variable>()) {}
Muon::Muon(const MuonOptions& options, std::vector<Variable> variables)
    : Optimizer(std::move(variables), options.learning_rate, options.weight_decay), options_(options) {
  expect_share("momentum", options.momentum);
  expect_share("adam_beta1", options.adam_beta1);
  expect_share("adam_beta2", options.adam_beta2);
  not_negative("epsilon", options.epsilon);
  not_negative("adam_rate_ratio", options.adam_rate_ratio);
  if (options.rms_rate) not_negative("rms_rate", *options.rms_rate);
  if (options.steps < 1) invalid("steps: expected at least 1, got {}", options.steps);
  build();
}

bool Muon::is_by_adam(const Variable& v) const {
  const auto same = [&v](const Variable& other) { return other.handle().id() == v.handle().id(); };
  return v.shape().rank() != 2 || std::ranges::any_of(options_.by_adam, same);
}

void Muon::create_slots(const std::vector<Variable>& variables) {
  for (const Variable& v : variables) {
    if (is_by_adam(v)) {
      add_slot(v, "m");
      add_slot(v, "v");
    } else {
      add_slot(v, "momentum");
    }
  }
  power1_ = add_shared("beta1_power", options_.adam_beta1);
  power2_ = add_shared("beta2_power", options_.adam_beta2);
}

void Muon::prepare() {
  now1_ = Scalar(power1_.value());
  now2_ = Scalar(power2_.value());
}

void Muon::apply_dense(const Tensor& gradient, const Variable& v) {
  if (is_by_adam(v)) {
    resource_apply_adam(v, get_slot(v, "m"), get_slot(v, "v"), now1_.as(v.dtype()), now2_.as(v.dtype()),
                        rate(v) * options_.adam_rate_ratio, options_.adam_beta1, options_.adam_beta2, options_.epsilon,
                        gradient);
    return;
  }
  const Variable& slot = get_slot(v, "momentum");
  const Tensor m = slot.value() * options_.momentum + gradient;
  slot.assign(m);
  const int64_t rows = v.shape().dim(0), columns = v.shape().dim(1);
  Tensor direction =
      orthogonalized(options_.nesterov ? gradient + options_.momentum * m : m, options_.steps, rows > columns);
  if (options_.rms_rate) {
    direction = direction * (std::sqrt(static_cast<double>(std::max(rows, columns))) * *options_.rms_rate);
  }
  v.assign_sub(rate(v) * direction);
}

void Muon::finish() {
  power1_.assign(now1_.value() * options_.adam_beta1);
  power2_.assign(now2_.value() * options_.adam_beta2);
}

}  // namespace panto
