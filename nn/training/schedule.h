// Schedules: a learning rate as a function of the step.
//
//   Adam adam(model.variables(), {.learning_rate = 1e-3});
//   Adam adam(model.variables(), {.learning_rate = cosine_decay(1e-3, 10000, {.warmup_steps = 500})});
//   Sgd({.learning_rate = placeholder(kFloat32, {})}).minimize(loss);      // or a variable
//   Sgd sgd(model.variables(), {.learning_rate = [](const Tensor& step) { return 1.0 / cast(step + 10, kFloat64); }});
//
// Steps count from 0: the first step uses schedule(0). A schedule computes by ops on a tensor, so traced steps and
// graphs follow it too. Thread-safety: that of the function; the ones here may be called in several threads at once.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"

namespace panto {

class PANTO_EXPORT Schedule {
 public:
  using Function = Callable<Tensor(const Tensor& step)>;

  // NOLINTBEGIN(google-explicit-constructor): `.learning_rate = 1e-3`
  // The same rate at every step. Throws InvalidArgument unless it is finite and not negative.
  Schedule(double rate);
  // From an int64 scalar to a floating scalar; the function is called once for each step, or when a step is traced.
  // Throws InvalidArgument for an empty function.
  Schedule(Function function);
  // The value that `rate`, a floating scalar, has when a step runs: a placeholder of a graph, a variable. Throws
  // InvalidArgument for another tensor, and if a tensor has a known value that a rate cannot have.
  Schedule(const Tensor& rate);
  Schedule(const Variable& rate);
  template <class F>
    requires(!std::is_same_v<F, Schedule> && !std::is_same_v<F, Tensor> && !std::is_same_v<F, Variable> &&
             !std::is_same_v<F, Function> && !std::is_arithmetic_v<F> &&
             std::is_invocable_r_v<Tensor, F&, const Tensor&>)
  Schedule(F function) : Schedule(Function(std::move(function))) {}
  // NOLINTEND(google-explicit-constructor)

  // The rate, if it is the same at every step.
  const std::optional<double>& constant() const { return constant_; }
  // Whether the schedule depends on the number of the step.
  bool counts_steps() const { return counts_steps_; }
  // Returns a floating scalar. Throws InvalidArgument unless `step` is an int64 scalar and the function returns a
  // floating scalar.
  Tensor operator()(const Tensor& step) const;

 private:
  std::optional<double> constant_;
  Function function_;
  bool counts_steps_ = true;
};

// values[0] up to and including step boundaries[0], then values[1] up to boundaries[1], ..., the last of `values` after
// the last boundary: float64. Throws InvalidArgument unless boundaries ascend and there is one more value than
// boundaries.
PANTO_EXPORT Schedule piecewise_constant(std::vector<int64_t> boundaries, std::vector<double> values);

struct ExponentialDecayOptions {
  bool staircase = false;  // only whole multiples of `steps` count
};
// initial * factor ^ (step / steps): float64. Throws InvalidArgument unless steps and factor are positive.
PANTO_EXPORT Schedule exponential_decay(double initial, int64_t steps, double factor,
                                        ExponentialDecayOptions options = {});

struct CosineDecayOptions {
  int64_t warmup_steps = 0;  // before the decay of `steps` steps
  double warmup_from = 0;    // the rate of step 0, which then grows linearly
  double alpha = 0;          // the final rate, as a share of `initial`
};
// Half a cosine from `initial` down to alpha * initial, in `steps` steps, and constant from then on: float64
// (Loshchilov and Hutter 2017, without restarts). Throws InvalidArgument unless steps is positive and warmup_steps is
// not negative.
PANTO_EXPORT Schedule cosine_decay(double initial, int64_t steps, CosineDecayOptions options = {});

struct PolynomialDecayOptions {
  double end = 0.0001;  // as Keras
  double power = 1;     // positive
  bool cycle = false;   // after reaching `end` it begins anew, over the next multiple of `steps`
};
// From `initial` to `end` in `steps` steps, by (1 - step / steps)^power, and `end` from then on: float64. Throws
// InvalidArgument unless steps and power are positive.
PANTO_EXPORT Schedule polynomial_decay(double initial, int64_t steps, PolynomialDecayOptions options = {});

struct InverseTimeDecayOptions {
  bool staircase = false;  // only whole multiples of `steps` count
};
// initial / (1 + factor * step / steps): float64. Throws InvalidArgument unless steps is positive and factor is not
// negative.
PANTO_EXPORT Schedule inverse_time_decay(double initial, int64_t steps, double factor,
                                         InverseTimeDecayOptions options = {});

struct NaturalExpDecayOptions {
  bool staircase = false;  // only whole multiples of `steps` count
};
// initial * exp(-factor * step / steps): float64 (TensorFlow 1's natural_exp_decay). Throws InvalidArgument unless
// steps is positive and factor is not negative.
PANTO_EXPORT Schedule natural_exp_decay(double initial, int64_t steps, double factor,
                                        NaturalExpDecayOptions options = {});

struct CosineDecayRestartsOptions {
  double t_mul = 2;  // each period is this many times as long as the one before; at least 1
  double m_mul = 1;  // and begins with this many times its initial rate
  double alpha = 0;  // the lowest rate of a period, as a share of its first
};
// A series of half cosines, the first of `first_steps` steps, each down to alpha * initial: float64 (Loshchilov and
// Hutter 2017). Throws InvalidArgument unless first_steps is positive and t_mul at least 1.
PANTO_EXPORT Schedule cosine_decay_restarts(double initial, int64_t first_steps,
                                            CosineDecayRestartsOptions options = {});

struct LinearCosineDecayOptions {
  double periods = 0.5;  // of the cosine, in `steps` steps
  double alpha = 0;      // added to the linearly falling factor
  double beta = 0.001;   // added to the product
};
// initial * ((alpha + 1 - step / steps) * (1 + cos(2 pi * periods * step / steps)) / 2 + beta), constant from step
// `steps` on: float64 (Bello et al. 2017; TensorFlow 1's linear_cosine_decay). Throws InvalidArgument unless steps is
// positive.
PANTO_EXPORT Schedule linear_cosine_decay(double initial, int64_t steps, LinearCosineDecayOptions options = {});

}  // namespace panto
