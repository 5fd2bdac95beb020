// For, TensorFlow's loop over a range of integers, which becomes a While when a graph is read. Internal.
#pragma once

#include <vector>

#include "panto/lib/core/op/attr.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// A call of While, or StatelessWhile, that calls `body` with each number of [start, limit) in steps of `delta`, and
// with `values` or what it gave before. The run is refused where `delta` leads away from `limit`. Throws Unimplemented
// for a body that calls itself.
std::vector<Tensor> for_loop(const Tensor& start, const Tensor& limit, const Tensor& delta,
                             const std::vector<Tensor>& values, const FunctionRef& body);

}  // namespace panto
