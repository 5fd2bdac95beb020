// Helpers shared by several metrics. Internal.
#pragma once

#include <cstdint>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"
#include "panto/nn/metrics/metric.h"

namespace panto::metrics {

// The MetricOptions in a metric's own options.
template <class Options>
MetricOptions of_metric(const Options& options) {
  return {.name = options.name, .dtype = options.dtype};
}

// `count` numbers, evenly spaced from 0 to 1. Throws InvalidArgument unless `count` is between `least` and a million.
std::vector<double> even_thresholds(int64_t count, int64_t least);

// x / (x + others); 0 where both are 0.
Tensor part_of(const Tensor& x, const Tensor& others);

// The samples' weights as `dtype`, with trailing dimensions of 1 so that they multiply with x: [batch] with [batch,
// classes]. Throws InvalidArgument if they do not fit.
Tensor weights_beside(const Tensor& weights, const Tensor& x, DType dtype);

}  // namespace panto::metrics
