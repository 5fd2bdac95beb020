#include "panto/lib/ops/array/lookup.h"

#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {

std::optional<IndexedSlices> rows_of(const Tensor& dy, const Tensor& indices, const Tensor& num_rows) {
  const PartialShape &all = dy.partial_shape(), &at = indices.partial_shape();
  if (!all.known_rank() || !at.known_rank()) return std::nullopt;
  std::vector<int64_t> dims = {at.fully_known() ? at.numel() : -1};
  for (int k = at.rank(); k < all.rank(); ++k) {
    // If rows are empty, reshape cannot infer a dimension of -1.
    if (all.dim(k) < 0 || (all.dim(k) == 0 && dims[0] < 0)) return std::nullopt;
    dims.push_back(all.dim(k));
  }
  const Tensor flat = at.rank() == 1 ? indices : reshape(indices, {dims[0]});
  return IndexedSlices{.indices = flat.dtype() == kInt32 || flat.dtype() == kInt64 ? flat : cast(flat, kInt32),
                       .rows = at.rank() == 1 ? dy : reshape(dy, dims),
                       .num_rows = num_rows};
}

}  // namespace panto
