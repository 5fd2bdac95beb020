#include "panto/nn/layers/weights/regularizers.h"

#include <cmath>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/training/losses/loss_parts.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {

Tensor Regularizer::operator()(Arg weights) const {
  return from_caller(weights.where(), [&]() -> Tensor {
    const Tensor w = detail::given_tensor(weights);
    if (!w.defined() || !dtypes::kFloating.contains(w.dtype())) {
      invalid("weights: expected a floating tensor, got {}", w.defined() ? dtype_name(w.dtype()) : "none");
    }
    return function_(w);
  });
}

namespace regularizers {

namespace {

double checked(const char* what, double factor) {
  if (factor >= 0 && std::isfinite(factor)) return factor;
  invalid("{}: expected a finite number of at least 0, got {}", what, factor);
}

Tensor sizes(const Tensor& w) { return sum(abs(w)); }
Tensor squares(const Tensor& w) { return sum(square(w)); }

}  // namespace

Regularizer l1(double factor) {
  return [factor = checked("l1", factor)](const Tensor& w) { return factor * sizes(w); };
}
Regularizer l2(double factor) {
  return [factor = checked("l2", factor)](const Tensor& w) { return factor * squares(w); };
}
Regularizer l1_l2(double l1, double l2) {
  return [l1 = checked("l1", l1), l2 = checked("l2", l2)](const Tensor& w) { return l1 * sizes(w) + l2 * squares(w); };
}

Regularizer orthogonal_regularizer(double factor, std::string_view mode) {
  checked("factor", factor);
  if (mode != "rows" && mode != "columns")
    invalid("mode: expected \"rows\" or \"columns\", got \"{}\"", printable(mode));
  return [factor, rows = mode == "rows"](const Tensor& w) -> Tensor {
    if (w.partial_shape().rank() != 2) {
      invalid("orthogonal_regularizer: expected a matrix, got shape {}", w.partial_shape().to_string());
    }
    const Tensor vectors = detail::normalized(rows ? w : transpose(w), 1);
    const Tensor cosines = matmul(vectors, transpose(vectors));
    const Tensor others = set_diag(cosines, zeros_like(sum(vectors, {1})));
    const Tensor count = cast(shape(vectors)[0], w.dtype());
    return factor * div_no_nan(sum(abs(others)), count * (count - 1.0));
  };
}

}  // namespace regularizers
}  // namespace panto
