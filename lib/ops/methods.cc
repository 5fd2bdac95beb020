// Methods of Tensor that call ops.
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {

Tensor Tensor::sum(const ReduceOptions& options, Where where) const {
  return detail::sum_over(Arg(*this, where), options);
}
Tensor Tensor::mean(const ReduceOptions& options, Where where) const {
  return detail::mean_over(Arg(*this, where), options);
}
Tensor Tensor::prod(const ReduceOptions& options, Where where) const {
  return detail::prod_over(Arg(*this, where), options);
}
Tensor Tensor::max(const ReduceOptions& options, Where where) const {
  return detail::max_over(Arg(*this, where), options);
}
Tensor Tensor::min(const ReduceOptions& options, Where where) const {
  return detail::min_over(Arg(*this, where), options);
}
Tensor Tensor::all(const ReduceOptions& options, Where where) const {
  return detail::all_over(Arg(*this, where), options);
}
Tensor Tensor::any(const ReduceOptions& options, Where where) const {
  return detail::any_over(Arg(*this, where), options);
}
Tensor Tensor::var(const VarianceOptions& options, Where where) const { return panto::var(Arg(*this, where), options); }
Tensor Tensor::std(const VarianceOptions& options, Where where) const {
  return panto::stddev(Arg(*this, where), options);
}
Tensor Tensor::argmax(int64_t axis, Where where) const { return panto::argmax(Arg(*this, where), axis); }
Tensor Tensor::argmin(int64_t axis, Where where) const { return panto::argmin(Arg(*this, where), axis); }
Tensor Tensor::argmax(Where where) const { return panto::argmax(Arg(*this, where)); }
Tensor Tensor::argmin(Where where) const { return panto::argmin(Arg(*this, where)); }
Tensor Tensor::reshape(Arg shape, Where where) const { return panto::reshape(Arg(*this, where), std::move(shape)); }
Tensor Tensor::transpose(const std::vector<int64_t>& perm, Where where) const {
  return perm.empty() ? panto::transpose(Arg(*this, where)) : panto::transpose(Arg(*this, where), perm);
}
Tensor Tensor::T(Where where) const { return panto::transpose(Arg(*this, where)); }
Tensor Tensor::cast(DType dtype, Where where) const { return panto::cast(Arg(*this, where), dtype); }

}  // namespace panto
