#include "panto/nn/columns/parts.h"

#include <optional>

#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/state.h"
#include "panto/trace/graph_scope.h"

namespace panto {

Tensor asserted(const Tensor& x, const Tensor& condition, const std::string& message) {
  const bool symbolic = condition.is_meta();
  std::optional<CollectEffects> effects;
  if (symbolic) effects.emplace();
  assert_true(condition, {tensor(message), x});
  std::optional<ControlDependencies> found_true;
  if (symbolic) found_true.emplace(effects->operations());
  return identity(x);
}

Tensor sequence_lengths(const SparseTensor& sparse, int64_t numbers_each) {
  const Tensor rows = sparse.indices(Slice(), 0);
  const Tensor last = sparse.indices(Slice(), 1);
  const Tensor steps = floor_div(last, cast(tensor(numbers_each), kInt64)) + int64_t{1};
  return maximum(unsorted_segment_max(steps, rows, sparse.dense_shape(0)), int64_t{0});
}

}  // namespace panto
