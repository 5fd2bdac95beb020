// Statistics under the names of NumPy and PyTorch.
//
//   median(x);  quantile(x, 0.9, 1);  percentile(x, {5, 95});  nanmean(x);  nansum(x, 0);  ptp(x);  count_nonzero(x)
//   cov(x);  corrcoef(x);  auto [counts, edges] = histogram(x, 20);  confusion tables: metrics::confusion_matrix
//
// They are built from ops, so a trace records them and a tape differentiates them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"

namespace panto {

struct QuantileOptions {
  std::vector<int64_t> axis = {};  // empty: all axes
  bool keep_dims = false;
  // Where a quantile lies between two elements: "linear", "lower", "higher", "midpoint" or "nearest" (the even position
  // of two that are equally near).
  std::string_view method = "linear";
};
// The element at position q (n - 1) of the n elements in order, with 0 <= q <= 1; NaN if one of them is. A list of q
// gives their results along a new first dimension. Integers are converted to float64. Throws InvalidArgument for other
// q and methods.
PANTO_EXPORT Tensor quantile(Arg x, double q, const QuantileOptions& options = {});
PANTO_EXPORT Tensor quantile(Arg x, const std::vector<double>& q, const QuantileOptions& options = {});
Tensor quantile(Arg x, double q, AxisNumber auto axis, bool keep_dims = false) {
  return quantile(std::move(x), q, QuantileOptions{.axis = {axis}, .keep_dims = keep_dims});
}
// The same of q in hundredths.
PANTO_EXPORT Tensor percentile(Arg x, double q, const QuantileOptions& options = {});
PANTO_EXPORT Tensor percentile(Arg x, const std::vector<double>& q, const QuantileOptions& options = {});
Tensor percentile(Arg x, double q, AxisNumber auto axis, bool keep_dims = false) {
  return percentile(std::move(x), q, QuantileOptions{.axis = {axis}, .keep_dims = keep_dims});
}
// The middle element; the mean of the middle two if their number is even, as in NumPy.
PANTO_EXPORT Tensor median(Arg x, const QuantileOptions& options = {});
Tensor median(Arg x, AxisNumber auto axis, bool keep_dims = false) {
  return median(std::move(x), QuantileOptions{.axis = {axis}, .keep_dims = keep_dims});
}

// Reductions over the elements that are not NaN. Where all are, nansum is 0 and the others are NaN.
PANTO_EXPORT Tensor nansum(Arg x, const ReduceOptions& options = {});
PANTO_EXPORT Tensor nanmean(Arg x, const ReduceOptions& options = {});
PANTO_EXPORT Tensor nanmax(Arg x, const ReduceOptions& options = {});
PANTO_EXPORT Tensor nanmin(Arg x, const ReduceOptions& options = {});
Tensor nansum(Arg x, AxisNumber auto axis, bool keep_dims = false) {
  return nansum(std::move(x), ReduceOptions{.axis = {axis}, .keep_dims = keep_dims});
}
Tensor nanmean(Arg x, AxisNumber auto axis, bool keep_dims = false) {
  return nanmean(std::move(x), ReduceOptions{.axis = {axis}, .keep_dims = keep_dims});
}
Tensor nanmax(Arg x, AxisNumber auto axis, bool keep_dims = false) {
  return nanmax(std::move(x), ReduceOptions{.axis = {axis}, .keep_dims = keep_dims});
}
Tensor nanmin(Arg x, AxisNumber auto axis, bool keep_dims = false) {
  return nanmin(std::move(x), ReduceOptions{.axis = {axis}, .keep_dims = keep_dims});
}

// The number of elements other than 0: int64.
PANTO_EXPORT Tensor count_nonzero(Arg x, const ReduceOptions& options = {});
Tensor count_nonzero(Arg x, AxisNumber auto axis, bool keep_dims = false) {
  return count_nonzero(std::move(x), ReduceOptions{.axis = {axis}, .keep_dims = keep_dims});
}
// The largest element minus the smallest.
PANTO_EXPORT Tensor ptp(Arg x, const ReduceOptions& options = {});
Tensor ptp(Arg x, AxisNumber auto axis, bool keep_dims = false) {
  return ptp(std::move(x), ReduceOptions{.axis = {axis}, .keep_dims = keep_dims});
}

struct CovOptions {
  int64_t correction = 1;  // sums are divided by the number of observations minus this
};
// The covariances of variables, which are the rows of x (a column is an observation): [rows, rows]; of a vector its
// variance. corrcoef: their correlation coefficients, from -1 to 1.
PANTO_EXPORT Tensor cov(Arg x, const CovOptions& options = {});
PANTO_EXPORT Tensor corrcoef(Arg x);

struct HistogramOptions {
  std::optional<std::pair<double, double>> range = std::nullopt;  // default: the smallest and the largest element
};
struct Histogram {
  Tensor counts;  // int64[bins]
  Tensor edges;   // [bins + 1], in the type of x if it is floating, else float64
};
// Counts the elements of x in `bins` bins of equal width. A bin contains its lower edge; the last one also its upper
// edge. Elements outside of the range are not counted. Throws InvalidArgument for bins < 1 and an empty range.
PANTO_EXPORT Histogram histogram(Arg x, int64_t bins = 10, const HistogramOptions& options = {});

}  // namespace panto
