#include "panto/lib/ops/numpy/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/tensor/dtype.h"
#include "panto/lib/core/tensor/index.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/numpy/axes.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/reductions.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

bool is_floating(const Tensor& x) { return dtypes::kFloating.contains(x.dtype()); }
Tensor as_floating(const Tensor& x) { return is_floating(x) ? x : cast(x, kFloat64); }

// The axes in ascending order; all of them if there are none.
std::vector<int64_t> ascending_axes(const std::vector<int64_t>& axes, int rank) {
  std::vector<int64_t> counted = axes.empty() ? other_axes({}, rank) : normal_axes(axes, rank);
  std::sort(counted.begin(), counted.end());
  return counted;
}

// x with these dimensions joined to the last one.
Tensor as_lines(const Tensor& x, const std::vector<int64_t>& axes, int rank) {
  std::vector<int64_t> order = other_axes(axes, rank);
  const auto kept = static_cast<int64_t>(order.size());
  if (kept == 0) return reshape(x, {-1});
  order.insert(order.end(), axes.begin(), axes.end());
  const Tensor moved = transpose(x, order), dims = sizes_of(moved);
  const Tensor line = reduce_prod(part_of(dims, kept, -1), 0, {.keep_dims = true});
  return reshape(moved, concat({part_of(dims, 0, kept), line}, 0));
}

// The elements of sorted lines at positions q (n - 1); as many results as q, along the last dimension.
Tensor between(const Tensor& sorted, const std::vector<double>& q, std::string_view method) {
  const Tensor last = sizes_of(sorted)[-1] - int64_t{1};
  const Tensor position = tensor(q) * cast(last, kFloat64);
  const Tensor below = floor(position), above = ceil(position);
  const auto at = [&](const Tensor& places) { return gather(sorted, cast(places, kInt64), -1); };
  if (method == "lower") return at(below);
  if (method == "higher") return at(above);
  if (method == "nearest") return at(round(position));
  const Tensor low = at(below), high = at(above);
  Tensor part = position - below;
  if (method == "midpoint") part = select(part == 0, part, zeros_like(part) + 0.5);
  // Equal infinities have no difference.
  return select(low == high, low, low + (high - low) * cast(part, low.dtype()));
}

Tensor quantiles(const Tensor& x, const std::vector<double>& q, bool is_list, const QuantileOptions& options) {
  constexpr std::string_view kMethods[] = {"linear", "lower", "higher", "midpoint", "nearest"};
  if (std::find(std::begin(kMethods), std::end(kMethods), options.method) == std::end(kMethods)) {
    invalid("method: expected linear, lower, higher, midpoint or nearest, got {}", options.method);
  }
  for (const double part : q) {
    if (!(part >= 0 && part <= 1)) invalid("q: expected numbers from 0 to 1, got {}", part);
  }
  const int rank = known_rank(x, "quantile");
  const std::vector<int64_t> axes = ascending_axes(options.axis, rank);
  const Tensor sorted = sort(as_lines(as_floating(x), axes, rank));
  const Tensor found = between(sorted, q, options.method);
  // NaN is the last in order.
  const Tensor last = sorted(Ellipsis, Slice(-1, {}));
  Tensor result = select(isnan(last), last, found);
  const int64_t kept = rank - static_cast<int64_t>(axes.size());
  if (!is_list) {
    result = squeeze(result, {.squeeze_dims = {kept}});
  } else if (kept > 0) {
    result = transpose(result, moved_order(kept, 0, static_cast<int>(kept) + 1));
  }
  if (options.keep_dims) {
    for (const int64_t axis : axes) result = expand_dims(result, axis + (is_list ? 1 : 0));
  }
  return result;
}

std::vector<double> in_parts(std::vector<double> q) {
  for (double& part : q) part /= 100;
  return q;
}

// Calls reduce(elements, a number in place of NaN) where no element is left out, else gives `otherwise`.
struct WithoutNan {
  Tensor x, missing;
  explicit WithoutNan(Arg arg) : x(identity(std::move(arg))), missing(isnan_of(x)) {}
  static Tensor isnan_of(const Tensor& x) { return is_floating(x) ? isnan(x) : fill(shape(x), false); }
  Tensor with(double number) const { return is_floating(x) ? select(missing, number, x) : x; }
  // The result of a reduction, NaN where all elements were.
  Tensor result(const Tensor& found, const ReduceOptions& options) const {
    if (!is_floating(x)) return found;
    const Tensor none = detail::all_over(missing, options);
    return select(none, std::numeric_limits<double>::quiet_NaN(), found);
  }
};

}  // namespace

Tensor quantile(Arg x, double q, const QuantileOptions& options) {
  return from_caller(x.where(), [&] { return quantiles(identity(std::move(x)), {q}, false, options); });
}
Tensor quantile(Arg x, const std::vector<double>& q, const QuantileOptions& options) {
  return from_caller(x.where(), [&] { return quantiles(identity(std::move(x)), q, true, options); });
}
Tensor percentile(Arg x, double q, const QuantileOptions& options) { return quantile(std::move(x), q / 100, options); }
Tensor percentile(Arg x, const std::vector<double>& q, const QuantileOptions& options) {
  return quantile(std::move(x), in_parts(q), options);
}
Tensor median(Arg x, const QuantileOptions& options) { return quantile(std::move(x), 0.5, options); }

Tensor nansum(Arg x, const ReduceOptions& options) {
  return from_caller(x.where(), [&] { return detail::sum_over(WithoutNan(std::move(x)).with(0), options); });
}
Tensor nanmean(Arg x, const ReduceOptions& options) {
  return from_caller(x.where(), [&]() -> Tensor {
    const WithoutNan w(std::move(x));
    const Tensor there = cast(!w.missing, is_floating(w.x) ? w.x.dtype() : kFloat64);
    return detail::sum_over(cast(w.with(0), there.dtype()), options) / detail::sum_over(there, options);
  });
}
Tensor nanmax(Arg x, const ReduceOptions& options) {
  return from_caller(x.where(), [&]() -> Tensor {
    const WithoutNan w(std::move(x));
    return w.result(detail::max_over(w.with(-INFINITY), options), options);
  });
}
Tensor nanmin(Arg x, const ReduceOptions& options) {
  return from_caller(x.where(), [&]() -> Tensor {
    const WithoutNan w(std::move(x));
    return w.result(detail::min_over(w.with(INFINITY), options), options);
  });
}

Tensor count_nonzero(Arg x, const ReduceOptions& options) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x));
    return detail::sum_over(cast(t.dtype() == kBool ? t : t != 0, kInt64), options);
  });
}
Tensor ptp(Arg x, const ReduceOptions& options) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x));
    return detail::max_over(t, options) - detail::min_over(t, options);
  });
}

Tensor cov(Arg x, const CovOptions& options) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = as_floating(identity(std::move(x)));
    const int rank = known_rank(t, "cov");
    if (rank < 1 || rank > 2)
      invalid("cov: expected a vector or a matrix, got shape {}", t.partial_shape().to_string());
    const Tensor rows = rank == 1 ? expand_dims(t, 0) : t;
    const Tensor distance = rows - detail::mean_over(rows, {.axis = {1}, .keep_dims = true});
    const Tensor count = cast(sizes_of(rows)[1] - options.correction, t.dtype());
    const Tensor all = matmul(distance, distance, {.transpose_b = true}) / maximum(count, 0);
    return rank == 1 ? reshape(all, Shape{}) : all;
  });
}
Tensor corrcoef(Arg x) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor covariances = cov(std::move(x));
    if (known_rank(covariances, "corrcoef") == 0) return covariances / covariances;
    const Tensor deviations = sqrt(diag(covariances));
    return clip(covariances / expand_dims(deviations, 0) / expand_dims(deviations, 1), -1, 1);
  });
}

Histogram histogram(Arg x, int64_t bins, const HistogramOptions& options) {
  return from_caller(x.where(), [&]() -> Histogram {
    if (bins < 1) invalid("bins: expected at least 1, got {}", bins);
    const Tensor t = reshape(as_floating(identity(std::move(x))), {-1});
    Tensor low, high;
    if (options.range) {
      const auto [from, to] = *options.range;
      if (!(from < to)) invalid("range: expected two numbers in ascending order, got {} and {}", from, to);
      low = tensor(from);
      high = tensor(to);
    } else {
      const Tensor least = cast(reduce_min(t), kFloat64), most = cast(reduce_max(t), kFloat64);
      const Tensor half = select(least == most, 0.5, zeros_like(least));  // one number is in the middle of its bins
      low = least - half;
      high = most + half;
    }
    const Tensor parts = cast(range(int64_t{0}, bins + 1, int64_t{1}), kFloat64) / static_cast<double>(bins);
    const Tensor edges = cast(select(parts == 1, high, low + (high - low) * parts), t.dtype());
    const Tensor after = searchsorted(edges, t, {.right = true});
    // The last bin has its upper edge; what is outside of the range goes to no bin (segment -1).
    const Tensor bin = select(t == edges[-1], bins - 1, after - int64_t{1});
    const Tensor inside = select(logical_and(bin >= 0, bin < bins), bin, int64_t{-1});
    return {unsorted_segment_sum(ones_like(inside), inside, bins), edges};
  });
}

}  // namespace panto
