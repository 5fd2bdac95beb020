// Constraints: functions that bring weights into an allowed range. A training step applies them after the optimizer's
// step:
//
//   const Constraint at_most = constraints::max_norm(2);
//   optimizer.apply(gradients);
//   kernel.assign(at_most(kernel));
//
// A constraint maps a floating tensor to one of the same shape and type. Norms are Euclidean, over `axis`: 0 for each
// column of a Dense kernel, {0, 1, 2} for each filter of a convolution. Divisors have 1e-7 added, as in Keras.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

class PANTO_EXPORT Constraint {
 public:
  using Function = Callable<Tensor(const Tensor& weights)>;
  Constraint() = default;
  Constraint(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): {.constraint = nullptr}
  template <class F>
    requires(!std::is_same_v<std::decay_t<F>, Constraint>) && (std::is_invocable_r_v<Tensor, F&, const Tensor&>)
  Constraint(F function) : function_(std::move(function)) {}  // NOLINT(google-explicit-constructor): a lambda
  explicit operator bool() const noexcept { return static_cast<bool>(function_); }
  // Applies to a tensor or a variable. Throws InvalidArgument unless it is floating, FailedPrecondition without a
  // function.
  Tensor operator()(Arg weights) const;

 private:
  Function function_;
};

namespace constraints {

// Scales vectors longer than max_value to that length. Throws InvalidArgument for a negative number.
PANTO_EXPORT Constraint max_norm(double max_value = 2);
PANTO_EXPORT Constraint max_norm(double max_value, std::vector<int64_t> axis);

struct MinMaxNormOptions {
  double min_value = 0;
  double max_value = 1;
  double rate = 1;  // in [0, 1]: the share of the correction that is applied
  std::vector<int64_t> axis = {0};
};
// Scales vectors to lengths in [min_value, max_value]. Throws InvalidArgument for options out of range.
PANTO_EXPORT Constraint min_max_norm(const MinMaxNormOptions& options = {});

// Sets negative values to 0.
PANTO_EXPORT Constraint non_neg();

// Scales vectors to length 1.
PANTO_EXPORT Constraint unit_norm();
PANTO_EXPORT Constraint unit_norm(std::vector<int64_t> axis);

}  // namespace constraints
}  // namespace panto
