// Regularizers: penalties of weights, scalars that are added to a loss.
//
//   const Regularizer l2 = regularizers::l2(1e-4);
//   const Tensor total = loss + l2(dense.kernel());
//
// A regularizer maps a floating tensor to a scalar. The functions below throw InvalidArgument unless factors are finite
// and not negative.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

class PANTO_EXPORT Regularizer {
 public:
  using Function = Callable<Tensor(const Tensor& weights)>;
  Regularizer() = default;
  Regularizer(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): {.regularizer = nullptr}
  template <class F>
    requires(!std::is_same_v<std::decay_t<F>, Regularizer>) && (std::is_invocable_r_v<Tensor, F&, const Tensor&>)
  Regularizer(F function) : function_(std::move(function)) {}  // NOLINT(google-explicit-constructor): a lambda
  explicit operator bool() const noexcept { return static_cast<bool>(function_); }
  // Applies to a tensor or a variable. Throws InvalidArgument unless it is floating, FailedPrecondition without a
  // function.
  Tensor operator()(Arg weights) const;

 private:
  Function function_;
};

namespace regularizers {

// factor * sum(|w|).
PANTO_EXPORT Regularizer l1(double factor = 0.01);
// factor * sum(w^2).
PANTO_EXPORT Regularizer l2(double factor = 0.01);
// l1 * sum(|w|) + l2 * sum(w^2).
PANTO_EXPORT Regularizer l1_l2(double l1 = 0.01, double l2 = 0.01);
// factor times the mean of |cosine| over all pairs of a matrix's rows, or of its columns: it pushes them to be
// orthogonal. One row has no pairs and gives 0. Throws InvalidArgument for a mode other than "rows" and "columns", and
// at use unless the tensor is a matrix.
PANTO_EXPORT Regularizer orthogonal_regularizer(double factor = 0.01, std::string_view mode = "rows");

}  // namespace regularizers
}  // namespace panto
