#include "panto/nn/layers/attention/scores.h"

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/nn/layers/core/shapes.h"
#include "panto/ops/array.h"

namespace panto::detail {

void expect_sequence(std::string_view layer, const char* what, const Tensor& x, int64_t features) {
  const PartialShape& got = x.partial_shape();
  if (got.known_rank() && PartialShape{-1, -1, features}.compatible_with(got)) return;
  invalid("{}: expected {} of shape [batch, steps, {}], got {}", layer, what,
          features < 0 ? "features" : fmt::format("{}", features), got.to_string());
}

Tensor allowed_scores(std::string_view layer, const Tensor& scores, const Tensor& mask, bool causal, bool to_the_end) {
  const double never = lowest(scores.dtype());
  Tensor result = scores;
  const int rank = scores.partial_shape().rank();
  if (mask.defined()) {
    const PartialShape& got = mask.partial_shape();
    if (mask.dtype() != kBool || !got.known_rank() || got.rank() > rank) {
      invalid("{}: expected a mask of bool[batch, steps, length], got {}{}", layer, dtype_name(mask.dtype()),
              got.to_string());
    }
    result = where(rank == 4 && got.rank() == 3 ? expand_dims(mask, 1) : mask, result, never);
    if (!scores.partial_shape().compatible_with(result.partial_shape())) {
      invalid("{}: expected a mask that broadcasts to {}, got {}", layer, scores.partial_shape().to_string(),
              got.to_string());
    }
  }
  if (causal) {
    const Tensor sizes = shape(scores);
    const Tensor steps = sizes[rank - 2], length = sizes[rank - 1];
    Tensor step = expand_dims(range(0, steps, 1), 1);
    if (to_the_end) step = step + (length - steps);
    result = where(step >= range(0, length, 1), result, never);
  }
  return result;
}

}  // namespace panto::detail
