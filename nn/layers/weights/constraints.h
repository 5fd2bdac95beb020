// Constraints: what weights may be. A training step applies them to variables behind the optimizer's:
//
//   const Constraint at_most = constraints::max_norm(2);
//   optimizer.apply(gradients);
//   kernel.assign(at_most(kernel));
//
// Each gives a function of a floating tensor that gives one of its shape and type. Norms are Euclidean, over `axis`: 0
// for each column of a Dense kernel, {0, 1, 2} for each filter of a convolution. Quotients have 1e-7 added to what they
// divide by, as Keras's.
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
  // Of a tensor or a variable. Throws InvalidArgument unless it is floating, FailedPrecondition if there is no
  // function.
  Tensor operator()(Arg weights) const;

 private:
  Function function_;
};

namespace constraints {

// What is longer than max_value is scaled to it. Throws InvalidArgument for a negative number.
PANTO_EXPORT Constraint max_norm(double max_value = 2);
PANTO_EXPORT Constraint max_norm(double max_value, std::vector<int64_t> axis);

struct MinMaxNormOptions {
  double min_value = 0;
  double max_value = 1;
  double rate = 1;  // in [0, 1]: which part of the way is gone
  std::vector<int64_t> axis = {0};
};
// Lengths are brought into [min_value, max_value]. Throws InvalidArgument for options out of their ranges.
PANTO_EXPORT Constraint min_max_norm(const MinMaxNormOptions& options = {});

// What is below 0 becomes 0.
PANTO_EXPORT Constraint non_neg();

// Of length 1.
PANTO_EXPORT Constraint unit_norm();
PANTO_EXPORT Constraint unit_norm(std::vector<int64_t> axis);

}  // namespace constraints
}  // namespace panto
