// What several metrics are made of. Internal.
#pragma once

#include <cstdint>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"
#include "panto/nn/metrics/metric.h"

namespace panto::metrics {

// What a metric's own options say for all metrics.
template <class Options>
MetricOptions of_metric(const Options& options) {
  return {.name = options.name, .dtype = options.dtype};
}

// `count` numbers evenly from 0 to 1. Throws InvalidArgument unless there are from `least` to a million.
std::vector<double> even_thresholds(int64_t count, int64_t least);

// x as a share of x and others; 0 of nothing.
Tensor part_of(const Tensor& x, const Tensor& others);

// Weights of samples in the type `dtype`, with dimensions of 1 behind theirs, so that they can be multiplied with x:
// [batch] with [batch, classes]. Throws InvalidArgument where they do not fit.
Tensor weights_beside(const Tensor& weights, const Tensor& x, DType dtype);

}  // namespace panto::metrics
