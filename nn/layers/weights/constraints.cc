#include "panto/nn/layers/weights/constraints.h"

#include <cmath>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/training/losses/loss_parts.h"
#include "panto/ops/math.h"

namespace panto {

Tensor Constraint::operator()(Arg weights) const {
  return from_caller(weights.where(), [&]() -> Tensor {
    const Tensor w = detail::given_tensor(weights);
    if (!w.defined() || !dtypes::kFloating.contains(w.dtype())) {
      invalid("weights: expected a floating tensor, got {}", w.defined() ? dtype_name(w.dtype()) : "none");
    }
    return function_(w);
  });
}

namespace constraints {

namespace {

double checked(const char* what, double value) {
  if (value >= 0 && std::isfinite(value)) return value;
  invalid("{}: expected a finite number of at least 0, got {}", what, value);
}

Tensor norms(const Tensor& w, const std::vector<int64_t>& axis) {
  return sqrt(sum(square(w), ReduceOptions{.axis = axis, .keep_dims = true}));
}

}  // namespace

Constraint max_norm(double max_value) { return max_norm(max_value, {0}); }
Constraint max_norm(double max_value, std::vector<int64_t> axis) {
  return [most = checked("max_value", max_value), axis = std::move(axis)](const Tensor& w) {
    const Tensor norm = norms(w, axis);
    return w * (minimum(norm, most) / (norm + detail::kLossEpsilon));
  };
}

Constraint min_max_norm(const MinMaxNormOptions& options) {
  const double least = checked("min_value", options.min_value), most = checked("max_value", options.max_value);
  if (least > most) invalid("min_value: expected at most max_value {}, got {}", most, least);
  const double rate = options.rate;
  if (!(rate >= 0 && rate <= 1)) invalid("rate: expected a number in [0, 1], got {}", rate);
  return [=, axis = options.axis](const Tensor& w) {
    const Tensor norm = norms(w, axis);
    const Tensor wanted = rate * clip(norm, least, most) + (1 - rate) * norm;
    return w * (wanted / (norm + detail::kLossEpsilon));
  };
}

Constraint non_neg() {
  return [](const Tensor& w) { return maximum(w, 0.0); };
}

Constraint unit_norm() { return unit_norm({0}); }
Constraint unit_norm(std::vector<int64_t> axis) {
  return [axis = std::move(axis)](const Tensor& w) { return w / (norms(w, axis) + detail::kLossEpsilon); };
}

}  // namespace constraints
}  // namespace panto
