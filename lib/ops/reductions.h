// Reductions with the names and arguments of NumPy and PyTorch.
//
//   sum(x);   sum(x, 1);   sum(x, {0, 1});   sum(x, {0, 1}, {.keep_dims = true});       // ops (ops.h)
//   sum(x, {.axis = {1}, .keep_dims = true});   sum(x, 1, true);                        // the same
//   reduce_sum(x);   reduce_max(x, 1, true);   reduce_std(x, {0, 1});                   // TensorFlow's names of all
//   max(x);   max(x, {.axis = {1}});   max(x, y);   any(x > 0);   prod(x)
//   var(x, {.axis = {0}});   stddev(x);   norm(x);   logsumexp(x, {.axis = {-1}})
//
// max and min of two tensors are maximum and minimum. With `using namespace std`, the overloads for Tensor and Variable
// are preferred to the standard library's templates. std::any is a class, though: write panto::any or x.any() there.
// The standard deviation is called stddev, as a function `std` would clash with the namespace std.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/ops/math.h"

namespace panto {

namespace detail {
PANTO_EXPORT Tensor sum_over(Arg x, const ReduceOptions& options);
PANTO_EXPORT Tensor mean_over(Arg x, const ReduceOptions& options);
PANTO_EXPORT Tensor prod_over(Arg x, const ReduceOptions& options);
PANTO_EXPORT Tensor max_over(Arg x, const ReduceOptions& options);
PANTO_EXPORT Tensor min_over(Arg x, const ReduceOptions& options);
PANTO_EXPORT Tensor all_over(Arg x, const ReduceOptions& options);
PANTO_EXPORT Tensor any_over(Arg x, const ReduceOptions& options);
template <class X>
concept TensorOrVariable = std::same_as<X, Tensor> || std::same_as<X, Variable>;
}  // namespace detail

// Templates, so that a braced list, also {}, selects the functions that take a list.
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor sum(Arg x, const Options& options) {
  return detail::sum_over(std::move(x), options);
}
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor mean(Arg x, const Options& options) {
  return detail::mean_over(std::move(x), options);
}

// Product of the elements.
PANTO_EXPORT Tensor prod(const Tensor& x, Arg axis = Arg::all_axes(), const ProdAttrs& attrs = {});
PANTO_EXPORT Tensor prod(const Variable& x, Arg axis = Arg::all_axes(), const ProdAttrs& attrs = {});
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor prod(Arg x, const Options& options) {
  return detail::prod_over(std::move(x), options);
}

// Largest element, or the larger of two.
PANTO_EXPORT Tensor max(const Tensor& x, Arg axis = Arg::all_axes(), const MaxAttrs& attrs = {});
PANTO_EXPORT Tensor max(const Variable& x, Arg axis = Arg::all_axes(), const MaxAttrs& attrs = {});
PANTO_EXPORT Tensor max(const Tensor& x, const Tensor& y, Arg::Where where = Arg::Where::current());
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor max(Arg x, const Options& options) {
  return detail::max_over(std::move(x), options);
}

// Smallest element, or the smaller of two.
PANTO_EXPORT Tensor min(const Tensor& x, Arg axis = Arg::all_axes(), const MinAttrs& attrs = {});
PANTO_EXPORT Tensor min(const Variable& x, Arg axis = Arg::all_axes(), const MinAttrs& attrs = {});
PANTO_EXPORT Tensor min(const Tensor& x, const Tensor& y, Arg::Where where = Arg::Where::current());
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor min(Arg x, const Options& options) {
  return detail::min_over(std::move(x), options);
}

// Whether all, or any, of the bools are true.
PANTO_EXPORT Tensor all(const Tensor& x, Arg axis = Arg::all_axes(), const AllAttrs& attrs = {});
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor all(Arg x, const Options& options) {
  return detail::all_over(std::move(x), options);
}
PANTO_EXPORT Tensor any(const Tensor& x, Arg axis = Arg::all_axes(), const AnyAttrs& attrs = {});
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor any(Arg x, const Options& options) {
  return detail::any_over(std::move(x), options);
}

// Mean of the squared distances from the mean, and its square root; of floating types. Computed in two passes.
PANTO_EXPORT Tensor var(Arg x, const VarianceOptions& options = {});
PANTO_EXPORT Tensor stddev(Arg x, const VarianceOptions& options = {});
// Over one axis or a list: var(x, 0), stddev(x, {0, 1}, true). With `keep_dims` the axes stay, with size 1.
Tensor var(Arg x, AxisNumber auto axis, bool keep_dims = false) {
  return var(std::move(x), VarianceOptions{.axis = {axis}, .keep_dims = keep_dims});
}
template <AxisNumber I>
Tensor var(Arg x, std::initializer_list<I> axes, bool keep_dims = false) {
  return var(std::move(x), VarianceOptions{.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims});
}
Tensor stddev(Arg x, AxisNumber auto axis, bool keep_dims = false) {
  return stddev(std::move(x), VarianceOptions{.axis = {axis}, .keep_dims = keep_dims});
}
template <AxisNumber I>
Tensor stddev(Arg x, std::initializer_list<I> axes, bool keep_dims = false) {
  return stddev(std::move(x), VarianceOptions{.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims});
}

struct NormOptions {
  double ord = 2;                  // 1, 2, infinity, or any positive number
  std::vector<int64_t> axis = {};  // empty: all axes
  bool keep_dims = false;
};
// The vector norm sum(|x| ^ ord) ^ (1 / ord); for infinity the largest |x|. Throws InvalidArgument for ord <= 0.
PANTO_EXPORT Tensor norm(Arg x, const NormOptions& options = {});

// Whether all elements are close: |x - y| <= atol + rtol * |y|, as in NumPy and PyTorch; no NaN is close to anything. x
// and y broadcast.
PANTO_EXPORT bool allclose(Arg x, Arg y, double rtol = 1e-5, double atol = 1e-8);

// log(sum(exp(x))), without overflow; minus infinity if all elements are.
PANTO_EXPORT Tensor logsumexp(Arg x, const ReduceOptions& options = {});
Tensor logsumexp(Arg x, AxisNumber auto axis, bool keep_dims = false) {
  return logsumexp(std::move(x), ReduceOptions{.axis = {axis}, .keep_dims = keep_dims});
}
template <AxisNumber I>
Tensor logsumexp(Arg x, std::initializer_list<I> axes, bool keep_dims = false) {
  return logsumexp(std::move(x), ReduceOptions{.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims});
}

// ---- Over an axis or a list of them, which stay with size 1 if `keep_dims` is true --------------------------------
template <AxisNumber I, std::same_as<bool> Keep>
Tensor sum(Arg x, I axis, Keep keep_dims) {
  return detail::sum_over(std::move(x), {.axis = {axis}, .keep_dims = keep_dims});
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor sum(Arg x, std::initializer_list<I> axes, Keep keep_dims) {
  return detail::sum_over(std::move(x), {.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims});
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor mean(Arg x, I axis, Keep keep_dims) {
  return detail::mean_over(std::move(x), {.axis = {axis}, .keep_dims = keep_dims});
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor mean(Arg x, std::initializer_list<I> axes, Keep keep_dims) {
  return detail::mean_over(std::move(x), {.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims});
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor prod(Arg x, I axis, Keep keep_dims) {
  return detail::prod_over(std::move(x), {.axis = {axis}, .keep_dims = keep_dims});
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor prod(Arg x, std::initializer_list<I> axes, Keep keep_dims) {
  return detail::prod_over(std::move(x), {.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims});
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor max(Arg x, I axis, Keep keep_dims) {
  return detail::max_over(std::move(x), {.axis = {axis}, .keep_dims = keep_dims});
}
template <detail::TensorOrVariable X, AxisNumber I, std::same_as<bool> Keep>
Tensor max(const X& x, std::initializer_list<I> axes, Keep keep_dims, Arg::Where where = Arg::Where::current()) {
  return detail::max_over(Arg(x, where), {.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims});
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor min(Arg x, I axis, Keep keep_dims) {
  return detail::min_over(std::move(x), {.axis = {axis}, .keep_dims = keep_dims});
}
template <detail::TensorOrVariable X, AxisNumber I, std::same_as<bool> Keep>
Tensor min(const X& x, std::initializer_list<I> axes, Keep keep_dims, Arg::Where where = Arg::Where::current()) {
  return detail::min_over(Arg(x, where), {.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims});
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor all(Arg x, I axis, Keep keep_dims) {
  return detail::all_over(std::move(x), {.axis = {axis}, .keep_dims = keep_dims});
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor all(Arg x, std::initializer_list<I> axes, Keep keep_dims) {
  return detail::all_over(std::move(x), {.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims});
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor any(Arg x, I axis, Keep keep_dims) {
  return detail::any_over(std::move(x), {.axis = {axis}, .keep_dims = keep_dims});
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor any(Arg x, std::initializer_list<I> axes, Keep keep_dims) {
  return detail::any_over(std::move(x), {.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims});
}

// ---- TensorFlow's names. reduce_prod, reduce_max, reduce_min, reduce_all and reduce_any are ops (ops.h). ------------

inline Tensor reduce_sum(Arg x, Arg axis = Arg::all_axes(), const SumAttrs& attrs = {}) {
  return sum(std::move(x), std::move(axis), attrs);
}
inline Tensor reduce_mean(Arg x, Arg axis = Arg::all_axes(), const MeanAttrs& attrs = {}) {
  return mean(std::move(x), std::move(axis), attrs);
}
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor reduce_sum(Arg x, const Options& options) {
  return detail::sum_over(std::move(x), options);
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor reduce_sum(Arg x, I axis, Keep keep_dims) {
  return detail::sum_over(std::move(x), {.axis = {axis}, .keep_dims = keep_dims});
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor reduce_sum(Arg x, std::initializer_list<I> axes, Keep keep_dims) {
  return detail::sum_over(std::move(x), {.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims});
}
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor reduce_mean(Arg x, const Options& options) {
  return detail::mean_over(std::move(x), options);
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor reduce_mean(Arg x, I axis, Keep keep_dims) {
  return detail::mean_over(std::move(x), {.axis = {axis}, .keep_dims = keep_dims});
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor reduce_mean(Arg x, std::initializer_list<I> axes, Keep keep_dims) {
  return detail::mean_over(std::move(x), {.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims});
}
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor reduce_prod(Arg x, const Options& options) {
  return detail::prod_over(std::move(x), options);
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor reduce_prod(Arg x, I axis, Keep keep_dims) {
  return detail::prod_over(std::move(x), {.axis = {axis}, .keep_dims = keep_dims});
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor reduce_prod(Arg x, std::initializer_list<I> axes, Keep keep_dims) {
  return detail::prod_over(std::move(x), {.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims});
}
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor reduce_max(Arg x, const Options& options) {
  return detail::max_over(std::move(x), options);
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor reduce_max(Arg x, I axis, Keep keep_dims) {
  return detail::max_over(std::move(x), {.axis = {axis}, .keep_dims = keep_dims});
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor reduce_max(Arg x, std::initializer_list<I> axes, Keep keep_dims) {
  return detail::max_over(std::move(x), {.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims});
}
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor reduce_min(Arg x, const Options& options) {
  return detail::min_over(std::move(x), options);
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor reduce_min(Arg x, I axis, Keep keep_dims) {
  return detail::min_over(std::move(x), {.axis = {axis}, .keep_dims = keep_dims});
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor reduce_min(Arg x, std::initializer_list<I> axes, Keep keep_dims) {
  return detail::min_over(std::move(x), {.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims});
}
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor reduce_all(Arg x, const Options& options) {
  return detail::all_over(std::move(x), options);
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor reduce_all(Arg x, I axis, Keep keep_dims) {
  return detail::all_over(std::move(x), {.axis = {axis}, .keep_dims = keep_dims});
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor reduce_all(Arg x, std::initializer_list<I> axes, Keep keep_dims) {
  return detail::all_over(std::move(x), {.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims});
}
template <std::same_as<ReduceOptions> Options = ReduceOptions>
Tensor reduce_any(Arg x, const Options& options) {
  return detail::any_over(std::move(x), options);
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor reduce_any(Arg x, I axis, Keep keep_dims) {
  return detail::any_over(std::move(x), {.axis = {axis}, .keep_dims = keep_dims});
}
template <AxisNumber I, std::same_as<bool> Keep>
Tensor reduce_any(Arg x, std::initializer_list<I> axes, Keep keep_dims) {
  return detail::any_over(std::move(x), {.axis = {axes.begin(), axes.end()}, .keep_dims = keep_dims});
}
inline Tensor reduce_variance(Arg x, const VarianceOptions& options = {}) { return var(std::move(x), options); }
Tensor reduce_variance(Arg x, AxisNumber auto axis, bool keep_dims = false) {
  return var(std::move(x), axis, keep_dims);
}
template <AxisNumber I>
Tensor reduce_variance(Arg x, std::initializer_list<I> axes, bool keep_dims = false) {
  return var(std::move(x), axes, keep_dims);
}
inline Tensor reduce_std(Arg x, const VarianceOptions& options = {}) { return stddev(std::move(x), options); }
Tensor reduce_std(Arg x, AxisNumber auto axis, bool keep_dims = false) { return stddev(std::move(x), axis, keep_dims); }
template <AxisNumber I>
Tensor reduce_std(Arg x, std::initializer_list<I> axes, bool keep_dims = false) {
  return stddev(std::move(x), axes, keep_dims);
}
inline Tensor reduce_logsumexp(Arg x, const ReduceOptions& options = {}) { return logsumexp(std::move(x), options); }
Tensor reduce_logsumexp(Arg x, AxisNumber auto axis, bool keep_dims = false) {
  return logsumexp(std::move(x), axis, keep_dims);
}
template <AxisNumber I>
Tensor reduce_logsumexp(Arg x, std::initializer_list<I> axes, bool keep_dims = false) {
  return logsumexp(std::move(x), axes, keep_dims);
}

}  // namespace panto
