#include "panto/lib/ops/reductions.h"

#include <cmath>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/numpy/elementary.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

// Calls reduction `f` over the given axes.
template <class Attrs>
Tensor over(Tensor (*f)(Arg, Arg, const Attrs&), Arg x, const std::vector<int64_t>& axis, bool keep_dims) {
  Attrs attrs;
  attrs.keep_dims = keep_dims;
  const Arg::Where where = x.where();
  return axis.empty() ? f(std::move(x), Arg::all_axes(where), attrs) : f(std::move(x), Arg(axis, where), attrs);
}

}  // namespace

namespace detail {

Tensor sum_over(Arg x, const ReduceOptions& o) { return over<SumAttrs>(sum, std::move(x), o.axis, o.keep_dims); }
Tensor mean_over(Arg x, const ReduceOptions& o) { return over<MeanAttrs>(mean, std::move(x), o.axis, o.keep_dims); }
Tensor prod_over(Arg x, const ReduceOptions& o) {
  return over<ProdAttrs>(reduce_prod, std::move(x), o.axis, o.keep_dims);
}
Tensor max_over(Arg x, const ReduceOptions& o) { return over<MaxAttrs>(reduce_max, std::move(x), o.axis, o.keep_dims); }
Tensor min_over(Arg x, const ReduceOptions& o) { return over<MinAttrs>(reduce_min, std::move(x), o.axis, o.keep_dims); }
Tensor all_over(Arg x, const ReduceOptions& o) { return over<AllAttrs>(reduce_all, std::move(x), o.axis, o.keep_dims); }
Tensor any_over(Arg x, const ReduceOptions& o) { return over<AnyAttrs>(reduce_any, std::move(x), o.axis, o.keep_dims); }

}  // namespace detail

Tensor prod(const Tensor& x, Arg axis, const ProdAttrs& attrs) {
  Arg located(x, axis.where());
  return reduce_prod(std::move(located), std::move(axis), attrs);
}
Tensor prod(const Variable& x, Arg axis, const ProdAttrs& attrs) {
  Arg located(x, axis.where());
  return reduce_prod(std::move(located), std::move(axis), attrs);
}
Tensor max(const Tensor& x, Arg axis, const MaxAttrs& attrs) {
  Arg located(x, axis.where());
  return reduce_max(std::move(located), std::move(axis), attrs);
}
Tensor max(const Variable& x, Arg axis, const MaxAttrs& attrs) {
  Arg located(x, axis.where());
  return reduce_max(std::move(located), std::move(axis), attrs);
}
Tensor max(const Tensor& x, const Tensor& y, Arg::Where where) { return maximum(Arg(x, where), y); }
Tensor min(const Tensor& x, Arg axis, const MinAttrs& attrs) {
  Arg located(x, axis.where());
  return reduce_min(std::move(located), std::move(axis), attrs);
}
Tensor min(const Variable& x, Arg axis, const MinAttrs& attrs) {
  Arg located(x, axis.where());
  return reduce_min(std::move(located), std::move(axis), attrs);
}
Tensor min(const Tensor& x, const Tensor& y, Arg::Where where) { return minimum(Arg(x, where), y); }
Tensor all(const Tensor& x, Arg axis, const AllAttrs& attrs) {
  Arg located(x, axis.where());
  return reduce_all(std::move(located), std::move(axis), attrs);
}
Tensor any(const Tensor& x, Arg axis, const AnyAttrs& attrs) {
  Arg located(x, axis.where());
  return reduce_any(std::move(located), std::move(axis), attrs);
}

Tensor var(Arg x, const VarianceOptions& o) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x));
    const Tensor centre = detail::mean_over(t, {.axis = o.axis, .keep_dims = true});
    const Tensor squares = squared_difference(t, centre);
    if (o.correction == 0) return detail::mean_over(squares, {.axis = o.axis, .keep_dims = o.keep_dims});
    const Tensor total = detail::sum_over(squares, {.axis = o.axis, .keep_dims = o.keep_dims});
    // The number of elements per result, in the type of the results.
    const Tensor elements = size(t, {.out_type = kInt64}), results = size(total, {.out_type = kInt64});
    const Tensor count = floor_div(elements, maximum(results, int64_t{1})) - o.correction;
    return total / cast(maximum(count, int64_t{0}), t.dtype());
  });
}
Tensor stddev(Arg x, const VarianceOptions& o) {
  return from_caller(x.where(), [&] { return sqrt(var(std::move(x), o)); });
}

Tensor norm(Arg x, const NormOptions& o) {
  return from_caller(x.where(), [&]() -> Tensor {
    const ReduceOptions over{.axis = o.axis, .keep_dims = o.keep_dims};
    if (!(o.ord > 0)) invalid("ord: expected a positive number, got {}", o.ord);
    if (o.ord == 2) return sqrt(detail::sum_over(square(std::move(x)), over));
    const Tensor size = abs(std::move(x));
    if (o.ord == 1) return detail::sum_over(size, over);
    if (std::isinf(o.ord)) return detail::max_over(size, over);
    return pow(detail::sum_over(pow(size, o.ord), over), 1 / o.ord);
  });
}

Tensor logsumexp(Arg x, const ReduceOptions& o) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x));
    const Tensor largest = stop_gradient(detail::max_over(t, {.axis = o.axis, .keep_dims = true}));
    // An infinite shift would turn infinite elements into NaN.
    const Tensor shift = select(less(abs(largest), INFINITY), largest, zeros_like(largest));
    Tensor total = log(detail::sum_over(exp(t - shift), {.axis = o.axis, .keep_dims = true})) + shift;
    if (o.keep_dims) return total;
    if (o.axis.empty()) return reshape(total, Shape{});
    return squeeze(total, {.squeeze_dims = o.axis});
  });
}

bool allclose(Arg x, Arg y, double rtol, double atol) {
  return from_caller(x.where(),
                     [&] { return bool(all(isclose(std::move(x), std::move(y), {.rtol = rtol, .atol = atol}))); });
}

}  // namespace panto
