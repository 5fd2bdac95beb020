// Methods of Tensor that call ops.
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/products.h"
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
Tensor Tensor::to(DType dtype, Where where) const { return panto::cast(Arg(*this, where), dtype); }
Tensor Tensor::abs(Where where) const {
  return dtypes::kComplex.contains(dtype()) ? complex_abs(Arg(*this, where)) : panto::abs(Arg(*this, where));
}
Tensor Tensor::exp(Where where) const { return panto::exp(Arg(*this, where)); }
Tensor Tensor::log(Where where) const { return panto::log(Arg(*this, where)); }
Tensor Tensor::sqrt(Where where) const { return panto::sqrt(Arg(*this, where)); }
Tensor Tensor::round(Where where) const { return panto::round(Arg(*this, where)); }
Tensor Tensor::pow(Arg exponent, Where where) const { return panto::pow(Arg(*this, where), std::move(exponent)); }
Tensor Tensor::clip(Arg low, Arg high, Where where) const {
  return panto::clip(Arg(*this, where), std::move(low), std::move(high));
}
Tensor Tensor::matmul(Arg right, Where where) const { return panto::matmul(Arg(*this, where), std::move(right)); }
Tensor Tensor::norm(Where where) const { return panto::norm(Arg(*this, where)); }
Tensor Tensor::real(Where where) const { return panto::real(Arg(*this, where)); }
Tensor Tensor::imag(Where where) const { return panto::imag(Arg(*this, where)); }
Tensor Tensor::flatten(Where where) const { return panto::reshape(Arg(*this, where), {-1}); }
Tensor Tensor::squeeze(Where where) const { return panto::squeeze(Arg(*this, where)); }
Tensor Tensor::squeeze(int64_t axis, Where where) const {
  return panto::squeeze(Arg(*this, where), {.squeeze_dims = {axis}});
}
Tensor Tensor::unsqueeze(int64_t axis, Where where) const { return panto::expand_dims(Arg(*this, where), axis); }
Tensor Tensor::cumsum(int64_t axis, Where where) const { return panto::cumsum(Arg(*this, where), axis); }
Tensor Tensor::sort(int64_t axis, Where where) const { return panto::sort(Arg(*this, where), {.axis = axis}); }
Tensor Tensor::argsort(int64_t axis, Where where) const { return panto::argsort(Arg(*this, where), {.axis = axis}); }

}  // namespace panto
