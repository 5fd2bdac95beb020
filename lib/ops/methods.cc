// Methods of Tensor that are ops.
#include "panto/lib/core/tensor.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/reductions.h"

namespace panto {

Tensor Tensor::sum(const ReduceOptions& options) const { return detail::sum_over(*this, options); }
Tensor Tensor::mean(const ReduceOptions& options) const { return detail::mean_over(*this, options); }
Tensor Tensor::prod(const ReduceOptions& options) const { return detail::prod_over(*this, options); }
Tensor Tensor::max(const ReduceOptions& options) const { return detail::max_over(*this, options); }
Tensor Tensor::min(const ReduceOptions& options) const { return detail::min_over(*this, options); }
Tensor Tensor::all(const ReduceOptions& options) const { return detail::all_over(*this, options); }
Tensor Tensor::any(const ReduceOptions& options) const { return detail::any_over(*this, options); }
Tensor Tensor::var(const VarianceOptions& options) const { return panto::var(*this, options); }
Tensor Tensor::std(const VarianceOptions& options) const { return panto::stddev(*this, options); }
Tensor Tensor::argmax(int64_t axis) const { return panto::argmax(*this, axis); }
Tensor Tensor::argmin(int64_t axis) const { return panto::argmin(*this, axis); }
Tensor Tensor::reshape(const std::vector<int64_t>& shape) const { return panto::reshape(*this, shape); }
Tensor Tensor::transpose(const std::vector<int64_t>& perm) const {
  if (!perm.empty()) return panto::transpose(*this, perm);
  return panto::transpose(*this, panto::range(panto::rank(*this) - 1, -1, -1));
}
Tensor Tensor::T() const { return transpose(); }
Tensor Tensor::cast(DType dtype) const { return panto::cast(*this, dtype); }

}  // namespace panto
